from pathlib import Path

from engine.hardware.sysfs import read


def test_reads_and_strips(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b" max 100000\n\0")
    assert read(tmp_path / "a") == "max 100000"


def test_reads_only_the_start(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x" * 100)
    assert read(tmp_path / "a", 10) == "x" * 10


def test_missing_folder_and_broken_text_do_not_raise(tmp_path: Path) -> None:
    assert read(tmp_path / "none") == ""
    assert read(tmp_path) == ""
    assert read(tmp_path / "nul\0byte") == ""
    (tmp_path / "b").write_bytes(b"\xff7")
    assert read(tmp_path / "b") == "\N{REPLACEMENT CHARACTER}7"
