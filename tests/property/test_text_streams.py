"""However a text is cut into pieces, what comes out is the same."""

from hypothesis import given
from hypothesis import strategies as st

from engine.text.detokenizer import Detokenizer
from engine.text.reasoning import ReasoningSplitter
from engine.text.stops import StopMatcher

# Few letters, so that tags, stop strings and their beginnings meet often.
TAGGED = st.lists(
    st.sampled_from(["<think>", "</think>", "<", "</", "thi", "nk>", "\n", " ", "a", "`"]),
    max_size=12,
).map("".join)
AB = st.text("ab", max_size=30)


@st.composite
def cuts(draw: st.DrawFn, texts: st.SearchStrategy) -> tuple:
    """(whole, pieces)"""
    whole = draw(texts)
    at = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=10)))
    return whole, [whole[i:j] for i, j in zip([0, *at], [*at, len(whole)], strict=True)]


@given(cuts(st.binary(max_size=40) | st.text(max_size=12).map(str.encode)))
def test_detokenizer(cut: tuple[bytes, list[bytes]]) -> None:
    whole, pieces = cut
    detokenizer = Detokenizer()
    shown = "".join(map(detokenizer.push, pieces)) + detokenizer.flush()
    assert shown == whole.decode("utf-8", "replace")


@given(cuts(st.text(max_size=12).map(str.encode)))
def test_detokenizer_holds_back_less_than_one_character(cut: tuple[bytes, list[bytes]]) -> None:
    _, pieces = cut
    detokenizer, shown, seen = Detokenizer(), "", b""
    for piece in pieces:
        shown += detokenizer.push(piece)
        seen += piece
        assert seen.startswith(shown.encode())
        assert len(seen) - len(shown.encode()) < 4


def expected_stop(text: str, stops: list[str]) -> tuple[str, str | None]:
    """The definition, letter by letter: first complete, then longest."""
    for end in range(1, len(text) + 1):
        complete = [stop for stop in stops if stop and text[:end].endswith(stop)]
        if complete:
            longest = max(complete, key=len)
            return text[: end - len(longest)], longest
    return text, None


@given(cuts(AB), st.lists(st.text("ab", max_size=5), max_size=4))
def test_stops(cut: tuple[str, list[str]], stops: list[str]) -> None:
    whole, pieces = cut
    matcher = StopMatcher(stops)
    shown = "".join(map(matcher.push, pieces)) + matcher.flush()
    assert (shown, matcher.matched) == expected_stop(whole, stops)


@given(AB, st.lists(st.text("ab", min_size=1, max_size=5), min_size=1, max_size=4))
def test_stops_hold_back_only_beginnings_of_a_stop(text: str, stops: list[str]) -> None:
    matcher, shown, seen = StopMatcher(stops), "", ""
    for letter in text:
        shown += matcher.push(letter)
        seen += letter
        if matcher.matched is not None:
            break
        held = seen[len(shown) :]
        assert seen.startswith(shown)
        assert any(stop.startswith(held) for stop in stops)
        assert not any(
            stop.startswith(seen[i:])
            for stop in stops
            for i in range(max(0, len(shown) - 5), len(shown))
        )


@given(cuts(TAGGED), st.booleans())
def test_reasoning(cut: tuple[str, list[str]], prefilled: bool) -> None:
    whole, pieces = cut
    one = ReasoningSplitter(prefilled=prefilled)
    at_once = [one.push(whole), one.flush()]
    streamed = ReasoningSplitter(prefilled=prefilled)
    in_pieces = [*map(streamed.push, pieces), streamed.flush()]
    for kind in (0, 1):
        assert "".join(p[kind] for p in at_once) == "".join(p[kind] for p in in_pieces)
    assert one.in_thought == streamed.in_thought


@given(cuts(TAGGED), st.booleans())
def test_reasoning_loses_only_tags_and_the_breaks_around_them(
    cut: tuple[str, list[str]], prefilled: bool
) -> None:
    whole, pieces = cut
    splitter = ReasoningSplitter(prefilled=prefilled)
    parts = [*map(splitter.push, pieces), splitter.flush()]
    reasoning, content = "".join(p[0] for p in parts), "".join(p[1] for p in parts)
    if prefilled:
        thought, _, answer = whole.partition("</think>")
        assert (reasoning, content) == (thought.lstrip("\n"), answer.lstrip("\n"))
    elif whole.lstrip().startswith("<think>"):
        thought, _, answer = whole.lstrip().removeprefix("<think>").partition("</think>")
        assert (reasoning, content) == (thought.lstrip("\n"), answer.lstrip("\n"))
    else:
        assert (reasoning, content) == ("", whole)
