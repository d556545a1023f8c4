"""`engine.formats.gguf`: right files, wrong files (cases C24, C25), and the time and memory they may cost."""

import ctypes
import importlib.util
import os
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.errors import ModelFormatError
from engine.formats.gguf import MAX_TENSORS, read_header
from engine.formats.gguf_header import Omitted
from engine.formats.gguf_metadata import KEPT_STRING, MAX_KEYS
from engine.formats.gguf_types import FILE_TYPES, TENSOR_TYPES
from tests.helpers.tiny_gguf import (
    ARRAY,
    F32,
    I32,
    STRING,
    TINY_TENSORS,
    TYPE_Q4_0,
    U16,
    U64,
    Tensor,
    Typed,
    TypedArray,
    gguf_bytes,
    text,
    tiny_metadata,
    tiny_model,
    tiny_split,
)

MODEL = {"general.architecture": "llama"}


def save(tmp_path: Path, data: bytes, name: str = "x.gguf") -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


def refusal(path: Path) -> ModelFormatError:
    started = time.perf_counter()
    with pytest.raises(ModelFormatError) as caught:
        read_header(path)
    assert time.perf_counter() - started < 2
    error = caught.value
    assert error.message.endswith(".")
    assert error.hint.endswith((".", "?"))
    assert error.details["file"]
    return error


# --- whole files -------------------------------------------------------------------------------------


def test_a_whole_model_tells_what_it_is(tmp_path):
    header = read_header(tiny_model(tmp_path / "a.gguf", name="Tiny <b>1</b>\nLlama"))
    assert header.kind == "model"
    assert header.problem is None
    assert (header.architecture, header.quantization) == ("llama", "Q4_0")
    assert header.name == r"Tiny <b>1</b>\nLlama"
    assert (header.context_length, header.num_layers, header.embedding_length) == (256, 2, 32)
    assert header.vocab_size == 40
    assert (header.split_number, header.split_count) == (0, 1)
    assert header.chat_template is not None
    assert header.chat_template.startswith("{%")
    assert header.data_offset % 32 == 0
    assert header.needed_bytes == header.file_bytes - 32 * 18 % 32
    assert [t.shape for t in header.tensors] == [(32, 40), (32,), (32, 32)]
    assert header.tensor_bytes == 40 * 18 + 128 + 32 * 18


def test_long_values_are_stepped_over_and_short_ones_kept(tmp_path):
    tokens = [f"t{i}" for i in range(5000)]
    data = gguf_bytes(
        MODEL
        | {
            "tokenizer.ggml.tokens": TypedArray(STRING, tokens),
            "tokenizer.ggml.scores": TypedArray(F32, [0.0] * 5000),
            "long": "x" * (KEPT_STRING + 1),
            "list of long": TypedArray(STRING, ["x" * (KEPT_STRING + 1), "y"]),
            "llama.attention.head_count_kv": TypedArray(I32, [0, 8, 8]),
            "none": TypedArray(F32, []),
            "last": "seen",
        },
        TINY_TENSORS,
    )
    metadata = read_header(save(tmp_path, data)).metadata
    assert metadata["tokenizer.ggml.tokens"] == Omitted("strings", 5000)
    assert metadata["tokenizer.ggml.scores"] == Omitted("f32", 5000)
    assert metadata["long"] == Omitted("string", KEPT_STRING + 1)
    assert metadata["list of long"] == Omitted("strings", 2)
    assert metadata["llama.attention.head_count_kv"] == (0, 8, 8)
    assert metadata["none"] == ()
    assert metadata["last"] == "seen"


@pytest.mark.parametrize("version", [2, 3])
def test_versions_2_and_3_are_read(tmp_path, version):
    header = read_header(save(tmp_path, gguf_bytes(MODEL, TINY_TENSORS, version=version)))
    assert header.version == version


def test_an_unknown_tensor_type_is_named_and_not_measured(tmp_path):
    tensors = [Tensor("a", (32,), 99), Tensor("b", (32,), 0, 128)]
    header = read_header(save(tmp_path, gguf_bytes(MODEL, tensors)))
    assert header.tensors[0].type == "type 99"
    assert header.tensors[0].num_bytes is None
    assert header.tensor_bytes == 128


def test_a_single_number_is_a_tensor(tmp_path):
    header = read_header(save(tmp_path, gguf_bytes(MODEL, [Tensor("scale", (), 0, 4)])))
    assert header.tensors[0].shape == ()
    assert header.tensors[0].num_bytes == 4


def test_the_quantization_is_the_label_or_the_prevailing_type(tmp_path):
    labelled = gguf_bytes(MODEL | {"general.file_type": 15}, TINY_TENSORS)
    assert read_header(save(tmp_path, labelled)).quantization == "Q4_K_M"
    for nonsense in (4, 1024, 2**32 - 1, "Q4", True):
        data = gguf_bytes(MODEL | {"general.file_type": nonsense}, TINY_TENSORS)
        assert read_header(save(tmp_path, data)).quantization == "Q4_0"


@pytest.mark.parametrize("lie", [Typed(U64, 2**63), Typed(I32, -1), "many", 1.5, True, 0])
def test_impossible_numbers_are_not_handed_out(tmp_path, lie):
    data = gguf_bytes(MODEL | {"llama.context_length": lie}, TINY_TENSORS)
    assert read_header(save(tmp_path, data)).context_length is None


@pytest.mark.parametrize(
    ("metadata", "tensors", "kind", "word"),
    [
        (MODEL | {"general.type": "adapter"}, TINY_TENSORS, "adapter", "adapter"),
        ({"general.architecture": "clip"}, TINY_TENSORS, "projector", "image part"),
        (MODEL | {"general.type": "mmproj"}, TINY_TENSORS, "projector", "image part"),
        ({"general.type": "imatrix"}, TINY_TENSORS, "imatrix", "imatrix"),
        (tiny_metadata(), (), "vocabulary", "vocabulary"),
        ({}, TINY_TENSORS, "model", "what kind of model"),
        (MODEL, (), "model", "no weights"),
    ],
)
def test_what_is_no_chat_model_says_so(tmp_path, metadata, tensors, kind, word):
    header = read_header(save(tmp_path, gguf_bytes(metadata, tensors)))
    assert header.kind == kind
    assert header.problem is not None
    assert word in header.problem


def test_parts_of_a_split_model_are_models(tmp_path):
    for number, path in enumerate(tiny_split(tmp_path, "m", 3)):
        header = read_header(path)
        assert (header.split_number, header.split_count) == (number, 3)
        assert header.problem is None


# --- foreign files -----------------------------------------------------------------------------------


def foreign(tmp_path: Path) -> dict[str, Path]:
    tensors = b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    safetensors = struct.pack("<Q", len(tensors)) + tensors + bytes(4)
    files = {
        "is empty": b"",
        "web page": b"\n<!DOCTYPE html><html>",
        "safetensors": safetensors,
        "GGML": b"tjgg\x03\0\0\0",
        "PyTorch checkpoint, not": b"PK\x03\x04....",
        "pickle": b"\x80\x02}q\0.",
        "Git LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
        "JSON": b'{"error":"not found"}',
        "gzip": b"\x1f\x8b\x08\0",
        "zeros": bytes(10_000),
        "cut off after 3 bytes": b"GGU",
        "not a GGUF model": b"hello",
    }
    paths = {w: save(tmp_path, d, f"{i}.gguf") for i, (w, d) in enumerate(files.items())}
    folder = tmp_path / "folder.gguf"
    folder.mkdir()
    pipe = tmp_path / "pipe.gguf"
    os.mkfifo(pipe)
    return paths | {
        "folder": folder,
        "pipe": pipe,
        "not there": tmp_path / "no.gguf",
        "could not be read": tmp_path / "nul\0.gguf",
    }


def test_every_foreign_file_gets_its_own_sentence(tmp_path):
    paths = foreign(tmp_path)
    texts = set()
    for word, path in paths.items():
        error = refusal(path)
        assert word in error.message
        assert "\n" not in str(error)
        texts.add(error.message.removeprefix(path.name))
    assert len(texts) == len(paths)


def test_a_file_without_permission_says_so(tmp_path):
    path = tiny_model(tmp_path / "x.gguf")
    path.chmod(0)
    user = os.geteuid()
    if user == 0:  # root may read everything
        os.seteuid(65534)
    try:
        assert "may not be read" in refusal(path).message
    finally:
        os.seteuid(user)


def test_the_name_in_a_message_is_printable(tmp_path):
    error = refusal(save(tmp_path, b"", "a\n\udcff\u202e.gguf"))
    assert error.message == r"a\n\xff\u202e.gguf is empty."
    str(error).encode("utf-8")


# --- damaged headers (C24) ---------------------------------------------------------------------------


def raw(*, keys: int, tensors: int, rest: bytes) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, tensors, keys) + rest


def entry(key: str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def array(kind: int, count: int) -> bytes:
    return struct.pack("<IQ", kind, count)


def with_tensor(shape: tuple[int, ...], kind: int = 0, **more: int) -> bytes:
    return gguf_bytes(MODEL, [Tensor("t", shape, kind, 64, **more)])


HUGE = 2**63
WORDS = TypedArray(STRING, ["a", "b"])
DAMAGED = {
    "magic only": b"GGUF",
    "header of 12 bytes": gguf_bytes()[:12],
    "version 0": gguf_bytes(version=0),
    "version 1": gguf_bytes(version=1),
    "version 99": gguf_bytes(version=99),
    "big-endian": gguf_bytes(MODEL, TINY_TENSORS, order=">"),
    "2^63 keys": gguf_bytes(num_keys=HUGE),
    "2^63 tensors": gguf_bytes(num_tensors=HUGE),
    "2^64-1 of both": gguf_bytes(num_keys=2**64 - 1, num_tensors=2**64 - 1),
    "more keys than bytes": gguf_bytes(MODEL, num_keys=1000),
    "more tensors than bytes": gguf_bytes(MODEL, num_tensors=1000),
    "key of 2^40 bytes": raw(keys=1, tensors=0, rest=struct.pack("<Q", 2**40) + bytes(64)),
    "key of 2^64-1 bytes": raw(keys=1, tensors=0, rest=struct.pack("<Q", 2**64 - 1) + bytes(64)),
    "empty key": raw(keys=1, tensors=0, rest=entry("", 4, bytes(4))),
    "string of 2^40 bytes": raw(keys=1, tensors=0, rest=entry("a", 8, struct.pack("<Q", 2**40))),
    "string of 2^64-1 bytes": raw(keys=1, tensors=0, rest=entry("a", 8, b"\xff" * 8)),
    "array of 2^31 numbers": raw(keys=1, tensors=0, rest=entry("a", 9, array(6, 2**31))),
    "array of 2^31 strings": raw(keys=1, tensors=0, rest=entry("a", 9, array(8, 2**31))),
    "array of 2^63 strings": raw(keys=1, tensors=0, rest=entry("a", 9, array(8, HUGE))),
    "string of 2^64-1 in an array": raw(
        keys=1, tensors=0, rest=entry("a", 9, array(8, 2000)) + b"\xff" * 16_000
    ),
    "array of arrays": raw(keys=1, tensors=0, rest=entry("a", 9, array(ARRAY, 1) + array(4, 0))),
    "value of type 13": raw(keys=1, tensors=0, rest=entry("a", 13, bytes(8))),
    "array of type 99": raw(keys=1, tensors=0, rest=entry("a", 9, array(99, 1) + bytes(8))),
    "a key twice": gguf_bytes([("a", 1), ("a", 2)]),
    "a tensor twice": gguf_bytes(MODEL, [TINY_TENSORS[0], TINY_TENSORS[0]]),
    "alignment 0": gguf_bytes({"general.alignment": 0}, TINY_TENSORS),
    "alignment 3": gguf_bytes({"general.alignment": 3}, TINY_TENSORS),
    "alignment 2^31": gguf_bytes({"general.alignment": 2**31}, TINY_TENSORS),
    "alignment of text": gguf_bytes({"general.alignment": "32"}, TINY_TENSORS),
    "scores of integers": gguf_bytes(
        {"tokenizer.ggml.tokens": WORDS, "tokenizer.ggml.scores": TypedArray(I32, [1, 2])}
    ),
    "scores no list": gguf_bytes({"tokenizer.ggml.tokens": WORDS, "tokenizer.ggml.scores": 1.0}),
    "too few scores": gguf_bytes(
        {"tokenizer.ggml.tokens": WORDS, "tokenizer.ggml.scores": TypedArray(F32, [0.0])}
    ),
    "tokens of numbers": gguf_bytes({"tokenizer.ggml.tokens": TypedArray(I32, [1])}),
    "9 dimensions": with_tensor((1,) * 9),
    "2^32-1 dimensions": raw(keys=0, tensors=1, rest=text("t") + b"\xff" * 64),
    "dimension 0": with_tensor((0, 4)),
    "dimension 2^62": with_tensor((2**62,)),
    "dimensions that overflow": with_tensor((2**33, 2**33)),
    "row of half a block": with_tensor((33, 2), TYPE_Q4_0),
    "offset 2^63": with_tensor((4,), offset=HUGE),
    "unknown type at offset 2^63": with_tensor((4,), 99, offset=HUGE),
    "tensor name of 2^40 bytes": raw(keys=0, tensors=1, rest=struct.pack("<Q", 2**40) + bytes(64)),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_damaged_headers_are_refused_in_words(tmp_path, what):
    error = refusal(save(tmp_path, DAMAGED[what]))
    assert error.message.startswith("x.gguf is ")


def test_every_cut_is_noticed(tmp_path):
    data = tiny_model(tmp_path / "x.gguf").read_bytes()
    needed = read_header(tmp_path / "x.gguf").needed_bytes
    for length in [*range(0, needed, 19), needed - 1]:
        error = refusal(save(tmp_path, data[:length]))
        assert "x.gguf is" in error.message
    assert read_header(save(tmp_path, data[:needed])).file_bytes == needed


def test_a_cut_off_file_tells_how_much_is_there(tmp_path):
    path = tiny_model(tmp_path / "x.gguf")
    whole = read_header(path)
    path.write_bytes(path.read_bytes()[: whole.needed_bytes - 1000])
    error = refusal(path)
    assert error.message == (
        f"x.gguf is incomplete: {whole.needed_bytes - 1000:,} of {whole.needed_bytes:,} bytes."
    )
    assert error.details["needed_bytes"] == whole.needed_bytes


# --- what the worst files cost -----------------------------------------------------------------------


def many_strings(count: int) -> bytes:
    return raw(keys=1, tensors=0, rest=entry("a", 9, array(8, count)) + bytes(8 * count))


def greedy() -> Iterator[tuple[str, bytes]]:
    """Valid as far as one can tell from the lengths, and made to cost as much as possible."""
    wide = "ab" * 100 + "😊"
    yield "strings of nothing", many_strings(3_900_000)
    yield "too many strings", many_strings(5_000_000)
    long_strings = (struct.pack("<Q", 300_000) + bytes(300_000)) * 400
    yield "long strings", raw(keys=1, tensors=0, rest=entry("a", 9, array(8, 2000)) + long_strings)
    yield "keys", gguf_bytes([(f"{i:05}" + wide[:45], "😊" * 1000) for i in range(MAX_KEYS)])
    yield "lists", gguf_bytes([(f"k{i}", TypedArray(U64, [2**63 + i] * 1000)) for i in range(3000)])
    names = [Tensor(f"{i:06}" + wide[:30] * 3, (1, 1, 1, 1)) for i in range(MAX_TENSORS)]
    yield "tensors", gguf_bytes(MODEL, names)


MEASURE = """
import sys, time
from pathlib import Path
from engine.errors import ModelFormatError
from engine.formats.gguf import read_header
started = time.perf_counter()
try:
    header = read_header(Path(sys.argv[1]))
except ModelFormatError:
    pass
seconds = time.perf_counter() - started
(peak,) = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(seconds, peak)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_the_worst_files_stay_within_2_seconds_and_200_mb(tmp_path):
    path = tmp_path / "x.gguf"
    for what, data in greedy():
        path.write_bytes(data)
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, path],
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        )
        seconds, kilobytes = done.stdout.split()
        assert float(seconds) < 2, what
        assert int(kilobytes) < 200_000, what
    path.unlink()  # pytest keeps the folders of three runs


# --- the tables, against the llama.cpp that is installed ----------------------------------------------


def native(name: str) -> ctypes.CDLL:
    spec = importlib.util.find_spec("llama_cpp")
    assert spec is not None
    assert spec.origin is not None
    (path,) = Path(spec.origin).parent.glob(f"lib/*{name}.so")
    return ctypes.CDLL(str(path))


@pytest.mark.skipif(sys.platform != "linux", reason="looks for .so files")
def test_the_tensor_table_is_llama_cpps_own():
    ggml = native("ggml-base")
    ggml.ggml_type_name.restype = ctypes.c_char_p
    ggml.ggml_type_size.restype = ctypes.c_size_t
    ggml.ggml_blck_size.restype = ctypes.c_int64
    for number in range(43):
        block = ggml.ggml_blck_size(number)
        known = TENSOR_TYPES.get(number)
        assert (known is None) == (block == 0), number
        if known:
            assert known.name.lower() == ggml.ggml_type_name(number).decode().lower()
            assert (known.block, known.block_bytes) == (block, ggml.ggml_type_size(number))
    assert max(TENSOR_TYPES) == 42


@pytest.mark.skipif(sys.platform != "linux", reason="looks for .so files")
def test_the_file_type_labels_are_llama_cpps_own():
    llama = native("llama")
    llama.llama_ftype_name.restype = ctypes.c_char_p
    sizes = {"Small": "_S", "Medium": "_M", "Large": "_L"}
    irregular = {"all F32": "F32", "IQ3_S mix": "IQ3_M", "MXFP4 MoE": "MXFP4_MOE", "Q2_K_M": "Q2_K"}
    for number in range(60):
        base, _, rest = llama.llama_ftype_name(number).decode().partition(" - ")
        label = base + sizes.get(rest, "")
        expected = None if label.startswith("unknown") else irregular.get(label, label)
        assert FILE_TYPES.get(number) == expected, number


def test_the_split_fields_are_read_from_their_types(tmp_path):
    data = gguf_bytes(
        MODEL | {"split.count": Typed(U16, 3), "split.no": Typed(U16, 2)}, TINY_TENSORS
    )
    header = read_header(save(tmp_path, data))
    assert (header.split_count, header.split_number) == (3, 2)
