"""Any header that was written is read back; any other bytes are refused in words, quickly."""

import math
import os
import tempfile
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from engine.errors import ModelFormatError
from engine.formats.filenames import from_portable, portable, printable
from engine.formats.gguf import read_header
from engine.formats.gguf_header import GgufHeader
from engine.formats.gguf_types import TENSOR_TYPES
from tests.helpers.tiny_gguf import (
    BOOL,
    F32,
    F64,
    FORMS,
    STRING,
    Tensor,
    Typed,
    TypedArray,
    gguf_bytes,
    tiny_metadata,
)

BITS = {"B": 8, "H": 16, "I": 32, "Q": 64}


def scalars(kind: int) -> st.SearchStrategy:
    if kind == STRING:
        return st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
    if kind == BOOL:
        return st.booleans()
    if kind in (F32, F64):
        return st.floats(width=32 if kind == F32 else 64, allow_nan=False)
    bits = BITS[FORMS[kind].upper()]
    if FORMS[kind].isupper():
        return st.integers(0, 2**bits - 1)
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


KINDS = st.sampled_from([*FORMS, STRING])
KEYS = st.text(min_size=1, max_size=20).filter(
    lambda key: (
        not key.startswith(("tokenizer.", "general.alignment"))
        and len(key.encode("utf-8", "replace")) < 200
    )
)
VALUES = KINDS.flatmap(
    lambda kind: scalars(kind).map(lambda value: Typed(kind, value))
) | KINDS.flatmap(
    lambda kind: st.lists(scalars(kind), max_size=8).map(lambda values: TypedArray(kind, values))
)


@st.composite
def tensors(draw: st.DrawFn) -> list[Tensor]:
    names = draw(st.lists(st.text("abc.", min_size=1, max_size=20), unique=True, max_size=5))
    made = []
    for name in names:
        kind = draw(st.sampled_from(sorted(TENSOR_TYPES)))
        packing = TENSOR_TYPES[kind]
        rest = draw(st.lists(st.integers(1, 4), max_size=3))
        blocks = draw(st.integers(1, 3))
        shape = (blocks * packing.block, *rest)
        made.append(Tensor(name, shape, kind, blocks * packing.block_bytes * math.prod(rest)))
    return made


def read(data: bytes) -> GgufHeader:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.gguf")
        path.write_bytes(data)
        return read_header(path)


@given(st.dictionaries(KEYS, VALUES, max_size=6), tensors(), st.sampled_from([2, 3]))
def test_what_was_written_is_read_back(metadata, infos, version):
    data = gguf_bytes(metadata, infos, version=version)
    header = read(data)
    assert header.version == version
    expected = {
        key: tuple(value.values) if isinstance(value, TypedArray) else value.value
        for key, value in metadata.items()
    }
    assert dict(header.metadata) == expected
    assert [(t.name, t.shape, t.num_bytes) for t in header.tensors] == [
        (t.name, t.shape, t.num_bytes) for t in infos
    ]
    assert header.needed_bytes <= len(data)


WHOLE = gguf_bytes(tiny_metadata(), [Tensor("a", (32,), 2, 18), Tensor("b", (4,), 0, 16)])


@given(
    st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=8)
)
def test_flipped_bytes_are_read_or_refused(changes):
    data = bytearray(WHOLE)
    for place, byte in changes:
        data[place] = byte
    read_or_refused(bytes(data))


@given(st.binary(max_size=300), st.booleans())
@example(b"", True)
def test_any_bytes_are_read_or_refused(data, with_magic):
    read_or_refused(b"GGUF\x03\0\0\0" + data if with_magic else data)


def read_or_refused(data: bytes) -> None:
    try:
        header = read(data)
    except ModelFormatError as error:
        refused = error
    else:
        refused = None
    if refused:
        assert refused.message.startswith("x.gguf ")
        assert refused.hint
        return
    for name in (
        n for n in dir(header) if not n.startswith("__")
    ):  # no property may fail on a hostile value
        getattr(header, name)


NAMES = st.binary(min_size=1, max_size=20).filter(lambda raw: not set(raw) & {0, 0x2F})


@given(NAMES, NAMES)
def test_printable_names_are_valid_single_lines_and_distinct(first, second):
    names = [os.fsdecode(first), os.fsdecode(second)]
    shown = [printable(name) for name in names]
    assert (shown[0] == shown[1]) == (names[0] == names[1])
    for name, text in zip(names, shown, strict=True):
        text.encode("utf-8")
        assert len(text.splitlines()) == 1
        assert os.fsencode(from_portable(portable(name))) == os.fsencode(name)
