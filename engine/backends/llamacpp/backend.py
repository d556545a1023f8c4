"""The CPU backend: one llama.cpp context behind the Backend protocol.

Zone: worker process, owner thread only (libgomp's pool belongs to the thread that decodes).
Explicit where the C defaults would hurt: outputs (0 would reserve hundreds of MB), sliding-window cache
at window size, unified KV, threads. Exceeding batch or output sizes aborts the process, so `decode` checks.
"""

import ctypes
import hashlib
import time
from dataclasses import dataclass
from typing import Any, Final

import llama_cpp.llama_cpp as lib
import numpy as np

from engine.backends.base import (
    F32,
    MOST_DRAFTED,
    Batch,
    Capabilities,
    DecodeResult,
    MemoryReport,
    SeqId,
    State,
    Status,
)
from engine.backends.host_logits import HostOutputs
from engine.backends.llamacpp.batch import LlamaBatch
from engine.backends.llamacpp.loading import explain_failure
from engine.backends.llamacpp.memory import memory_report
from engine.backends.llamacpp.native import SUPPORTED_VERSION, NativeLog, QuickCalls

_STATUS = {0: Status.OK, 1: Status.NO_SPACE, 2: Status.ABORTED}
_FLASH_ATTENTION_AUTO, _FLASH_ATTENTION_ON = -1, 1
EXACT_ROWS: Final = 32
"""Most rows of a step in exact mode: from 64 on, flash attention goes another way through the keys."""
_LEAST_EXACT_ROWS: Final = 2
"""A single row's attention is divided among the threads by keys, and then summed in another order."""


@dataclass(frozen=True, slots=True)
class ContextSize:
    """What a context is made for."""

    n_ctx: int
    n_seq_max: int
    n_batch: int = 512
    """Also the ubatch: a step is one graph execution, so an aborted step leaves nothing half done."""
    exact: bool = False
    """Steps of 2 to 32 rows with flash attention: a row's logits are then the same in every batch. Measured bit for
    bit with Q4_0, Q4_1 and Q8_0 weights; the caller knows the types."""


class LlamaBackend:
    """Owns the model and the context given to it."""

    def __init__(
        self,
        model: Any,
        size: ContextSize,
        log: NativeLog,
        *,
        threads: tuple[int, int],
        poison_outputs: bool = False,
    ) -> None:
        """Make the context.

        Args:
            model: llama.cpp's model pointer; freed by `close`.
            size: capacities; the library may round them up.
            log: tells why when the context cannot be made.
            threads: for decode and for prefill.
            poison_outputs: tests: logits are copies that turn to NaN at the next decode.

        Raises:
            OutOfMemory: the KV cache does not fit.
        """
        self._model = model
        self._quick = QuickCalls()
        self._abort_flag = (ctypes.c_char * 2)()
        self._poison = poison_outputs
        self._copies: list[F32] = []
        self._views: dict[int, F32] = {}
        # "not not strlen(flag)": a C function that runs after every graph node without touching Python
        self._strlen = ctypes.cast(ctypes.CDLL(None).strlen, lib.ggml_abort_callback)
        log.clear()
        self._ctx = lib.llama_init_from_model(model, self._params(size, threads))
        if not self._ctx:
            lib.llama_model_free(model)
            raise explain_failure(b"the model", [*log.lines, "out of memory"])
        self._log = log
        self._memory = lib.llama_get_memory(self._ctx)
        self._scratch = SeqId(size.n_seq_max)
        self._pads = size.exact
        self._recurrent = bool(
            lib.llama_model_is_recurrent(model) or lib.llama_model_is_hybrid(model)
        )
        self._window = int(lib.llama_model_n_swa(model))
        self._buffers = log.lines
        vocab = lib.llama_model_get_vocab(model)
        n_seq_max = int(lib.llama_n_seq_max(self._ctx)) - 1
        self._caps = Capabilities(
            backend="llama.cpp",
            n_vocab=int(lib.llama_vocab_n_tokens(vocab)),
            n_cells=int(lib.llama_n_ctx(self._ctx)),
            n_ctx_seq=int(lib.llama_n_ctx_seq(self._ctx)),
            n_seq_max=n_seq_max,
            n_batch_max=int(lib.llama_n_batch(self._ctx)),
            n_outputs_max=n_seq_max + MOST_DRAFTED,
            state_fingerprint=self._fingerprint(),
            exports_ranges=not self._recurrent and not self._window,
            is_exact=size.exact,
        )

    def _params(self, size: ContextSize, threads: tuple[int, int]) -> Any:
        params = lib.llama_context_default_params()
        params.n_ctx = size.n_ctx
        params.n_batch = params.n_ubatch = EXACT_ROWS if size.exact else size.n_batch
        params.n_seq_max = size.n_seq_max + 1  # `_scratch`: padding, and ranges of states
        params.n_outputs_max = size.n_seq_max + MOST_DRAFTED
        params.n_threads, params.n_threads_batch = threads
        params.flash_attn_type = _FLASH_ATTENTION_ON if size.exact else _FLASH_ATTENTION_AUTO
        params.swa_full = False
        params.kv_unified = True
        params.no_perf = True
        params.abort_callback = self._strlen
        params.abort_callback_data = ctypes.addressof(self._abort_flag)
        return params

    def _fingerprint(self) -> str:
        """Same library, model metadata, sizes and layout. Not yet the tensor data itself."""
        digest = hashlib.sha256(SUPPORTED_VERSION.encode())
        digest.update(b"f16 f16 unified swa-window")
        digest.update(str(lib.llama_model_size(self._model)).encode())
        buffer = ctypes.create_string_buffer(1 << 16)
        for i in range(lib.llama_model_meta_count(self._model)):
            for read in (lib.llama_model_meta_key_by_index, lib.llama_model_meta_val_str_by_index):
                read(self._model, i, buffer, len(buffer))
                digest.update(buffer.value + b"\0")
        return digest.hexdigest()

    @property
    def caps(self) -> Capabilities:
        """See Backend."""
        return self._caps

    def new_batch(self, capacity: int) -> Batch:
        """See Backend."""
        if capacity > self._caps.n_batch_max:
            raise ValueError(f"batch of {capacity} rows, at most {self._caps.n_batch_max}")
        return LlamaBatch(capacity)

    def decode(self, batch: Batch) -> DecodeResult:
        """See Backend."""
        if not isinstance(batch, LlamaBatch):
            raise TypeError("a batch of another backend")
        rows = np.flatnonzero(batch.out[: batch.n])
        if batch.n == 0 or len(rows) > self._caps.n_outputs_max:
            raise ValueError(f"{batch.n} rows with {len(rows)} outputs")
        for copy in self._copies:
            copy.fill(np.nan)
        self._copies.clear()
        started = time.perf_counter()
        code = self._decode(batch)
        seconds = time.perf_counter() - started
        status = _STATUS.get(code, Status.FAILED)
        if status is Status.ABORTED:
            self._abort_flag[0] = b"\0"
        if status is not Status.OK:
            return DecodeResult(status, None, seconds)
        indices = rows.tolist()
        return DecodeResult(
            status, HostOutputs(len(indices), lambda row: self._row(indices[row])), seconds
        )

    def _decode(self, batch: LlamaBatch) -> int:
        if not self._pads or batch.n >= _LEAST_EXACT_ROWS:
            return int(lib.llama_decode(self._ctx, batch.struct))
        n = batch.n
        batch.pad(self._scratch)
        code = int(lib.llama_decode(self._ctx, batch.struct))
        self.seq_clear(self._scratch)
        batch.n = n
        return code

    def _row(self, index: int) -> F32:
        address = self._quick.get_logits_ith(self._ctx, index)
        view = self._views.get(address)
        if view is None:
            if len(self._views) > 2 * self._caps.n_outputs_max:
                self._views.clear()  # the library moved its buffer
            array = (ctypes.c_float * self._caps.n_vocab).from_address(address)
            view = self._views[address] = np.ctypeslib.as_array(array)
        if self._poison:
            view = view.copy()
            self._copies.append(view)
        return view

    def request_abort(self) -> None:
        """See Backend."""
        self._abort_flag[0] = b"\x01"

    def seq_len(self, seq: SeqId) -> int:
        """See Backend."""
        return int(self._quick.seq_pos_max(self._memory, seq)) + 1

    def seq_span(self, seq: SeqId) -> tuple[int, int]:
        """See Backend."""
        return max(0, int(self._quick.seq_pos_min(self._memory, seq))), self.seq_len(seq)

    def seq_clear(self, seq: SeqId) -> None:
        """See Backend."""
        lib.llama_memory_seq_rm(self._memory, seq, -1, -1)

    def _window_holds(self, seq: SeqId, n: int) -> bool:
        """Are the cells still there that position n would attend to?

        llama.cpp says yes to a truncation behind the window and would then attend to nothing.
        """
        return self._window == 0 or self.seq_span(seq)[0] <= max(0, n - self._window)

    def seq_truncate(self, seq: SeqId, n: int) -> int:
        """See Backend."""
        held = self.seq_len(seq)
        if n >= held:
            return held
        removed = (
            n > 0
            and self._window_holds(seq, n)
            and lib.llama_memory_seq_rm(self._memory, seq, n, -1)
        )
        if not removed:
            self.seq_clear(seq)
        return self.seq_len(seq)

    def seq_fork(self, src: SeqId, dst: SeqId, n: int) -> int:
        """See Backend."""
        if src == dst:
            raise ValueError("fork of a sequence onto itself")
        self.seq_clear(dst)
        held = self.seq_len(src)
        n = min(n, held)
        # a recurrent state is one point in time: it can be shared there and nowhere before
        if n <= 0 or (self._recurrent and n != held) or not self._window_holds(src, n):
            return 0
        lib.llama_memory_seq_cp(self._memory, src, dst, *((-1, -1) if n == held else (0, n)))
        return self.seq_len(dst)

    def export_state(self, seq: SeqId, start: int = 0) -> State:
        """See Backend. A range is shown to llama.cpp as a sequence of its own, which shares the cells."""
        if not start:
            return self._export(seq)
        self._check_range(start)
        lib.llama_memory_seq_cp(self._memory, seq, self._scratch, start, -1)
        state = self._export(self._scratch)
        self.seq_clear(self._scratch)
        return state

    def _export(self, seq: SeqId) -> State:
        size = lib.llama_state_seq_get_size(self._ctx, seq)
        state = bytearray(size)
        buffer = (ctypes.c_uint8 * size).from_buffer(state)
        written = lib.llama_state_seq_get_data(self._ctx, buffer, size, seq)
        return state if written == size else state[:written]

    def import_state(self, seq: SeqId, state: State, start: int = 0) -> int:
        """See Backend."""
        if not start:
            self.seq_clear(seq)
            if not self._import(seq, state):
                self.seq_clear(seq)
            return self.seq_len(seq)
        self._check_range(start)
        if self._import(self._scratch, state) and self._begins_at(self._scratch, start):
            lib.llama_memory_seq_cp(self._memory, self._scratch, seq, -1, -1)
        else:
            self.seq_clear(seq)
        self.seq_clear(self._scratch)
        return self.seq_len(seq)

    def _import(self, seq: SeqId, state: State) -> bool:
        raw = np.frombuffer(state, np.uint8)  # no copy, whatever it lies in
        pointer = raw.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
        return bool(len(raw) and lib.llama_state_seq_set_data(self._ctx, pointer, len(raw), seq))

    def _begins_at(self, seq: SeqId, start: int) -> bool:
        return int(self._quick.seq_pos_min(self._memory, seq)) == start

    def _check_range(self, start: int) -> None:
        if not self._caps.exports_ranges:
            raise ValueError(f"state from token {start} of a model that is exported as a whole")

    def set_threads(self, decode: int, prefill: int) -> None:
        """See Backend."""
        lib.llama_set_n_threads(self._ctx, decode, prefill)

    def memory_report(self) -> MemoryReport:
        """See Backend."""
        return memory_report(int(lib.llama_model_size(self._model)), self._buffers)

    def close(self) -> None:
        """See Backend."""
        if self._ctx:
            lib.llama_free(self._ctx)
            lib.llama_model_free(self._model)
            self._ctx = None
