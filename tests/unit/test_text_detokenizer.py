"""Bytes to text as they come (C01)."""

import pytest

from engine.text.detokenizer import Detokenizer


def decode(*pieces: bytes) -> list[str]:
    detokenizer = Detokenizer()
    return [*map(detokenizer.push, pieces), detokenizer.flush()]


def test_a_symbol_comes_whole_or_not_yet() -> None:
    assert decode(b"\xf0", b"\x9f\xa6", b"\x99", b"!") == ["", "", "🦙", "!", ""]


def test_nothing_is_held_back_that_is_complete() -> None:
    assert decode("aß漢🦙".encode(), b"") == ["aß漢🦙", "", ""]


def test_a_joined_emoji_appears_part_by_part() -> None:
    family = "👩‍👩‍👧"
    assert "".join(decode(*(bytes([b]) for b in family.encode()))) == family


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        ([b"a\xffb"], ["a\ufffdb", ""]),
        ([b"\xe6\xbc", b"x"], ["", "\ufffdx", ""]),  # cut off by another character
        ([b"\xf0\x9f\xa6"], ["", "\ufffd"]),  # cut off by the end: one mark for all three bytes
        ([b"\xed\xa0\x80"], ["\ufffd\ufffd\ufffd", ""]),  # a surrogate is no character
    ],
)
def test_bytes_that_are_no_text_become_marks(pieces: list[bytes], shown: list[str]) -> None:
    assert decode(*pieces) == shown
