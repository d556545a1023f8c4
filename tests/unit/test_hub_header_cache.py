"""`engine.hub.header_cache`: headers come back as they were read, and damage costs only time."""

from pathlib import Path

import pytest

from engine.formats.gguf import read_header
from engine.hub import header_cache, inspection
from engine.hub.header_cache import HeaderCache
from engine.hub.library import Library
from tests.helpers.tiny_gguf import TypedArray, tiny_model, tiny_split

MANY = {"x__numbers": TypedArray(6, [0.5] * 5000), "x__flags": TypedArray(7, [True, False])}


@pytest.fixture
def cache(tmp_path: Path) -> HeaderCache:
    return HeaderCache(tmp_path / "cache")


def test_a_header_comes_back_as_it_was(tmp_path, cache):
    tiny_model(tmp_path / "m.gguf", x__text="ä" * 100, **MANY)
    for path in (tmp_path / "m.gguf", *tiny_split(tmp_path, "big", 2)):
        header = read_header(path)
        assert cache.get(path, 1, 2) is None
        cache.put(path, 1, 2, header)
        again = cache.get(path, 1, 2)
        assert again == header
        assert {k: type(v) for k, v in again.metadata.items()} == {
            k: type(v) for k, v in header.metadata.items()
        }
        assert cache.get(path, 2, 2) is cache.get(path, 1, 3) is None


def test_a_second_start_reads_no_model(tmp_path, cache, monkeypatch):
    tiny_model(tmp_path / "library/m.gguf")
    (tmp_path / "library/bad.gguf").write_bytes(b"<html>")
    first = Library(tmp_path / "library", headers=cache).models()
    reads: list[str] = []
    read = inspection.read_header
    monkeypatch.setattr(
        inspection, "read_header", lambda path: reads.append(path.name) or read(path)
    )
    assert Library(tmp_path / "library", headers=cache).models() == first
    assert reads == ["bad.gguf"]
    tiny_model(tmp_path / "library/m.gguf", name="Changed")
    assert Library(tmp_path / "library", headers=cache).get("m").name == "Changed"


@pytest.mark.parametrize("damage", [b"", b"\xc1", b"\x80", b"\x91" * 100_000])
def test_damage_is_read_again(tmp_path, cache, damage):
    tiny_model(tmp_path / "library/m.gguf")
    first = Library(tmp_path / "library", headers=cache).models()
    (file,) = (tmp_path / "cache").iterdir()
    file.write_bytes(damage)
    assert Library(tmp_path / "library", headers=cache).models() == first
    assert file.read_bytes() != damage


def test_the_oldest_go_and_a_folder_that_cannot_be_written_does_no_harm(
    tmp_path, cache, monkeypatch
):
    monkeypatch.setattr(header_cache, "_MOST_FILES", 3)
    header = read_header(tiny_model(tmp_path / "m.gguf"))
    for number in range(5):
        cache.put(Path(f"/{number}"), 1, 1, header)
    assert len(list((tmp_path / "cache").iterdir())) == 3
    (tmp_path / "file").write_bytes(b"")
    broken = HeaderCache(tmp_path / "file")
    broken.put(tmp_path, 1, 1, header)
    assert broken.get(tmp_path, 1, 1) is None
