"""Thought and answer (C08)."""

import pytest

from engine.text.reasoning import ReasoningSplitter


def split(pieces: list[str], *, prefilled: bool = False) -> tuple[str, str, bool]:
    splitter = ReasoningSplitter(prefilled=prefilled)
    parts = [*map(splitter.push, pieces), splitter.flush()]
    return "".join(p[0] for p in parts), "".join(p[1] for p in parts), splitter.in_thought


def test_closing_tag_alone_when_the_prompt_opened_the_thought() -> None:
    assert split(["plan", " it</thi", "nk>answer"], prefilled=True) == ("plan it", "answer", False)


def test_both_tags_split_over_pieces() -> None:
    pieces = ["\n <", "thi", "nk>\n", "\nplan\n", "</", "think>", "\n", "\nans", "wer"]
    assert split(pieces) == ("plan\n", "answer", False)


def test_a_tag_in_text_or_code_stays() -> None:
    assert split(["Use `<think>` like", " this</think>"]) == (
        "",
        "Use `<think>` like this</think>",
        False,
    )
    assert split(["<think>a</think>b <think>c</think>"]) == ("a", "b <think>c</think>", False)


def test_a_thought_that_never_ends_says_so() -> None:
    assert split(["<think>", "on and on </th"]) == ("on and on </th", "", True)
    assert split([], prefilled=True) == ("", "", True)


@pytest.mark.parametrize("prefilled", [False, True])
def test_empty_pieces_change_nothing(prefilled: bool) -> None:
    pieces = [
        "",
        "<thi" * (not prefilled),
        "",
        "nk>" * (not prefilled),
        "",
        "a</think",
        "",
        ">b",
        "",
    ]
    assert split(pieces, prefilled=prefilled) == ("a", "b", False)


def test_white_space_is_kept_where_no_tag_follows() -> None:
    assert split(["\n ", "hello"]) == ("", "\n hello", False)
    assert split(["  "]) == ("", "  ", False)
    assert split(["<thin"]) == ("", "<thin", False)
    assert split(["\n\nanswer\n"]) == ("", "\n\nanswer\n", False)


def test_only_a_possible_tag_waits() -> None:
    splitter = ReasoningSplitter(prefilled=True)
    assert splitter.push("a <b> </") == ("a <b> ", "")
    assert splitter.push("p>") == ("</p>", "")
    assert splitter.in_thought


def test_tags_can_be_named() -> None:
    splitter = ReasoningSplitter(prefilled=False, start="[THINK]", end="[/THINK]")
    assert splitter.push("[THINK]a[/THINK]b") == ("a", "b")
