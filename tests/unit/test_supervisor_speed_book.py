"""Measured speeds are kept, for one processor, and never more than they may be."""

from pathlib import Path

import pytest

from engine.hardware.outlook import Work
from engine.supervisor.speed_book import SpeedBook

WORK = Work(bytes_read=1000, numbers=2000, kv_bytes=10, fast=True)


def test_what_was_noted_is_there_after_a_restart(tmp_path: Path) -> None:
    SpeedBook(tmp_path).note("cpu", "/m", WORK, writes=10.0, reads=100.0)
    book = SpeedBook(tmp_path)
    book.note("cpu", "/m", WORK, writes=20.0, reads=200.0)  # the latest counts
    book.note("other cpu", "/n", WORK, writes=1.0, reads=1.0)
    (speed,) = SpeedBook(tmp_path).speeds("cpu")
    assert (speed.work, speed.writes, speed.reads) == (WORK, 20.0, 200.0)


@pytest.mark.parametrize("damage", [b"", b"{", b'[{"cpu": 1}]', b"\xff"])
def test_a_damaged_file_is_no_measurement(tmp_path: Path, damage: bytes) -> None:
    file = tmp_path / "measured" / "speeds.json"
    file.parent.mkdir()
    file.write_bytes(damage)
    book = SpeedBook(tmp_path)
    assert book.speeds("cpu") == []
    book.note("cpu", "/m", WORK, writes=10.0, reads=100.0)
    assert len(SpeedBook(tmp_path).speeds("cpu")) == 1


def test_impossible_speeds_and_too_many_models_are_not_kept() -> None:
    book = SpeedBook(None)
    for writes in (0.0, -1.0, float("inf"), float("nan")):
        book.note("cpu", "/m", WORK, writes=writes, reads=1.0)
    assert book.speeds("cpu") == []
    for number in range(200):
        book.note("cpu", f"/{number}", WORK, writes=number + 1.0, reads=1.0)
    assert len(book.speeds("cpu")) == 64
    assert max(speed.writes for speed in book.speeds("cpu")) == 200.0
