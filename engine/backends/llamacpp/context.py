"""llama.cpp's context, which starts small and grows when its cells are used up.

Zone: worker process, owner thread. A context has a fixed number of cells, all of it allocated and touched at once: 1 GB for an 8B
model at 8k, most of which a short chat never uses. Growing is exporting everything, making a larger context and importing it
(135M, 1,500 tokens: 0.1 s; cells that sequences share stay shared).
"""

import ctypes
import logging
import re
from dataclasses import dataclass
from typing import Any, Final

import llama_cpp.llama_cpp as lib

from engine.backends.base import MOST_DRAFTED
from engine.backends.llamacpp.loading import explain_failure
from engine.backends.llamacpp.native import NativeLog
from engine.errors import UnsupportedByBackend
from engine.types import KvType

logger = logging.getLogger(__name__)

FIRST_CELLS: Final = 2048
"""Tokens that a new context holds."""
EXACT_ROWS: Final = 32
"""Most rows of a step in exact mode: from 64 on, flash attention goes another way through the keys."""
_FLASH_ATTENTION = {None: -1, False: 0, True: 1}
_NO_SUCH_CACHE = re.compile(r"cache type .* does not divide|requires flash_attn")
_TYPES = {"f16": lib.GGML_TYPE_F16, "q8_0": lib.GGML_TYPE_Q8_0}


@dataclass(frozen=True, slots=True)
class ContextSize:
    """What a context is made for."""

    n_ctx: int
    """Cells that it may grow to."""
    n_seq_max: int
    n_batch: int = 512
    """Also the ubatch: a step is one graph execution, so an aborted step leaves nothing half done."""
    exact: bool = False
    """Steps of 2 to 32 rows with flash attention: a row's logits are then the same in every batch. Measured bit for
    bit with Q4_0, Q4_1 and Q8_0 weights; the caller knows the types."""
    flash_attention: bool | None = None
    """None: as llama.cpp decides. With a cache of 8 bits there is no other way."""
    kv_type: KvType = "f16"
    pads_from: int = 0
    """Steps of at least so many rows, and fewer than `TILE`, get more, as flash attention is then faster; 0: none do."""

    def params(self, cells: int, threads: tuple[int, int], abort: Any) -> Any:
        """llama.cpp's parameters of a context with so many cells; see `GrowingContext` for the others."""
        params = lib.llama_context_default_params()
        params.n_ctx = cells
        params.n_batch = params.n_ubatch = EXACT_ROWS if self.exact else self.n_batch
        params.n_seq_max = self.n_seq_max + 1  # one for padding, and for ranges of states
        params.n_outputs_max = self.n_seq_max + MOST_DRAFTED
        params.n_threads, params.n_threads_batch = threads
        needs_flash = self.exact or self.kv_type != "f16"
        params.flash_attn_type = _FLASH_ATTENTION[needs_flash or self.flash_attention]
        params.type_k = params.type_v = _TYPES[self.kv_type]
        params.swa_full = False
        params.kv_unified = True
        params.no_perf = True
        params.abort_callback, params.abort_callback_data = abort
        return params


class GrowingContext:
    """Owns the context; `pointer` and `memory` change when it grows."""

    def __init__(
        self, model: Any, size: ContextSize, log: NativeLog, *, threads: tuple[int, int], abort: Any
    ) -> None:
        """Make a context of a part of the size.

        Args:
            model: llama.cpp's model pointer.
            size: capacities; the library may round them up.
            log: tells why when the context cannot be made.
            threads: for decode and for prefill.
            abort: (callback, address of its data): true ends the running decode.

        Raises:
            OutOfMemory: its memory is not there.
        """
        self._model = model
        self._size = size
        self._log = log
        self.threads = threads
        self.abort = abort
        self.most_cells = size.n_ctx
        self.buffers: list[str] = []
        """What the log said of the present context's memory."""
        self.pointer = self._make(min(size.n_ctx, FIRST_CELLS))
        if not self.pointer:
            if _NO_SUCH_CACHE.search("\n".join(log.lines)):
                raise UnsupportedByBackend(
                    f"This model's KV cache cannot be {size.kv_type}.", hint="Choose f16."
                )
            raise explain_failure(b"the model", [*log.lines, "out of memory"])
        self.memory = lib.llama_get_memory(self.pointer)

    @property
    def num_cells(self) -> int:
        """Of the present context."""
        return int(lib.llama_n_ctx(self.pointer))

    def set_threads(self, decode: int, prefill: int) -> None:
        """For decode and for prefill."""
        self.threads = (decode, prefill)
        lib.llama_set_n_threads(self.pointer, decode, prefill)

    def grow(self) -> bool:
        """Double the cells, with all that is in them. Outputs of the last decode are gone.

        Returns:
            False at the limit, or where there is no memory for more; then nothing has changed.
        """
        before = self.num_cells
        wanted = min(self.most_cells, 2 * before)
        if wanted <= before:
            return False
        size = lib.llama_state_get_size(self.pointer)
        state = (ctypes.c_uint8 * size)()
        lib.llama_state_get_data(self.pointer, state, size)
        lib.llama_free(self.pointer)
        self.pointer = self._make(wanted)
        if not self.pointer:
            logger.warning("no memory for a context of %d tokens", wanted)
            self.most_cells = before
            self.pointer = self._make(before)
            if not self.pointer:
                raise explain_failure(b"the model", [*self._log.lines, "out of memory"])
        self.memory = lib.llama_get_memory(self.pointer)
        lib.llama_state_set_data(self.pointer, state, size)
        return self.num_cells > before

    def close(self) -> None:
        """Free it. Idempotent."""
        if self.pointer:
            lib.llama_free(self.pointer)
            self.pointer = None

    def _make(self, n_ctx: int) -> Any:
        params = self._size.params(n_ctx, self.threads, self.abort)
        self._log.clear()
        pointer = lib.llama_init_from_model(self._model, params)
        self.buffers = (
            self._log.lines or self.buffers
        )  # another model's log may be the one that listens
        return pointer
