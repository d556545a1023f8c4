"""`engine.hub.removal`: nothing outside the library, nothing for ever (cases C28, C34)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.errors import InvalidRequest, SetupError
from engine.hub.removal import TRASH_FOLDER, discard, discard_downloaded
from tests.helpers.foreign_trees import COMMIT, OTHER_COMMIT, checksums, hf_file

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


# --- the Hugging Face cache --------------------------------------------------------------------------

REMOVE_DOWNLOADED = "import sys; from pathlib import Path; from engine.hub.removal import *\n"
REMOVE_DOWNLOADED += "print(discard_downloaded(Path(sys.argv[1])))"


def discard_downloaded_elsewhere(link: Path, data_home: Path) -> str:
    return subprocess.run(
        [sys.executable, "-c", REMOVE_DOWNLOADED, link],
        env={**os.environ, "HOME": str(data_home.parent), "XDG_DATA_HOME": str(data_home)},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    ).stdout.strip()


@pytest.mark.skipif(sys.platform != "linux", reason="the freedesktop trash")
def test_content_and_link_go_as_one_file_that_can_be_put_back(tmp_path):
    hub, share = tmp_path / "hub", tmp_path / "share"
    link = hf_file(hub, "a/b", "q/m.gguf", b"content")
    blob = link.resolve()
    old = hf_file(hub, "a/b", "q/m.gguf", b"content", commit=OTHER_COMMIT)
    others = [hf_file(hub, "a/b", "n.gguf", b"other"), hf_file(hub, "a/c", "q/m.gguf", b"content")]
    assert discard_downloaded_elsewhere(link, share) == "trashed"
    assert not any(os.path.lexists(path) for path in (link, old, blob))
    assert [path.read_bytes() for path in others] == [b"other", b"content"]
    (trashed,) = (share / "Trash/files").iterdir()
    assert (trashed.name, trashed.read_bytes()) == ("m.gguf", b"content")
    (note,) = (share / "Trash/info").iterdir()
    assert str(link) in note.read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="the freedesktop trash")
def test_a_cache_without_links(tmp_path):
    file_ = hf_file(tmp_path / "hub", "a/b", "m.gguf", b"content", link=False)
    assert discard_downloaded_elsewhere(file_, tmp_path / "share") == "trashed"
    assert (tmp_path / "share/Trash/files/m.gguf").read_bytes() == b"content"


def test_content_that_another_name_links_to_stays(tmp_path):
    link = hf_file(tmp_path, "a/b", "m.gguf", b"content")
    other = hf_file(tmp_path, "a/b", "twin.gguf", b"content", commit=OTHER_COMMIT)
    assert discard_downloaded(link) == "unlinked"
    assert not link.is_symlink()
    assert other.read_bytes() == b"content"


def test_links_of_a_cache_that_lead_elsewhere_are_not_followed(tmp_path):
    canary = file(tmp_path / "canary.gguf")
    shared = file(tmp_path / "hub/blobs/ab/shared")
    repository = tmp_path / "hub/models--a--b"
    blob = repository / "blobs" / "c"
    file(repository / "blobs" / "keep")
    blob.symlink_to(shared)
    for target in (canary, shared, Path("../../../../canary.gguf"), Path("../../blobs/c")):
        link = repository / "snapshots" / COMMIT / "m.gguf"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
        assert discard_downloaded(link) == "unlinked"
        assert not link.is_symlink()
    assert canary.exists()
    assert shared.exists()


def test_a_cache_behind_linked_folders_is_left_alone(tmp_path):
    outside = file(tmp_path / "outside/m.gguf")
    repository = tmp_path / "hub/models--a--b"
    (repository / "snapshots").mkdir(parents=True)
    (repository / "snapshots" / COMMIT).symlink_to(outside.parent)
    with pytest.raises(InvalidRequest):
        discard_downloaded(repository / "snapshots" / COMMIT / "m.gguf")
    (repository / "snapshots" / OTHER_COMMIT).mkdir()
    (repository / "blobs").symlink_to(outside.parent)
    link = repository / "snapshots" / OTHER_COMMIT / "m.gguf"
    link.symlink_to("../../blobs/m.gguf")
    assert discard_downloaded(link) == "unlinked"
    assert outside.exists()


@pytest.mark.parametrize(
    "path",
    [
        "canary.gguf",
        "hub/canary.gguf",
        "hub/models--a--b/blobs/x",
        "hub/models--a--b/snapshots/x/../../../../canary.gguf",
        "hub/snapshots/x/canary.gguf",
    ],
)
def test_what_lies_in_no_snapshot_is_refused(tmp_path, path):
    hf_file(tmp_path / "hub", "a/b", "m.gguf", b"content", commit="x")
    canaries = [file(tmp_path / "canary.gguf"), file(tmp_path / "hub/canary.gguf")]
    file(tmp_path / "hub/snapshots/x/canary.gguf")
    file(tmp_path / "hub/models--a--b/blobs/x")
    before = checksums(tmp_path)
    with pytest.raises(InvalidRequest):
        discard_downloaded(tmp_path / path)
    assert checksums(tmp_path) == before
    assert all(canary.exists() for canary in canaries)
