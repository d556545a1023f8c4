"""The KV cache: keys and values of all layers in pages on the device.

Zone: worker process, owner thread. Neighbours: `pages` (who holds what), `attention` (reads), `backend`.
"""

import struct
from typing import Final

import torch

from engine.backends.base import State
from engine.backends.torch_cuda.pages import PAGE, Pages

_STATE: Final = struct.Struct("<8sIIIIQ")
_MAGIC: Final = b"INGLKV01"


class KvCache:
    """Keys and values [n_layer, n_cells, n_head_kv, head_dim] each, and the block tables."""

    def __init__(
        self,
        *,
        n_layer: int,
        n_head_kv: int,
        head_dim: int,
        n_cells: int,
        n_seq_max: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        """Allocate the pool; `n_cells` is rounded up to whole pages.

        Raises:
            torch.OutOfMemoryError: it does not fit.
        """
        num_pages = -(-n_cells // PAGE)
        self.n_cells = num_pages * PAGE
        shape = (n_layer, self.n_cells, n_head_kv, head_dim)
        # Zeros: what is masked is multiplied by 0, which must not meet a NaN.
        self.keys = torch.zeros(shape, dtype=dtype, device=device)
        self.values = torch.zeros(shape, dtype=dtype, device=device)
        self.pages = Pages(num_pages, n_seq_max)

    @property
    def num_bytes(self) -> int:
        """Of keys and values."""
        return 2 * self.keys.numel() * self.keys.element_size()

    def extend(self, wanted: dict[int, int]) -> bool:
        """Make room for more tokens of each sequence; false: no space, nothing has changed."""
        copies = self.pages.extend(wanted)
        if copies is None:
            return False
        for source, target in copies:
            old = slice(source * PAGE, (source + 1) * PAGE)
            new = slice(target * PAGE, (target + 1) * PAGE)
            self.keys[:, new] = self.keys[:, old]
            self.values[:, new] = self.values[:, old]
        return True

    def export(self, seq: int, start: int = 0, end: int | None = None) -> bytes:
        """Keys and values of a sequence's tokens [start, end), with their sizes in front."""
        end = self.pages.length(seq) if end is None else end
        length = end - start
        cells = self._index(seq, start, end)
        parts = [t[:, cells].contiguous().view(torch.uint8).cpu() for t in self._tensors]
        data = b"".join(part.numpy().tobytes() for part in parts)
        return self._head(length, len(data)) + data

    def load(self, seq: int, state: State) -> int:
        """Append an `export` to a sequence; returns the tokens added, 0 where it is not ours or no room is left."""
        if len(state) < _STATE.size:
            return 0
        length = int(_STATE.unpack_from(state)[1])
        if state[: _STATE.size] != self._head(length, len(state) - _STATE.size):
            return 0
        if not self.pages_fit(length, len(state) - _STATE.size) or not self.extend({seq: length}):
            return 0
        end = self.pages.length(seq)
        cells = self._index(seq, end - length, end)
        raw = torch.frombuffer(bytearray(state), dtype=torch.uint8, offset=_STATE.size)
        for tensor, part in zip(self._tensors, raw.view(self.keys.dtype).chunk(2), strict=True):
            shape = (tensor.shape[0], length, *tensor.shape[2:])
            tensor[:, cells] = part.view(shape).to(tensor.device)
        return length

    def pages_fit(self, length: int, num_bytes: int) -> bool:
        """Is `num_bytes` what `length` tokens take?"""
        per_token = self.num_bytes // self.n_cells
        return 0 < length <= self.n_cells and num_bytes == length * per_token

    @property
    def _tensors(self) -> tuple[torch.Tensor, torch.Tensor]:
        return self.keys, self.values

    def _head(self, length: int, num_bytes: int) -> bytes:
        n_layer, _, n_head_kv, head_dim = self.keys.shape
        return _STATE.pack(_MAGIC, length, n_layer, n_head_kv, head_dim, num_bytes)

    def _index(self, seq: int, start: int, end: int) -> torch.Tensor:
        cells = self.pages.cells(seq, start, end)
        return torch.tensor(cells, dtype=torch.long, device=self.keys.device)  # also of none
