"""`engine.hub.scan`: what is found below the library's folder, and what is passed over."""

import os
from pathlib import Path

import pytest

from engine.hub import scan
from engine.hub.scan import MAX_DEPTH, find_models


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    return path


def test_files_by_suffix_down_to_the_depth(tmp_path):
    deep = tmp_path
    expected = {touch(tmp_path / "a.gguf"), touch(tmp_path / "B.GGUF")}
    for level in range(MAX_DEPTH):
        deep /= f"level {level}"
        expected.add(touch(deep / "m.gguf"))
    touch(deep / "too deep" / "m.gguf")
    touch(tmp_path / "a.gguf.part")
    touch(tmp_path / ".hidden.gguf")
    touch(tmp_path / ".trash" / "m.gguf")
    assert set(find_models(tmp_path)) == expected


def test_a_missing_folder_is_empty_and_a_file_is_an_error(tmp_path):
    assert find_models(tmp_path / "none") == []
    with pytest.raises(NotADirectoryError):
        find_models(touch(tmp_path / "file"))


def test_a_folder_called_like_a_model_is_found_unless_it_holds_one(tmp_path):
    touch(tmp_path / "full.gguf" / "m.gguf")
    (tmp_path / "empty.gguf").mkdir()
    assert set(find_models(tmp_path)) == {
        tmp_path / "full.gguf" / "m.gguf",
        tmp_path / "empty.gguf",
    }


def test_links_are_followed_once(tmp_path):
    library = tmp_path / "library"
    touch(tmp_path / "elsewhere" / "far.gguf")
    real = touch(library / "z" / "near.gguf")
    (library / "away").symlink_to(tmp_path / "elsewhere")
    (library / "again").symlink_to(library / "z")
    (library / "z" / "round").symlink_to(library)
    (library / "file.gguf").symlink_to(real)
    (library / "broken.gguf").symlink_to(tmp_path / "nothing")
    assert set(find_models(library)) == {
        real,
        library / "away" / "far.gguf",
        library / "file.gguf",
        library / "broken.gguf",
    }


def test_looking_ends_in_a_huge_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(scan, "MAX_ENTRIES", 10)
    for number in range(30):
        touch(tmp_path / f"{number}.gguf")
    assert len(find_models(tmp_path)) == 11


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_an_unreadable_folder_hides_only_itself(tmp_path):
    kept = touch(tmp_path / "open" / "m.gguf")
    touch(tmp_path / "shut" / "m.gguf")
    tmp_path.chmod(0o755)
    (tmp_path / "shut").chmod(0)
    user = os.geteuid()
    for folder in (tmp_path, *list(tmp_path.parents)[:2]):
        folder.chmod(0o755)
    if user == 0:  # root may look everywhere
        os.seteuid(65534)
    try:
        assert find_models(tmp_path) == [kept]
    finally:
        os.seteuid(user)
        (tmp_path / "shut").chmod(0o755)
