"""A small context beside the model's own, to time a way of computing attention.

Zone: worker process, owner thread, in spare time. Deep without reading thousands of tokens: what attention costs depends on
how many cells belong to the sequence, not on what is in them, so a short prompt's cells are copied until there are enough.
"""

import ctypes
import dataclasses
import time
from collections.abc import Callable
from typing import Any, Self

import llama_cpp.llama_cpp as lib

from engine.backends.llamacpp.batch import LlamaBatch
from engine.backends.llamacpp.context import ContextSize
from engine.types import KvType

_SEQ, _COPY = 0, 1
_ABORTED = 2


class LlamaTrial:
    """See `engine.backends.base.AttentionTrial`."""

    def __init__(self, pointer: Any, n_batch: int, stopped: Callable[[], None]) -> None:
        """Take over a context.

        Args:
            pointer: freed by `close`.
            n_batch: most rows of a step.
            stopped: told that a request to stop was followed.
        """
        self._pointer = pointer
        self._stopped = stopped
        self._memory = lib.llama_get_memory(pointer)
        self._batch = LlamaBatch(n_batch)

    @classmethod
    def open(
        cls,
        model: Any,
        size: ContextSize,
        way: tuple[bool, KvType],
        *,
        threads: tuple[int, int],
        abort: Any,
        stopped: Callable[[], None],
    ) -> Self | None:
        """Make the context; None where llama.cpp refuses.

        Args:
            model: llama.cpp's pointer.
            size: n_ctx is what the trial holds, one step included.
            way: flash attention or not, type of the cache.
            threads: for decode and for prefill.
            abort: see `GrowingContext`.
            stopped: told that a request to stop was followed.
        """
        flash, kv_type = way
        size = dataclasses.replace(size, n_seq_max=2, flash_attention=flash, kv_type=kv_type)
        pointer = lib.llama_init_from_model(model, size.params(size.n_ctx, threads, abort))
        return cls(pointer, size.n_batch, stopped) if pointer else None

    def fill(self, rows: int, depth: int) -> bool:
        """See AttentionTrial."""
        lib.llama_memory_clear(self._memory, True)
        if not self._decode(rows):
            return False
        size = lib.llama_state_seq_get_size(self._pointer, _SEQ)
        state = (ctypes.c_uint8 * size)()
        if lib.llama_state_seq_get_data(self._pointer, state, size, _SEQ) != size:
            return False
        for _ in range(depth // rows - 1):
            if not lib.llama_state_seq_set_data(self._pointer, state, size, _COPY):
                return False
            lib.llama_memory_seq_cp(self._memory, _COPY, _SEQ, -1, -1)
            lib.llama_memory_seq_rm(self._memory, _COPY, -1, -1)
        return True

    def step(self, rows: int) -> float | None:
        """See AttentionTrial."""
        end = self._end()
        started = time.perf_counter()
        computed = self._decode(rows)
        seconds = time.perf_counter() - started
        lib.llama_memory_seq_rm(self._memory, _SEQ, end, -1)
        return seconds if computed else None

    def _end(self) -> int:
        return int(lib.llama_memory_seq_pos_max(self._memory, _SEQ)) + 1

    def _decode(self, rows: int) -> bool:
        batch, start = self._batch, self._end()
        batch.token[:rows] = range(rows)
        batch.pos[:rows] = range(start, start + rows)
        batch.seq[:rows] = _SEQ
        batch.out[:rows] = 0
        batch.out[rows - 1] = 1
        batch.n = rows
        code = int(lib.llama_decode(self._pointer, batch.struct))
        if code == _ABORTED:
            self._stopped()
        return code == 0

    def close(self) -> None:
        """See AttentionTrial."""
        if self._pointer:
            lib.llama_free(self._pointer)
            self._pointer = None
