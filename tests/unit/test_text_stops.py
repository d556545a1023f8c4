"""Stop strings in streamed text (C02)."""

import pytest

from engine.text.stops import StopMatcher


def feed(stops: list[str], *pieces: str) -> tuple[list[str], str | None]:
    matcher = StopMatcher(stops)
    shown = [*map(matcher.push, pieces), matcher.flush()]
    return shown, matcher.matched


def test_nothing_of_a_stop_string_that_spans_pieces_is_shown() -> None:
    shown, matched = feed([">>>>>>> UPDATED"], "foo>", ">>>", ">>> UP", "DATED bar")
    assert shown == ["foo", "", "", "", ""]
    assert matched == ">>>>>>> UPDATED"


def test_what_only_looked_like_a_beginning_comes_at_once() -> None:
    shown, matched = feed([">>>>>>> UPDATED"], "foo>", ">>>", "> UP", "DATED bar")
    assert shown == ["foo", "", ">>>>> UP", "DATED bar", ""]
    assert matched is None


def test_only_what_may_still_match_waits() -> None:
    matcher = StopMatcher(["K L M"])
    assert matcher.push("J K L K") == "J K L "
    assert matcher.push(" L") == ""
    assert matcher.push("x") == "K Lx"


def test_the_rest_comes_at_the_end() -> None:
    assert feed(["stop"], "all st") == (["all ", "st"], None)


def test_text_behind_the_stop_is_dropped() -> None:
    assert feed(["\n"], "one\ntwo", "three") == (["one", "", ""], "\n")


@pytest.mark.parametrize(
    ("stops", "text", "shown", "matched"),
    [
        (["bc", "abcd"], "xabcd", "xa", "bc"),  # complete first
        (["bc", "abc"], "xabc", "x", "abc"),  # both complete here: the longer one
        (["aab"], "aaab", "a", "aab"),  # overlapping beginnings
        (["abab", "b"], "aab", "aa", "b"),
        (["", "x"], "ax", "a", "x"),  # an empty stop string is none
    ],
)
def test_overlapping_stop_strings(
    stops: list[str], text: str, shown: str, matched: str | None
) -> None:
    for pieces in ([text], list(text)):
        released, found = feed(stops, *pieces)
        assert ("".join(released), found) == (shown, matched)


def test_without_stop_strings_text_passes_untouched() -> None:
    text = "anything"
    assert StopMatcher([]).push(text) is text
    assert StopMatcher([""]).push(text) is text
