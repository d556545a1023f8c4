"""`llama_batch` over NumPy arrays: rows are written by slices, no call per token."""

import ctypes

import llama_cpp.llama_cpp as lib
import numpy as np

from engine.backends.base import I8, I32, TILE


class LlamaBatch:
    """One sequence per row. The arrays live as long as the batch: the C struct points into them."""

    def __init__(self, usable: int) -> None:
        """Make room for `usable` rows and padding behind them."""
        self.capacity = usable
        capacity = usable + TILE
        self.token: I32 = np.zeros(capacity, np.int32)
        self.pos: I32 = np.zeros(capacity, np.int32)
        self.seq: I32 = np.zeros(capacity, np.int32)
        self.out: I8 = np.zeros(capacity, np.int8)
        self._num_seq = np.ones(capacity, np.int32)
        stride = np.arange(capacity, dtype=np.uint64) * np.uint64(self.seq.itemsize)
        self._seq_pointers = np.uint64(self.seq.ctypes.data) + stride
        int_p = ctypes.POINTER(ctypes.c_int32)
        self.struct = lib.llama_batch(
            0,
            ctypes.cast(self.token.ctypes.data, int_p),
            None,
            ctypes.cast(self.pos.ctypes.data, int_p),
            ctypes.cast(self._num_seq.ctypes.data, int_p),
            ctypes.cast(self._seq_pointers.ctypes.data, ctypes.POINTER(int_p)),
            ctypes.cast(self.out.ctypes.data, ctypes.POINTER(ctypes.c_int8)),
        )

    @property
    def n(self) -> int:
        """Rows in use."""
        return int(self.struct.n_tokens)

    @n.setter
    def n(self, rows: int) -> None:
        if not 0 <= rows <= self.capacity:
            raise ValueError(f"{rows} rows in a batch of {self.capacity}")
        self.struct.n_tokens = rows

    def pad(self, rows: int, seq: int) -> None:
        """Put rows without output behind the others, up to so many: the beginning of a sequence that nobody uses."""
        n = self.n
        self.token[n:rows], self.seq[n:rows], self.out[n:rows] = self.token[0], seq, 0
        self.pos[n:rows] = range(rows - n)
        self.struct.n_tokens = rows
