"""`engine.hub.foreign.hf_cache`: revisions, shared contents, and files that are no models yet (C28, C30)."""

import hashlib
from pathlib import Path

from engine.hub.foreign.hf_cache import find
from engine.hub.scan import Survey
from tests.helpers.foreign_trees import COMMIT, OTHER_COMMIT, hf_file, model_bytes, put
from tests.helpers.tiny_gguf import tiny_split


def places(hub: Path) -> list[str]:
    return [str(model.place) for model in find(Survey(), hub)]


def test_the_latest_revision_is_called_as_its_repository(tmp_path):
    hf_file(tmp_path, "maker/repo", "q/m.gguf", model_bytes("new"))
    hf_file(tmp_path, "maker/repo", "q/m.gguf", model_bytes("old"), commit=OTHER_COMMIT)
    hf_file(tmp_path, "single", "m.gguf", model_bytes("single"))
    assert places(tmp_path) == [
        "/maker/repo/q/m.gguf",
        f"/maker/repo/{OTHER_COMMIT}/q/m.gguf",
        "/single/m.gguf",
    ]
    digests = {model.sha256 for model in find(Survey(), tmp_path)}
    assert digests == {hashlib.sha256(model_bytes(n)).hexdigest() for n in ("new", "old", "single")}


def test_what_is_not_whole_does_not_count(tmp_path):
    link = hf_file(tmp_path, "a/gone", "m.gguf", model_bytes("gone"))
    link.resolve().unlink()
    blobs = tmp_path / "models--a--part/blobs"
    put(blobs / f"{'b' * 64}.incomplete", model_bytes("b"))
    put(blobs / f"{'c' * 64}.part", model_bytes("c"))
    put(blobs / "whole.gguf", model_bytes("without a revision"))
    put(tmp_path / "models--a--part/snapshots" / COMMIT / "m.gguf.part", model_bytes("d"))
    put(tmp_path / "models--a--part/snapshots/file", b"")
    put(tmp_path / "models--", b"")
    put(tmp_path / "models--a--part/refs/main", b"\xff" * 500)
    assert places(tmp_path) == []


def test_a_split_model_is_one(tmp_path):
    parts = [
        hf_file(tmp_path / "hub", "a/b", path.name, path.read_bytes())
        for path in tiny_split(tmp_path / "made", "big", 3)
    ]
    (model,) = find(Survey(), tmp_path / "hub")
    assert [path for _, path in model.files.parts] == parts
    assert str(model.place) == f"/a/b/{parts[0].name}"


def test_blobs_that_are_links_to_a_shared_store(tmp_path):
    link = hf_file(tmp_path, "a/b", "m.gguf", model_bytes("m"))
    blob = link.resolve()
    shared = put(tmp_path / "blobs/ab" / ("d" * 64), blob.read_bytes())
    blob.unlink()
    blob.symlink_to(shared)
    (model,) = find(Survey(), tmp_path)
    assert (model.files.first, model.sha256) == (link, blob.name)
