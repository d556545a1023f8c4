"""`engine.hub.names`: ids for people, and what they may be asked by (cases C27, C28, C34)."""

import os
from pathlib import Path

import pytest

from engine.hub.names import assign_ids, find_ids, listed
from engine.hub.split import group


def ids(*paths: str) -> dict[str, str]:
    sets = group(Path(path) for path in paths)
    return dict(zip([os.fspath(f.first) for f in sets], assign_ids(sets), strict=True))


def test_the_stem_is_the_id_where_it_is_enough():
    assert ids("/lib/a/m.gguf", "/lib/n.gguf") == {"/lib/a/m.gguf": "m", "/lib/n.gguf": "n"}


def test_folders_tell_equal_names_apart():
    assert ids("/lib/a/m/model.gguf", "/lib/b/m/model.gguf", "/lib/a/m/sub/model.gguf") == {
        "/lib/a/m/model.gguf": "a/m/model",
        "/lib/b/m/model.gguf": "b/m/model",
        "/lib/a/m/sub/model.gguf": "sub/model",
    }


def test_case_tells_apart():
    assert set(ids("/lib/Model.gguf", "/lib/model.gguf").values()) == {"Model", "model"}


def test_names_that_differ_only_in_their_suffix():
    found = ids("/m.gguf", "/m.GGUF", "/m-00001-of-00002.gguf", "/m.GGUF.gguf", "/x/m.gguf")
    assert len(set(found.values())) == 5


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (b"\xe6\xa8\xa1\xe5\x9e\x8b \xf0\x9f\x98\x8a.gguf", "模型 😊"),
        (b"\xe3\x80\x80x.gguf", "\u3000x"),
        (b"a\nb.gguf", r"a\nb"),
        (b"\xff.gguf", r"\xff"),
        (b"\\xff.gguf", r"\\xff"),
        ("a\u202egp\u200b.gguf".encode(), r"a\u202egp\u200b"),
        (b"CON.gguf", "CON"),
        (b"x..gguf", "x."),
        (b"...gguf", ".."),
        (b"%2e%2e%2fx.gguf", "%2e%2e%2fx"),
    ],
)
def test_ids_are_printable_and_json_safe(name, expected):
    (found,) = ids("/lib/" + os.fsdecode(name)).values()
    assert found == expected
    found.encode("utf-8")


KNOWN = {
    "one": Path("/lib/a/one.gguf"),
    "a/two": Path("/lib/a/two.gguf"),
    "b/two": Path("/lib/b/two.gguf"),
    "cafe\u0301": Path("/lib/cafe\u0301.gguf"),
}


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("one", ["one"]),
        ("one.gguf", ["one"]),
        ("a/one", ["one"]),
        ("lib/a/one.gguf", ["one"]),
        ("a/two", ["a/two"]),
        ("lib/b/two", ["b/two"]),
        ("two", ["a/two", "b/two"]),
        ("caf\u00e9", ["cafe\u0301"]),
        ("ONE", []),
        ("/one", []),
        ("./one", []),
        ("b/one", []),
        ("x/../one", []),
        ("wo", []),
        ("", []),
        (".gguf", []),
        ("..", []),
        ("/", []),
        ("~", []),
        ("\0", []),
        ("x" * 300, []),
    ],
)
def test_what_an_id_can_be_asked_by(wanted, found):
    assert find_ids(wanted, KNOWN) == found


def test_long_lists_are_cut():
    assert listed(["a", "b"]) == "a, b"
    assert listed([str(i) for i in range(13)]).endswith("9 and 3 more")
