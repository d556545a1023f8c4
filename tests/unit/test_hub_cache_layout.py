"""Where downloads go: as the hub library lays it out, and never anywhere else, whatever the names are."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidRequest
from engine.hub.cache_layout import RepoFolder, checked_path, checked_repo, hub_folder

COMMIT = "c" * 40
HOSTILE_NAMES = [
    *("..", "../x", "/etc/x", "a/../../x", "..\\x", "a\\b", "~", "", ".", "a//b", "a/", "x" * 300),
    *("CON", "con.gguf", "a/NUL", "lpt1.txt", "dot.", "dir./a", "space ", "a\0b", "a\nb", "\x7f"),
    *("C:x", "a:b", "a|b", "a*", "a?", 'a"', "<a>", "\ud800"),
]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"HF_HUB_CACHE": "/a", "HUGGINGFACE_HUB_CACHE": "/b", "HF_HOME": "/c"}, "/a"),
        ({"HUGGINGFACE_HUB_CACHE": "/b", "HF_HOME": "/c"}, "/b"),
        ({"HF_HOME": "/c", "XDG_CACHE_HOME": "/d"}, "/c/hub"),
        ({"XDG_CACHE_HOME": "/d"}, "/d/huggingface/hub"),
        ({}, "/home/me/.cache/huggingface/hub"),
    ],
)
def test_the_cache_is_where_the_hub_library_has_it(environment, expected) -> None:
    assert hub_folder("", environment, Path("/home/me")) == Path(expected)
    assert hub_folder("/mine", environment, Path("/home/me")) == Path("/mine")


def test_places_of_a_repository() -> None:
    folder = RepoFolder(Path("/hub"), "org/My-Model.GGUF")
    digest = "a" * 64
    assert folder.blob(digest) == Path(f"/hub/models--org--My-Model.GGUF/blobs/{digest}")
    assert folder.part(digest).name == f"{digest}.part"
    assert folder.lock(digest) == Path(f"/hub/.locks/models--org--My-Model.GGUF/{digest}.lock")
    snapshot = folder.snapshot(COMMIT, "sub/模型 😊.gguf")
    assert snapshot == folder.folder / "snapshots" / COMMIT / "sub" / "模型 😊.gguf"
    assert folder.ref("refs/pr/1") == folder.folder / "refs/refs/pr/1"


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_hostile_paths_are_refused(name) -> None:
    folder = RepoFolder(Path("/hub"), "a/b")
    for ask in (checked_path, folder.ref, lambda path: folder.snapshot(COMMIT, path)):
        with pytest.raises(InvalidRequest) as refused:
            ask(name)
        assert refused.value.hint


@pytest.mark.parametrize(
    "name",
    ["a", "a/b/c", "../b", "a/..", "a/b--c", "a/b/", "/a", "-a/b", "a/CON", "a/b.", "a b/c", "a/é"],
)
def test_hostile_repositories_are_refused(name) -> None:
    with pytest.raises(InvalidRequest):
        RepoFolder(Path("/hub"), name)
    with pytest.raises(InvalidRequest):
        checked_repo(name)


@pytest.mark.parametrize("digest", ["", "..", "A" * 64, "a" * 63, "a" * 64 + "/x"])
def test_checksums_and_commits_are_checked_before_they_are_joined(digest) -> None:
    folder = RepoFolder(Path("/hub"), "a/b")
    for ask in (folder.blob, folder.part, folder.lock, lambda c: folder.snapshot(c, "x")):
        with pytest.raises(InvalidRequest):
            ask(digest)


@given(st.text(max_size=40))
def test_what_is_accepted_stays_inside(name: str) -> None:
    root = RepoFolder(Path("/hub"), "a/b").folder / "snapshots" / COMMIT
    try:
        place = RepoFolder(Path("/hub"), "a/b").snapshot(COMMIT, name)
    except InvalidRequest:
        return
    assert place.is_relative_to(root)
    assert ".." not in place.parts
    assert place.relative_to(root).as_posix() == name
