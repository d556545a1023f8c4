"""`to_float`: tensor data as float32 by the ggml library that llama-cpp-python ships.

Zone: worker process. For the codebook types (IQ1 to IQ3), whose tables live in the library, and the oracle of
`engine.backends.torch_cuda.dequantize` in tests. The first call loads llama.cpp; no model is needed.
Neighbour: `engine.formats.gguf_types` (block sizes; a name never changes its layout, files depend on it).
"""

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engine.backends.base import F32
from engine.errors import UnsupportedByBackend
from engine.formats.gguf_types import TENSOR_TYPES

_Convert = Callable[[int, int, int], None]
"""(address of blocks, address of float32, number of elements)."""

_SIZES: Final = {kind.name: (kind.block, kind.block_bytes) for kind in TENSOR_TYPES.values()}
_FUNCTIONS: Final = {"F16": "ggml_fp16_to_fp32_row", "BF16": "ggml_bf16_to_fp32_row"}
"""Those not called `dequantize_row_*`."""


def to_float(type_name: str, raw: bytes | memoryview | npt.NDArray[Any], num_elements: int) -> F32:
    """Compute the numbers that blocks of one type stand for. Releases the GIL meanwhile.

    Args:
        type_name: as in `TENSOR_TYPES`.
        raw: contiguous bytes of whole blocks.
        num_elements: how many numbers they hold.

    Returns:
        [num_elements] in new memory.

    Raises:
        ValueError: raw is not the bytes of so many elements.
        ValueError, BufferError: raw is not contiguous.
        UnsupportedByBackend: the library cannot convert the type.
    """
    convert = _converter(type_name)
    block, block_bytes = _SIZES[type_name]
    data = np.frombuffer(raw, np.uint8)
    num_blocks, rest = divmod(num_elements, block)
    if rest or data.size != num_blocks * block_bytes:
        raise ValueError(f"{data.size} bytes are not {num_elements} elements of {type_name}")
    out = np.empty(num_elements, np.float32)
    convert(data.ctypes.data, out.ctypes.data, num_elements)
    return out


@cache
def _library() -> ctypes.CDLL:
    """`libggml-base`. On Linux a second copy beside llama.cpp's own; what is called here has no state."""
    import llama_cpp
    from llama_cpp._ctypes_extensions import load_shared_library

    library: ctypes.CDLL = load_shared_library("ggml-base", Path(llama_cpp.__file__).parent / "lib")
    return library


@cache
def _converter(type_name: str) -> _Convert:
    """By symbol, not through `ggml_get_type_traits`: that one reads out of bounds for a number it does not know.

    Raises:
        UnsupportedByBackend: there is none.
    """
    symbol = _FUNCTIONS.get(type_name) or "dequantize_row_" + type_name.lower().replace("_k", "_K")
    if type_name not in _SIZES or not hasattr(_library(), symbol):
        raise UnsupportedByBackend(
            f"This llama.cpp build cannot convert tensors of type “{type_name}”.",
            hint="Choose a file with another quantization.",
        )
    function = getattr(_library(), symbol)
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    function.restype = None
    convert: _Convert = function
    return convert
