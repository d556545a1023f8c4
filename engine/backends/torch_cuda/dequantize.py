"""`dequantize`: GGUF tensor data as float32 in plain torch, bit for bit what ggml's `dequantize_row_*` computes.

Zone: worker process, any device. The reference for the kernels of this folder, and the way to load types
without a kernel. Neighbours: `engine.formats.gguf_types` (block sizes), `engine.backends.ggml` (the codebook types,
IQ1 to IQ3, whose tables live in the library). Source of the layouts: `ggml-common.h` and `ggml-quants.c` of llama.cpp.

Why the bits can be equal everywhere: the significant bits of the factors add up to at most 23 (11 of a
float16 scale, 7 of a sub-scale and 5 of a quant in Q6_K; 11, 5 and 7 in IQ4_XS) and float32 has 24. So every
product here is exact, an element is rounded at most once, when its minimum is added, and neither the order
of the factors nor a compiler's fused multiply-add can show.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

import torch
from torch import Tensor

from engine.formats.gguf_types import TENSOR_TYPES

_Convert = Callable[[Tensor], Tensor]
"""uint8 [n, bytes per block] → float32, n x elements per block in any shape."""

_SLICE_ELEMENTS: Final = 1 << 20
"""Converted at once: intermediates stay in the cache and small next to the result."""

_IQ4_VALUES: Final = (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)
"""What the codes of IQ4_NL and IQ4_XS stand for: denser around zero, as weights are."""

_FP4_VALUES: Final = (0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12)
"""E2M1 of the OCP Microscaling formats, doubled, so that they are integers; the scales are halved."""


def dequantize(type_name: str, raw: Tensor) -> Tensor:
    """Compute the numbers that blocks of one type stand for.

    Args:
        type_name: one of `TYPES`.
        raw: uint8 [..., bytes], whole blocks, on any device.

    Returns:
        float32 [..., elements] on the same device, in memory of its own. NaN where the file says so; its
        payload is not part of the promise.

    Raises:
        ValueError: unknown type, or the last dimension is not a whole number of blocks.
        TypeError: raw is not uint8.
    """
    if type_name not in _CONVERTERS:
        raise ValueError(f"no arithmetic for tensors of type {type_name}")
    if raw.dtype != torch.uint8:
        raise TypeError(f"raw bytes as {raw.dtype}")
    block, block_bytes = _SIZES[type_name]
    num_blocks, rest = divmod(raw.shape[-1], block_bytes)
    if rest:
        raise ValueError(f"{raw.shape[-1]} bytes are not whole {type_name} blocks of {block_bytes}")
    out = torch.empty((*raw.shape[:-1], num_blocks * block), dtype=torch.float32, device=raw.device)
    if not out.numel():
        return out
    at_once = max(1, _SLICE_ELEMENTS // block)
    parts = zip(
        torch.split(raw.reshape(-1, block_bytes), at_once),
        torch.split(out.view(-1, block), at_once),
        strict=True,
    )
    for blocks, target in parts:
        target.copy_(_CONVERTERS[type_name](blocks).reshape(target.shape))
    return out


# --- parts of blocks ---------------------------------------------------------------------------------


def _floats(blocks: Tensor, dtype: torch.dtype) -> Tensor:
    """float32 [n, bytes / size] of little-endian numbers. The copy aligns them: files need not."""
    return blocks.clone(memory_format=torch.contiguous_format).view(dtype).to(torch.float32)


def _halves(blocks: Tensor, start: int, count: int = 1) -> Tensor:
    """float32 [n, count] from `count` float16 at byte `start`."""
    return _floats(blocks[:, start : start + 2 * count], torch.float16)


def _fields(packed: Tensor, bits: int, run: int) -> Tensor:
    """Unpack unsigned fields of `bits` < 8 bits.

    ggml packs `8 / bits` runs of elements into one run of bytes: the lowest bits of all its bytes are the first
    run of elements, the next bits the second, and so on. With run = 1 this is plain little-endian order.

    Returns:
        int8 [n, elements], ready to be joined or shifted into the signed range.
    """
    runs = packed.reshape(len(packed), -1, run)
    parts = [(runs >> shift) & ((1 << bits) - 1) for shift in range(0, 8, bits)]
    return torch.stack(parts, dim=2).flatten(1).view(torch.int8)


def _scaled(quants: Tensor, scale: Tensor, offset: Tensor | None = None) -> Tensor:
    """float32 [n, groups, elements]: quants [n, groups x elements] times scale plus offset [n, groups]."""
    grouped = quants.to(torch.float32).view(*scale.shape, -1).mul_(scale.unsqueeze(-1))
    return grouped if offset is None else grouped.add_(offset.unsqueeze(-1))


def _looked_up(values: tuple[int, ...], codes: Tensor) -> Tensor:
    """float32, shaped as the codes."""
    table = torch.tensor(values, dtype=torch.float32, device=codes.device)
    return table.index_select(0, codes.flatten().to(torch.int32)).view(codes.shape)


# --- 32 elements and one scale (some more): Q*_0, Q*_1, IQ4_NL, MXFP4, NVFP4, TQ* ------------------------


def _q1_0(blocks: Tensor) -> Tensor:
    return _scaled(_fields(blocks[:, 2:], 1, run=1) * 2 - 1, _halves(blocks, 0))


def _q2_0(blocks: Tensor) -> Tensor:
    return _scaled(_fields(blocks[:, 2:], 2, run=1) - 1, _halves(blocks, 0))


def _q4_0(blocks: Tensor) -> Tensor:
    return _scaled(_fields(blocks[:, 2:], 4, run=16) - 8, _halves(blocks, 0))


def _q4_1(blocks: Tensor) -> Tensor:
    scale, minimum = _halves(blocks, 0, 2).chunk(2, dim=1)
    return _scaled(_fields(blocks[:, 4:], 4, run=16), scale, minimum)


def _five_bits(blocks: Tensor) -> Tensor:
    """int8 [n, 32] in 0 … 31 from 4 bytes of fifth bits and 16 of lower ones."""
    return _fields(blocks[:, 4:], 4, run=16) | (_fields(blocks[:, :4], 1, run=1) << 4)


def _q5_0(blocks: Tensor) -> Tensor:
    return _scaled(_five_bits(blocks[:, 2:]) - 16, _halves(blocks, 0))


def _q5_1(blocks: Tensor) -> Tensor:
    scale, minimum = _halves(blocks, 0, 2).chunk(2, dim=1)
    return _scaled(_five_bits(blocks[:, 4:]), scale, minimum)


def _q8_0(blocks: Tensor) -> Tensor:
    return _scaled(blocks[:, 2:].contiguous().view(torch.int8), _halves(blocks, 0))


def _iq4_nl(blocks: Tensor) -> Tensor:
    values = _looked_up(_IQ4_VALUES, _fields(blocks[:, 2:], 4, run=16))
    return _scaled(values, _halves(blocks, 0))


def _mxfp4(blocks: Tensor) -> Tensor:
    exponent = blocks[:, :1].to(torch.int32)
    # 2^(exponent - 128), written as bits: the two smallest are denormal
    bits = torch.where(exponent < 2, 0x00200000 << exponent, (exponent - 1) << 23)
    values = _looked_up(_FP4_VALUES, _fields(blocks[:, 1:], 4, run=16))
    return _scaled(values, bits.view(torch.float32))


def _nvfp4(blocks: Tensor) -> Tensor:
    code = blocks[:, :4] & 0x7F
    # E4M3 in the place of float16's E5M10: the bias is 8 less, so x 2^8, and half of it (see _FP4_VALUES)
    scale = (code.to(torch.int16) << 7).view(torch.float16).to(torch.float32) * 128
    scale.masked_fill_(blocks[:, :4] == 0x7F, 0)  # NaN in E4M3, zero to ggml
    return _scaled(_looked_up(_FP4_VALUES, _fields(blocks[:, 4:], 4, run=8)), scale)


def _trits(packed: Tensor, count: int) -> Tensor:
    """int8 [n, count x bytes] in -1 … 1: bytes are fractions of 256 in base 3, first digit first."""
    digits = torch.stack([packed * 3**place for place in range(count)], dim=1)  # modulo 256
    return ((digits.flatten(1).to(torch.int16) * 3) >> 8).to(torch.int8) - 1


def _tq1_0(blocks: Tensor) -> Tensor:
    parts = [_trits(blocks[:, :32], 5), _trits(blocks[:, 32:48], 5), _trits(blocks[:, 48:52], 4)]
    return _scaled(torch.cat(parts, dim=1), _halves(blocks, 52))


def _tq2_0(blocks: Tensor) -> Tensor:
    return _scaled(_fields(blocks[:, :64], 2, run=32) - 1, _halves(blocks, 64))


# --- 256 elements, a scale of scales: Q*_K, IQ4_XS ------------------------------------------------------


def _q2_k(blocks: Tensor) -> Tensor:
    scale, minimum = _halves(blocks, 80, 2).chunk(2, dim=1)
    packed = blocks[:, :16]
    return _scaled(
        _fields(blocks[:, 16:80], 2, run=32), scale * (packed & 15), -(minimum * (packed >> 4))
    )


def _q3_k(blocks: Tensor) -> Tensor:
    packed = blocks[:, 96:108]
    scales = _fields(packed[:, :8], 4, run=8) | (_fields(packed[:, 8:], 2, run=4) << 4)
    quants = _fields(blocks[:, 32:96], 2, run=32) | (_fields(blocks[:, :32], 1, run=32) << 2)
    return _scaled(quants - 4, _halves(blocks, 108) * (scales - 32))


def _scales_and_minima(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """float32 [n, 8] each, from the first 16 bytes of Q4_K and Q5_K.

    Two float16, then three rows of 4 bytes: 6 bits of scales 0 to 3, 6 bits of minima 0 to 3, and a row of low
    nibbles (scales 4 to 7) and high nibbles (minima 4 to 7), whose upper bits are on top of the first rows.
    """
    scale, minimum = _halves(blocks, 0, 2).chunk(2, dim=1)
    first, second, third = blocks[:, 4:16].chunk(3, dim=1)
    scales = torch.cat((first & 63, (third & 15) | ((first >> 6) << 4)), dim=1)
    minima = torch.cat((second & 63, (third >> 4) | ((second >> 6) << 4)), dim=1)
    return scale * scales, minimum * minima


def _q4_k(blocks: Tensor) -> Tensor:
    scales, minima = _scales_and_minima(blocks)
    return _scaled(_fields(blocks[:, 16:], 4, run=32), scales, -minima)


def _q5_k(blocks: Tensor) -> Tensor:
    scales, minima = _scales_and_minima(blocks)
    quants = _fields(blocks[:, 48:], 4, run=32) | (_fields(blocks[:, 16:48], 1, run=32) << 4)
    return _scaled(quants, scales, -minima)


def _q6_k(blocks: Tensor) -> Tensor:
    quants = _fields(blocks[:, :128], 4, run=64) | (_fields(blocks[:, 128:192], 2, run=32) << 4)
    scales = blocks[:, 192:208].view(torch.int8)
    return _scaled(quants - 32, _halves(blocks, 208) * scales)


def _iq4_xs(blocks: Tensor) -> Tensor:
    scales = _fields(blocks[:, 4:8], 4, run=1) | (_fields(blocks[:, 2:4], 2, run=1) << 4)
    values = _looked_up(_IQ4_VALUES, _fields(blocks[:, 8:], 4, run=16))
    return _scaled(values, _halves(blocks, 0) * (scales - 32))


_CONVERTERS: Final[dict[str, _Convert]] = {
    "F32": partial(_floats, dtype=torch.float32),
    "F16": partial(_floats, dtype=torch.float16),
    "BF16": partial(_floats, dtype=torch.bfloat16),
    "Q1_0": _q1_0,
    "Q2_0": _q2_0,
    "Q4_0": _q4_0,
    "Q4_1": _q4_1,
    "Q5_0": _q5_0,
    "Q5_1": _q5_1,
    "Q8_0": _q8_0,
    "IQ4_NL": _iq4_nl,
    "MXFP4": _mxfp4,
    "NVFP4": _nvfp4,
    "TQ1_0": _tq1_0,
    "TQ2_0": _tq2_0,
    "Q2_K": _q2_k,
    "Q3_K": _q3_k,
    "Q4_K": _q4_k,
    "Q5_K": _q5_k,
    "Q6_K": _q6_k,
    "IQ4_XS": _iq4_xs,
}
_SIZES: Final = {kind.name: (kind.block, kind.block_bytes) for kind in TENSOR_TYPES.values()}

TYPES: Final[frozenset[str]] = frozenset(_CONVERTERS)
"""All types that hold weights, except those with codebooks. Q8_1 and Q8_K hold activations and are not in files."""
