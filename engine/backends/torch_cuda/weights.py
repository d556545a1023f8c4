"""The model's tensors on the device, dequantized while they are loaded.

Zone: worker process, owner thread. One tensor at a time: the peak is the model and one tensor more. Neighbours:
`dequantize` (types with a formula), `engine.backends.ggml` (types with a codebook), `decoder`.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from engine.backends import ggml
from engine.backends.torch_cuda.dequantize import TYPES, dequantize
from engine.formats.gguf_header import GgufHeader, TensorInfo


class Weights:
    """Tensors by their names in the file, as [rows, columns]."""

    def __init__(self, tensors: dict[str, torch.Tensor], device: torch.device) -> None:
        self._tensors = tensors
        self.device = device

    def __getitem__(self, name: str) -> torch.Tensor:
        return self._tensors[name]

    def get(self, name: str) -> torch.Tensor | None:
        """A tensor that not every model has."""
        return self._tensors.get(name)

    @property
    def num_bytes(self) -> int:
        """On the device."""
        return sum(t.numel() * t.element_size() for t in self._tensors.values())


def load_weights(
    path: Path,
    header: GgufHeader,
    *,
    dtype: torch.dtype,
    device: torch.device,
    progress: Callable[[float], None],
) -> Weights:
    """Read all tensors of a file.

    Args:
        path: the file.
        header: read from it.
        dtype: of matrices; vectors (norms, biases) too.
        device: where they go.
        progress: told 0 … 1.

    Raises:
        torch.OutOfMemoryError: they do not fit.
    """
    data = np.memmap(path, np.uint8, mode="r")
    done, whole = 0, max(1, header.tensor_bytes)
    tensors = {}
    for info in header.tensors:
        first = header.data_offset + info.offset
        raw = data[first : first + (info.num_bytes or 0)]
        exact = info.name == "rope_freqs.weight"  # divides angles of thousands of radians
        tensors[info.name] = _values(info, raw, device).to(torch.float32 if exact else dtype)
        done += info.num_bytes or 0
        progress(done / whole)
    return Weights(tensors, device)


def _values(info: TensorInfo, raw: np.ndarray, device: torch.device) -> torch.Tensor:
    shape = tuple(reversed(info.shape))
    if info.type in TYPES:
        blocks = torch.from_numpy(np.array(raw)).to(device)  # a copy: the file is read-only memory
        return dequantize(info.type, blocks).view(shape)
    values = ggml.to_float(info.type, raw, int(np.prod(shape)))
    return torch.from_numpy(values).to(device).view(shape)
