from pathlib import Path

import pytest

from engine.errors import ModelFormatError
from engine.formats.gguf import read_header
from engine.formats.ghost_file import GhostPart, write_ghost
from tests.helpers.ghost_models import MODELS
from tests.helpers.tiny_gguf import TINY_TENSORS, gguf_bytes, tiny_metadata

BIG = MODELS["Qwen 3 30B A3B"]
WHOLE = gguf_bytes(tiny_metadata(), TINY_TENSORS)
HEADER = gguf_bytes(tiny_metadata(), TINY_TENSORS, with_data=False)


def test_17_gigabytes_take_kilobytes(tmp_path: Path) -> None:
    path = write_ghost(tmp_path, "big.gguf", [BIG.part()])
    status = path.stat()
    assert status.st_size > 16 << 30
    assert status.st_blocks * 512 < 1 << 20
    assert read_header(path).needed_bytes <= status.st_size


def test_all_parts_of_a_split_model_lie_where_llama_cpp_looks(tmp_path: Path) -> None:
    first = write_ghost(tmp_path, "big", BIG.parts(3))
    assert first.name == "big-00001-of-00003.gguf"
    assert sorted(p.name for p in tmp_path.iterdir())[2] == "big-00003-of-00003.gguf"
    assert [read_header(p).split_number for p in sorted(tmp_path.iterdir())] == [0, 1, 2]


@pytest.mark.parametrize("name", ["../../x.gguf", "/etc/x", "..", "", "a\0b\n", "x" * 400])
def test_names_do_not_become_paths(name: str, tmp_path: Path) -> None:
    path = write_ghost(tmp_path, name, [GhostPart(WHOLE, len(WHOLE))])
    assert path.parent == tmp_path
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert path.name.isascii()


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [GhostPart(WHOLE, 0)],
        [GhostPart(WHOLE, 1 << 50)],
        [GhostPart(WHOLE, len(HEADER))],
        [GhostPart(HEADER[:-60], len(WHOLE))],
        [GhostPart(HEADER[:-1], len(WHOLE))],
        [GhostPart(b"<html>", len(WHOLE))],
        [GhostPart(WHOLE, len(WHOLE))] * 2,
        list(reversed(BIG.parts(2))),
        BIG.parts(3)[:2],
    ],
    ids=[
        *("none", "empty", "endless", "no weights", "cut off", "a byte short", "a page"),
        *("twice", "wrong order", "a part missing"),
    ],
)
def test_refused(parts: list[GhostPart], tmp_path: Path) -> None:
    with pytest.raises(ModelFormatError) as caught:
        write_ghost(tmp_path, "m.gguf", parts)
    assert caught.value.hint
