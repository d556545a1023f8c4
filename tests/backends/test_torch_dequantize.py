"""`dequantize`: every bit as ggml has it, on quantized data, extreme data and arbitrary bytes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.backends.ggml import to_float
from engine.formats.gguf_types import TENSOR_TYPES
from tests.backends.test_ggml import CODEBOOK_ERRORS, WEIGHTS, finite_blocks, quantize

torch = pytest.importorskip("torch")

from engine.backends.torch_cuda import dequantize as dequantize_module  # noqa: E402 - needs torch

dequantize, TYPES = dequantize_module.dequantize, sorted(dequantize_module.TYPES)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def assert_same_bits(type_name: str, raw: np.ndarray) -> np.ndarray:
    """Compare with ggml; NaN is NaN, whatever its payload. Returns the numbers."""
    kind = WEIGHTS[type_name]
    num_elements = raw.size // kind.block_bytes * kind.block
    found = dequantize(type_name, torch.from_numpy(raw))
    assert found.dtype == torch.float32
    assert found.shape == (*raw.shape[:-1], raw.shape[-1] // kind.block_bytes * kind.block)
    if type_name == "F32":
        expected = np.frombuffer(raw.tobytes(), "<f4")
    else:
        expected = to_float(type_name, np.ascontiguousarray(raw), num_elements)
    numbers = found.numpy().reshape(-1)
    same = numbers.view(np.uint32) == expected.view(np.uint32)
    assert (same | (np.isnan(numbers) & np.isnan(expected))).all()
    return numbers


def test_every_type_with_weights_has_a_way() -> None:
    assert set(TYPES) | set(CODEBOOK_ERRORS) == set(WEIGHTS)
    assert not set(TYPES) & set(CODEBOOK_ERRORS)
    assert set(WEIGHTS) < {kind.name for kind in TENSOR_TYPES.values()}


def extremes() -> np.ndarray:
    """float32 [rows, 512]: magnitudes that make scales zero, denormal, infinite, or of either sign."""
    rng = np.random.default_rng(5)
    noise = rng.standard_normal(512)
    rows = [
        noise * size for size in (0, -0.0, 1e-45, 1e-40, 1e-12, 1e-7, 1e-5, 1e3, 6e4, 1e6, 1e30)
    ]
    rows += [np.full(512, value) for value in (1.0, -1.0, 1e-8, -3e-7, 65_504, -7e4)]
    rows += [np.abs(noise), -np.abs(noise), np.round(noise), np.sign(noise), noise**9]
    rows += [
        np.where(np.arange(512) % 97 == 5, -100, noise),
        np.where(np.arange(512) < 300, 0, noise),
    ]
    rows += [np.exp2(np.linspace(-40, 15, 512)), 10 + noise / 100, np.linspace(-1, 1, 512)]
    return np.array(rows, np.float64).astype(np.float32)


@pytest.mark.parametrize("type_name", TYPES)
class TestBits:
    def test_quantized_noise(self, type_name: str) -> None:
        values = np.random.default_rng(4).standard_normal((16, 1024)).astype(np.float32)
        values *= np.exp2(np.arange(16, dtype=np.float32) - 12)[:, None]
        numbers = assert_same_bits(type_name, quantize(type_name, values)).reshape(values.shape)
        # the numbers are those that were quantized, and not only those of ggml; one bit leaves 0.8
        assert np.corrcoef(numbers[12], values[12])[0, 1] > 0.6

    def test_quantized_extremes(self, type_name: str) -> None:
        assert_same_bits(type_name, quantize(type_name, extremes()))

    def test_arbitrary_blocks(self, type_name: str) -> None:
        noise = np.random.default_rng(6).integers(0, 256, 1 << 18, np.uint8)
        numbers = assert_same_bits(type_name, finite_blocks(type_name, noise))
        if type_name not in ("F32", "BF16"):
            assert not np.isnan(numbers).any()

    @pytest.mark.parametrize("byte", [0x00, 0x80, 0xFF])
    def test_uniform_bytes(self, type_name: str, byte: int) -> None:
        assert_same_bits(type_name, finite_blocks(type_name, np.full(1024, byte, np.uint8)))

    def test_infinite_scales(self, type_name: str) -> None:
        noise = np.random.default_rng(7).integers(0, 256, 1 << 14, np.uint8)
        blocks = finite_blocks(type_name, noise)
        assert_same_bits(type_name, blocks | np.uint8(0x7C))

    @pytest.mark.parametrize("shape", [(1,), (4,), (2, 3), (3, 1, 2), (0,), (2, 0), (0, 3)])
    def test_leading_dimensions(self, type_name: str, shape: tuple[int, ...]) -> None:
        block_bytes = WEIGHTS[type_name].block_bytes
        size = int(np.prod(shape)) * block_bytes
        noise = np.random.default_rng(8).integers(0, 256, size, np.uint8)
        raw = finite_blocks(type_name, noise) if size else noise
        assert_same_bits(type_name, raw.reshape(*shape[:-1], shape[-1] * block_bytes))

    def test_strided_and_unaligned_bytes(self, type_name: str) -> None:
        block_bytes = WEIGHTS[type_name].block_bytes
        noise = np.random.default_rng(9).integers(0, 256, 6 * block_bytes, np.uint8)
        rows = finite_blocks(type_name, noise).reshape(3, 2 * block_bytes)
        wide = np.zeros((3, 2 * block_bytes + 3), np.uint8)
        wide[:, 1:-2] = rows
        assert_same_bits(type_name, wide[:, 1:-2])
        # one block at an odd offset is contiguous to torch, and still no place to view numbers
        block = torch.from_numpy(wide)[0, 1 : 1 + block_bytes]
        found, expected = dequantize(type_name, block), dequantize(type_name, block.clone())
        assert torch.equal(found.view(torch.int32), expected.view(torch.int32))

    def test_slices_join(self, type_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        noise = np.random.default_rng(10).integers(0, 256, 5000, np.uint8)
        blocks = finite_blocks(type_name, noise)
        monkeypatch.setattr(dequantize_module, "_SLICE_ELEMENTS", 600)
        assert_same_bits(type_name, blocks)

    def test_the_result_is_memory_of_its_own(self, type_name: str) -> None:
        raw = torch.zeros(2, WEIGHTS[type_name].block_bytes, dtype=torch.uint8)
        dequantize(type_name, raw).fill_(1)
        assert not raw.any()

    def test_wrong_amounts_are_refused(self, type_name: str) -> None:
        block_bytes = WEIGHTS[type_name].block_bytes
        for size in {1, block_bytes - 1, block_bytes + 1} - {0, block_bytes}:
            if size % block_bytes:
                with pytest.raises(ValueError, match=f"whole {type_name} blocks"):
                    dequantize(type_name, torch.zeros(4, size, dtype=torch.uint8))


@given(noise=st.binary(min_size=256, max_size=800), type_name=st.sampled_from(TYPES))
def test_any_bytes(noise: bytes, type_name: str) -> None:
    assert_same_bits(type_name, finite_blocks(type_name, noise))


@pytest.mark.parametrize("type_name", ["F16", "BF16"])
def test_every_number_of_16_bits(type_name: str) -> None:
    assert_same_bits(type_name, np.arange(1 << 16, dtype="<u2").view(np.uint8))


@pytest.mark.parametrize(("type_name", "num_scales"), [("MXFP4", 1), ("NVFP4", 4)])
def test_every_scale_of_8_bits(type_name: str, num_scales: int) -> None:
    noise = np.random.default_rng(11).integers(0, 256, 256 * 36, np.uint8)
    blocks = finite_blocks(type_name, noise)[:256]
    blocks[:, :num_scales] = np.arange(256, dtype=np.uint8)[:, None] + np.arange(
        num_scales, dtype=np.uint8
    )
    assert_same_bits(type_name, blocks)


@pytest.mark.parametrize("type_name", ["IQ2_XXS", "Q8_1", "F64", "Q4_0_4_4", ""])
def test_other_types_are_refused(type_name: str) -> None:
    with pytest.raises(ValueError, match="no arithmetic"):
        dequantize(type_name, torch.zeros(64, dtype=torch.uint8))


def test_only_bytes_are_taken() -> None:
    with pytest.raises(TypeError, match="int8"):
        dequantize("Q4_0", torch.zeros(18, dtype=torch.int8))
