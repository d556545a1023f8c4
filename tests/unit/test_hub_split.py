"""`engine.hub.split`: which files are one model (case C26)."""

from pathlib import Path

import pytest

from engine.hub.split import group, part_name, set_of, stem
from tests.helpers.tiny_gguf import tiny_split

HERE = Path("/models")


def test_parts_of_one_model_are_one_set_whatever_their_order():
    paths = [HERE / part_name("big", number, 3) for number in (3, 1, 2)]
    (files,) = group([*paths])
    assert files.name == "big"
    assert files.first == HERE / "big-00001-of-00003.gguf"
    assert [number for number, _ in files.parts] == [1, 2, 3]
    assert files.missing == []


def test_sets_differ_by_folder_name_and_count():
    paths = [
        HERE / "a" / part_name("m", 1, 2),
        HERE / "b" / part_name("m", 2, 2),
        HERE / "b" / part_name("m", 1, 3),
        HERE / "b" / part_name("M", 1, 2),
        HERE / "b" / "m.gguf",
    ]
    sets = group(paths)
    assert len(sets) == 5
    assert sorted(path for files in sets for _, path in files.parts) == sorted(paths)
    second = next(f for f in sets if f.parts[0][1] == paths[1])
    assert second.first == HERE / "b" / part_name("m", 1, 2)
    assert second.missing == [1]


@pytest.mark.parametrize(
    "name",
    [
        "m-00000-of-00002.gguf",
        "m-00003-of-00002.gguf",
        "m-1-of-2.gguf",
        "-00001-of-00002.gguf",
        "m-00001-of-00002.GGUF",
        "m-00001-of-00002.gguf.part",
        "m-\uff100001-of-00002.gguf",
    ],
)
def test_other_names_are_ordinary_files(name):
    (files,) = group([HERE / name])
    assert (files.first, files.total) == (HERE / name, 1)


def test_any_part_leads_to_the_set_on_disk(tmp_path):
    paths = tiny_split(tmp_path, "m", 3)
    for path in paths:
        assert [p for _, p in set_of(path).parts] == paths
    paths[0].unlink()
    files = set_of(paths[2])
    assert files.first == paths[0]
    assert files.missing == [1]


def test_a_set_whose_folder_is_away_is_still_a_set(tmp_path):
    files = set_of(tmp_path / "away" / "m-00002-of-00009.gguf")
    assert files.first == tmp_path / "away" / "m-00001-of-00009.gguf"
    assert files.parts == ()
    assert set_of(tmp_path / "away" / "m.gguf").parts == ()


@pytest.mark.parametrize(
    ("name", "expected"),
    [("m.gguf", "m"), ("m.GGUF", "m"), ("m.gguf.gguf", "m.gguf"), ("m", "m"), (".gguf", ".gguf")],
)
def test_stem(name, expected):
    assert stem(name) == expected
