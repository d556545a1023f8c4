"""`engine.hub.removal`: nothing outside the library, nothing for ever (cases C28, C34)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.errors import InvalidRequest, SetupError
from engine.hub.removal import TRASH_FOLDER, discard

REMOVE = "import sys; from pathlib import Path; from engine.hub.removal import discard\n"
REMOVE += "for name in sys.argv[2:]: print(discard(Path(name), Path(sys.argv[1])))"


def discard_elsewhere(root: Path, *files: Path, data_home: Path) -> list[str]:
    """In a process of its own: send2trash asks for the trash folder once, when imported."""
    done = subprocess.run(
        [sys.executable, "-c", REMOVE, root, *files],
        env={**os.environ, "HOME": str(root.parent), "XDG_DATA_HOME": str(data_home)},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return done.stdout.splitlines()


def file(path: Path, content: bytes = b"model") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="the freedesktop trash")
def test_files_go_to_the_systems_trash(tmp_path):
    root = tmp_path / "library"
    names = ["m.gguf", "sub/m.gguf", "模型 😊.gguf", "a\nb.gguf", os.fsdecode(b"\xff.gguf")]
    files = [file(root / name, name.encode("utf-8", "surrogateescape")) for name in names]
    canary = file(tmp_path / "canary")
    share = tmp_path / "share"
    assert set(discard_elsewhere(root, *files, data_home=share)) == {"trashed"}
    assert not any(f.exists() for f in files)
    trashed = {f.read_bytes() for f in (share / "Trash" / "files").iterdir()}
    assert trashed == {name.encode("utf-8", "surrogateescape") for name in names}
    assert canary.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="/proc stands for a disk without a trash")
def test_without_a_trash_files_are_kept_in_the_library(tmp_path):
    root = tmp_path / "library"
    files = [file(root / "a" / "m.gguf", b"1"), file(root / "b" / "m.gguf", b"2")]
    assert discard_elsewhere(root, *files, data_home=Path("/proc/none")) == ["set aside"] * 2
    kept = list((root / TRASH_FOLDER).rglob("m.gguf"))
    assert sorted(f.read_bytes() for f in kept) == [b"1", b"2"]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc stands for a disk without a trash")
def test_a_planted_trash_folder_is_not_followed(tmp_path):
    root = tmp_path / "library"
    model = file(root / "m.gguf")
    (tmp_path / "outside").mkdir()
    (root / TRASH_FOLDER).symlink_to(tmp_path / "outside")
    with pytest.raises(subprocess.CalledProcessError):
        discard_elsewhere(root, model, data_home=Path("/proc/none"))
    assert model.exists()
    assert list((tmp_path / "outside").iterdir()) == []


def test_of_a_link_only_the_link_goes(tmp_path):
    root = tmp_path / "library"
    target = file(tmp_path / "elsewhere" / "m.gguf")
    root.mkdir()
    link = root / "m.gguf"
    link.symlink_to(target)
    assert discard(link, root) == "unlinked"
    assert not link.is_symlink()
    assert target.exists()


def test_what_lies_outside_is_refused(tmp_path):
    root = tmp_path / "library"
    target = file(tmp_path / "elsewhere" / "m.gguf")
    root.mkdir()
    (root / "away").symlink_to(target.parent)
    for path in (target, root / "away" / "m.gguf", root / ".." / "elsewhere" / "m.gguf"):
        with pytest.raises(InvalidRequest, match="outside"):
            discard(path, root)
    assert target.exists()


def test_folders_are_refused(tmp_path):
    inside = file(tmp_path / "m.gguf" / "keep.txt")
    for path in (tmp_path / "m.gguf", tmp_path / "m.gguf" / ".."):
        with pytest.raises(InvalidRequest):
            discard(path, tmp_path)
    assert inside.exists()


def test_a_file_that_is_gone_is_an_error_in_words(tmp_path):
    with pytest.raises(SetupError, match="could not be removed"):
        discard(tmp_path / "gone.gguf", tmp_path)
