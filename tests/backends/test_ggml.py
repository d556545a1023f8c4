"""`to_float`: the library's own functions through our table, what it refuses, and what it must not read."""

import ctypes
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.backends import ggml
from engine.backends.ggml import to_float
from engine.errors import UnsupportedByBackend
from engine.formats.gguf_types import TENSOR_TYPES

CODEBOOK_ERRORS = {  # root mean square error of N(0, 1), weighted evenly; measured, and a bit more
    "IQ1_S": 0.52,
    "IQ1_M": 0.48,
    "IQ2_XXS": 0.36,
    "IQ2_XS": 0.32,
    "IQ2_S": 0.27,
    "IQ3_XXS": 0.19,
    "IQ3_S": 0.15,
}
NOT_WEIGHTS = {"Q8_1", "Q8_K", "I8", "I16", "I32", "I64", "F64"}
WEIGHTS = {kind.name: kind for kind in TENSOR_TYPES.values() if kind.name not in NOT_WEIGHTS}
IDS = {kind.name: number for number, kind in TENSOR_TYPES.items()}

HALF_SCALES = {  # bytes at which a block has a float16
    **dict.fromkeys(("F16", "Q1_0", "Q2_0", "Q4_0", "Q5_0", "Q8_0", "IQ4_NL", "IQ4_XS"), (0,)),
    **dict.fromkeys(("IQ1_S", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S"), (0,)),
    **dict.fromkeys(("Q4_1", "Q5_1", "Q4_K", "Q5_K"), (0, 2)),
    "Q2_K": (80, 82),
    "Q3_K": (108,),
    "Q6_K": (208,),
    "TQ1_0": (52,),
    "TQ2_0": (64,),
}


class TypeTraits(ctypes.Structure):
    """`struct ggml_type_traits` of ggml.h."""

    _fields_ = (
        ("type_name", ctypes.c_char_p),
        ("block", ctypes.c_int64),
        ("block_interleave", ctypes.c_int64),
        ("block_bytes", ctypes.c_size_t),
        ("is_quantized", ctypes.c_bool),
        ("to_float", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)),
        ("from_float_ref", ctypes.c_void_p),
    )


def type_traits(type_name: str) -> TypeTraits:
    function = ggml._library().ggml_get_type_traits
    function.restype, function.argtypes = ctypes.POINTER(TypeTraits), [ctypes.c_int]
    return function(IDS[type_name]).contents


def quantize(type_name: str, values: np.ndarray) -> np.ndarray:
    """uint8 [rows, bytes] from float32 [rows, elements], all elements weighing the same."""
    rows, row = values.shape
    kind = WEIGHTS[type_name]
    out = np.zeros((rows, row // kind.block * kind.block_bytes), np.uint8)
    values, importance = np.ascontiguousarray(values, np.float32), np.ones(row, np.float32)
    function = ggml._library().ggml_quantize_chunk
    function.restype, pointer, size = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int64
    function.argtypes = [ctypes.c_int, pointer, pointer, size, size, size, pointer]
    source, target, weights = (a.ctypes.data for a in (values, out, importance))
    assert function(IDS[type_name], source, target, 0, rows, row, weights) == out.size
    return out


def finite_blocks(type_name: str, noise: bytes | np.ndarray) -> np.ndarray:
    """uint8 [n, block bytes]: whole blocks of the noise, with every float16 scale made finite."""
    block_bytes = WEIGHTS[type_name].block_bytes
    whole = len(noise) // block_bytes * block_bytes
    blocks = np.frombuffer(noise, np.uint8)[:whole].reshape(-1, block_bytes).copy()
    for start in HALF_SCALES.get(type_name, ()):
        high = blocks[:, start + 1]
        high[(high & 0x7C) == 0x7C] ^= 0x40
    if type_name == "IQ1_M":  # its scale is spread over the upper nibbles of the last four words
        blocks[:, 55] &= 0xBF
    return blocks


@pytest.mark.parametrize("type_name", sorted(CODEBOOK_ERRORS))
class TestCodebooks:
    def test_equals_the_function_in_the_type_table(self, type_name: str) -> None:
        noise = np.random.default_rng(1).integers(0, 256, 200_000, np.uint8)
        blocks = finite_blocks(type_name, noise)
        expected = np.empty(len(blocks) * 256, np.float32)
        traits = type_traits(type_name)
        assert traits.type_name.decode() == type_name.lower()
        assert (traits.block, traits.block_bytes) == (256, WEIGHTS[type_name].block_bytes)
        traits.to_float(blocks.ctypes.data, expected.ctypes.data, expected.size)
        assert np.isfinite(expected).all()
        assert len(np.unique(expected)) > 1000
        found = to_float(type_name, blocks, expected.size)
        assert found.dtype == np.float32
        assert np.array_equal(found.view(np.uint32), expected.view(np.uint32))

    def test_any_buffer_will_do(self, type_name: str) -> None:
        raw = finite_blocks(type_name, np.random.default_rng(3).bytes(700))
        n = len(raw) * 256
        expected = to_float(type_name, raw, n)
        assert np.array_equal(to_float(type_name, raw.tobytes(), n), expected)
        assert np.array_equal(to_float(type_name, memoryview(raw.tobytes()), n), expected)


@pytest.mark.parametrize(
    "type_name",
    [  # the quantizers of IQ1 and IQ2 first compute tables of neighbours, for seconds
        pytest.param(name, marks=() if name.startswith("IQ3") else pytest.mark.slow)
        for name in sorted(CODEBOOK_ERRORS)
    ],
)
def test_comes_close_to_what_was_quantized(type_name: str) -> None:
    values = np.random.default_rng(2).standard_normal((8, 512)).astype(np.float32)
    found = to_float(type_name, quantize(type_name, values), values.size).reshape(values.shape)
    error = float(np.sqrt(np.mean((found - values) ** 2)))
    assert error < CODEBOOK_ERRORS[type_name]


@given(noise=st.binary(min_size=50, max_size=600), name=st.sampled_from(sorted(CODEBOOK_ERRORS)))
def test_any_bytes_are_numbers(noise: bytes, name: str) -> None:
    blocks = finite_blocks(name, noise)
    found = to_float(name, blocks, len(blocks) * 256)
    assert np.isfinite(found).all()


def test_known_values() -> None:
    q8 = np.float16(-0.5).tobytes() + bytes(range(32))
    assert to_float("Q8_0", q8, 32).tolist() == [-0.5 * i for i in range(32)]
    assert to_float("BF16", b"\x80\x3f\x00\xc0", 2).tolist() == [1.0, -2.0]
    assert to_float("IQ3_S", b"", 0).size == 0


@pytest.mark.parametrize("name", ["F32", "I32", "F64", "Q8_1", "Q4_0_4_4", "iq2_xxs", "", "../x\0"])
def test_what_the_library_cannot_convert_is_refused(name: str) -> None:
    with pytest.raises(UnsupportedByBackend, match=re.escape(f"“{name}”")):
        to_float(name, b"", 0)


def test_a_library_without_the_function_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    ggml._converter.cache_clear()
    monkeypatch.setattr(ggml, "_library", object)
    with pytest.raises(UnsupportedByBackend, match="IQ2_XXS"):
        to_float("IQ2_XXS", bytes(66), 256)


@pytest.mark.parametrize(
    ("raw", "num_elements"),
    [
        (bytes(65), 256),
        (bytes(67), 256),
        (bytes(66), 512),
        (bytes(66), 255),
        (bytes(66), 0),
        (bytes(66), -256),
        (np.zeros(132, np.uint8)[::2], 256),
        (memoryview(bytes(132))[::2], 256),
    ],
)
def test_wrong_amounts_are_refused(raw: bytes | np.ndarray, num_elements: int) -> None:
    with pytest.raises((ValueError, BufferError)):
        to_float("IQ2_XXS", raw, num_elements)
