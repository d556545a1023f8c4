"""Files of kept conversations: how much they are, and that nothing of a forgotten one stays."""

import os
from pathlib import Path

import pytest

from engine.errors import EngineError
from engine.formats import kv_file
from engine.formats.kv_file import (
    PieceHead,
    checksum,
    forget_files,
    measure,
    pieces,
    read_head,
    read_state,
    write_piece,
)

STATE = bytes(range(200))


def write(root: Path, name: str, *keys: str, model: str = "a", parent: str = "") -> Path:
    head = PieceHead(
        fingerprint=model,
        name=name,
        parent=parent,
        start=0,
        tokens=b"\1\0\0\0",
        keys=keys,
        whole=False,
        state_bytes=len(STATE),
        state_sum=checksum(STATE),
    )
    return write_piece(root / model, head, STATE)


def test_what_is_nobody_elses_goes_in_every_model(tmp_path: Path) -> None:
    gone = [write(tmp_path, "1", "k"), write(tmp_path, "2", "k", model="b")]
    stays = [write(tmp_path, "3", "other", parent="1"), write(tmp_path, "4")]
    forget_files(tmp_path, "k")
    forget_files(tmp_path, "k")
    assert [path.exists() for path in gone + stays] == [False, False, True, True]
    forget_files(tmp_path, "")  # nobody's key is not everybody's
    assert all(path.exists() for path in stays)


def test_what_is_shared_loses_one_name_after_the_other_and_stays_as_old(tmp_path: Path) -> None:
    path = write(tmp_path, "1", "a", "b")
    os.utime(path, ns=(5, 7))
    forget_files(tmp_path, "a")
    head = read_head(path)
    assert head is not None
    assert head.keys == ("b",)
    assert read_state(path, "1", "a") == STATE
    assert path.stat().st_mtime_ns == 7
    assert path.stat().st_mode & 0o077 == 0
    forget_files(tmp_path, "b")
    assert not path.exists()


@pytest.mark.parametrize("key", ["k", None])
def test_what_is_damaged_or_half_written_goes_too(tmp_path: Path, key: str | None) -> None:
    cut = write(tmp_path, "1", "other")
    cut.write_bytes(cut.read_bytes()[:-1])
    shared = write(tmp_path, "2", "k", "other")
    shared.write_bytes(shared.read_bytes()[:-1] + b"\0")
    half = tmp_path / "a" / "3.kv.part"
    half.write_bytes(b"words")
    forget_files(tmp_path, key)
    assert [path.exists() for path in (cut, shared, half)] == [False, False, False]


def test_everything_goes(tmp_path: Path) -> None:
    for name, keys in {"1": ("a",), "2": ("a", "b"), "3": ()}.items():
        write(tmp_path, name, *keys, model=name)
    assert measure(tmp_path)[1] == 3
    forget_files(tmp_path, None)
    assert measure(tmp_path) == (0, 0)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_shared_file_goes_where_there_is_no_room_to_write_it_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, "1", "a", "b")

    def full(*_: object) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kv_file, "write_piece", full)
    forget_files(tmp_path, "a")
    assert not path.exists()


def test_what_cannot_be_deleted_is_said_and_the_rest_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, other = write(tmp_path, "1", "k"), write(tmp_path, "2", "k")
    unlink = Path.unlink

    def refuse(path: Path, *, missing_ok: bool = False) -> None:
        if path == held:
            raise PermissionError(13, "Permission denied")
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(EngineError, match=r"could not be deleted \(Permission denied\)") as caught:
        forget_files(tmp_path, "k")
    assert str(tmp_path) in caught.value.hint
    assert not other.exists()


def test_files_that_vanish_meanwhile_are_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, "1", "k", "other")
    read = kv_file.read_head

    def read_and_lose(path: Path) -> PieceHead | None:
        head = read(path)
        path.unlink()
        return head

    monkeypatch.setattr(kv_file, "read_head", read_and_lose)
    forget_files(tmp_path, "k")
    assert not path.exists()
    assert measure(tmp_path / "none") == (0, 0)
    forget_files(tmp_path / "none", None)


def test_the_size_is_that_of_whole_files(tmp_path: Path) -> None:
    path = write(tmp_path, "1", "k")
    (tmp_path / "a" / "2.kv.part").write_bytes(b"being written")
    assert measure(tmp_path) == (path.stat().st_size, 1)
    assert (tmp_path / "a" / "2.kv.part").exists()


def test_only_old_leftovers_are_removed(tmp_path: Path) -> None:
    """A fresh one is what another model's worker writes at this moment."""
    path = write(tmp_path, "1", "k")
    fresh, old = (tmp_path / "a" / f"{name}.kv.part" for name in "23")
    fresh.write_bytes(b"being written")
    old.write_bytes(b"cut off")
    os.utime(old, (0, 0))
    assert list(pieces(tmp_path)) == [path]
    assert fresh.exists()
    assert not old.exists()
