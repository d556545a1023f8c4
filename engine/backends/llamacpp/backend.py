"""The CPU backend: one llama.cpp context behind the Backend protocol.

Zone: worker process, owner thread only (libgomp's pool belongs to the thread that decodes).
Explicit where the C defaults would hurt: outputs (0 would reserve hundreds of MB), sliding-window cache
at window size, unified KV, threads. Exceeding batch or output sizes aborts the process, so `decode` checks.
"""

import ctypes
import dataclasses
import hashlib
import time
from typing import Any, Final

import llama_cpp.llama_cpp as lib
import numpy as np
import psutil

from engine.backends.base import (
    F32,
    MOST_DRAFTED,
    TILE,
    TRIAL_DEPTH,
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
from engine.backends.llamacpp.context import ContextSize, GrowingContext
from engine.backends.llamacpp.memory import memory_report
from engine.backends.llamacpp.native import SUPPORTED_VERSION, NativeLog, QuickCalls
from engine.backends.llamacpp.trial import LlamaTrial
from engine.errors import EngineError
from engine.types import KvType

_NO_SPACE: Final = 1
_STATUS = {0: Status.OK, _NO_SPACE: Status.NO_SPACE, 2: Status.ABORTED}
_LEAST_TILED_DEPTH: Final = 256
_LEAST_EXACT_ROWS: Final = 2
"""A single row's attention is divided among the threads by keys, and then summed in another order."""


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
        self._size = size
        self._quick = QuickCalls()
        self._abort_flag = (ctypes.c_char * 2)()
        self._poison = poison_outputs
        self._copies: list[F32] = []
        self._views: dict[int, F32] = {}
        # "not not strlen(flag)": a C function that runs after every graph node without touching Python
        self._strlen = ctypes.cast(ctypes.CDLL(None).strlen, lib.ggml_abort_callback)
        abort = (self._strlen, ctypes.addressof(self._abort_flag))
        try:
            self._context = GrowingContext(model, size, log, threads=threads, abort=abort)
        except EngineError:
            lib.llama_model_free(model)
            raise
        self._scratch = SeqId(size.n_seq_max)
        self._recurrent = bool(
            lib.llama_model_is_recurrent(model) or lib.llama_model_is_hybrid(model)
        )
        self._window = int(lib.llama_model_n_swa(model))
        # rows of padding would take cells that a window still needs, or run through a state
        self._tiles = bool(size.pads_from) and not self._recurrent and not self._window
        vocab = lib.llama_model_get_vocab(model)
        ctx = self._context.pointer
        n_seq_max = int(lib.llama_n_seq_max(ctx)) - 1
        n_cells = max(size.n_ctx, self._context.num_cells)  # rounded up
        self._caps = Capabilities(
            backend="llama.cpp",
            n_vocab=int(lib.llama_vocab_n_tokens(vocab)),
            n_cells=n_cells,
            n_ctx_seq=n_cells,
            n_seq_max=n_seq_max,
            n_batch_max=int(lib.llama_n_batch(ctx)),
            n_outputs_max=n_seq_max + MOST_DRAFTED,
            state_fingerprint=self._fingerprint(),
            exports_ranges=not self._recurrent and not self._window,
            is_exact=size.exact,
            forgets_on_abort=self._recurrent,
        )

    def _fingerprint(self) -> str:
        """Same library, model metadata, sizes and layout. Not yet the tensor data itself."""
        digest = hashlib.sha256(SUPPORTED_VERSION.encode())
        kv_type = self._size.kv_type
        # without flash attention the values lie the other way round
        layout = "v-rows" if self._size.flash_attention is False else ""
        digest.update(f"{kv_type} {kv_type} unified swa-window {layout}".encode())
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
        while code == _NO_SPACE and self._context.grow():
            self._views.clear()
            code = self._decode(batch)
        seconds = time.perf_counter() - started
        status = _STATUS.get(code, Status.FAILED)
        if status is Status.ABORTED:
            self._clear_abort()
        if status is not Status.OK:
            if self._recurrent and status is not Status.NO_SPACE:
                # a state that was half computed cannot be taken back, though llama.cpp says so
                for seq in np.unique(batch.seq[: batch.n]).tolist():
                    self.seq_clear(SeqId(seq))
            return DecodeResult(status, None, seconds)
        indices = rows.tolist()
        return DecodeResult(
            status, HostOutputs(len(indices), lambda row: self._row(indices[row])), seconds
        )

    def _decode(self, batch: LlamaBatch) -> int:
        n, wanted = batch.n, self._padded(batch)
        if wanted > n:
            batch.pad(wanted, self._scratch)
            code = int(lib.llama_decode(self._context.pointer, batch.struct))
            self.seq_clear(self._scratch)
            batch.n = n
            if self._size.exact or code != _NO_SPACE:
                return code
        return int(lib.llama_decode(self._context.pointer, batch.struct))

    def _padded(self, batch: LlamaBatch) -> int:
        """Rows that a step is computed with."""
        n = batch.n
        if self._size.exact:
            return max(n, _LEAST_EXACT_ROWS)
        if self._tiles and self._size.pads_from <= n < TILE <= self._caps.n_batch_max:
            # at the beginning of a text, attention costs little, and each row its matrices
            return TILE if batch.pos[:n].max() >= _LEAST_TILED_DEPTH else n
        return n

    def _row(self, index: int) -> F32:
        address = self._quick.get_logits_ith(self._context.pointer, index)
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

    def _clear_abort(self) -> None:
        self._abort_flag[0] = b"\0"

    def request_abort(self) -> None:
        """See Backend."""
        self._abort_flag[0] = b"\x01"

    def seq_len(self, seq: SeqId) -> int:
        """See Backend."""
        return int(self._quick.seq_pos_max(self._context.memory, seq)) + 1

    def seq_span(self, seq: SeqId) -> tuple[int, int]:
        """See Backend."""
        return max(0, int(self._quick.seq_pos_min(self._context.memory, seq))), self.seq_len(seq)

    def seq_clear(self, seq: SeqId) -> None:
        """See Backend."""
        lib.llama_memory_seq_rm(self._context.memory, seq, -1, -1)

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
            and lib.llama_memory_seq_rm(self._context.memory, seq, n, -1)
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
        lib.llama_memory_seq_cp(
            self._context.memory, src, dst, *((-1, -1) if n == held else (0, n))
        )
        return self.seq_len(dst)

    def export_state(self, seq: SeqId, start: int = 0, end: int | None = None) -> State:
        """See Backend. A range is shown to llama.cpp as a sequence of its own, which shares the cells."""
        if not start and end is None:
            return self._export(seq)
        self._check_range(start)
        last = -1 if end is None else end
        lib.llama_memory_seq_cp(self._context.memory, seq, self._scratch, start, last)
        state = self._export(self._scratch)
        self.seq_clear(self._scratch)
        return state

    def _export(self, seq: SeqId) -> State:
        size = lib.llama_state_seq_get_size(self._context.pointer, seq)
        state = bytearray(size)
        buffer = (ctypes.c_uint8 * size).from_buffer(state)
        written = lib.llama_state_seq_get_data(self._context.pointer, buffer, size, seq)
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
            lib.llama_memory_seq_cp(self._context.memory, self._scratch, seq, -1, -1)
        else:
            self.seq_clear(seq)
        self.seq_clear(self._scratch)
        return self.seq_len(seq)

    def _import(self, seq: SeqId, state: State) -> bool:
        raw = np.frombuffer(state, np.uint8)  # no copy, whatever it lies in
        if not len(raw):
            return False
        pointer = raw.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
        while not lib.llama_state_seq_set_data(self._context.pointer, pointer, len(raw), seq):
            if not self._context.grow():  # it does not say whether room is all that is missing
                return False
        return True

    def _begins_at(self, seq: SeqId, start: int) -> bool:
        return int(self._quick.seq_pos_min(self._context.memory, seq)) == start

    def _check_range(self, start: int) -> None:
        if not self._caps.exports_ranges:
            raise ValueError(f"state from token {start} of a model that is exported as a whole")

    def set_threads(self, decode: int, prefill: int) -> None:
        """See Backend."""
        self._context.set_threads(decode, prefill)

    def attention_trial(self, flash: bool, kv_type: KvType) -> LlamaTrial | None:
        """See Backend."""
        report = self.memory_report()
        wanted = 2 * (report.kv_cache + report.compute)
        if self._size.exact or self._recurrent or psutil.virtual_memory().available < wanted:
            return None
        size = dataclasses.replace(self._size, n_ctx=TRIAL_DEPTH + self._size.n_batch)
        return LlamaTrial.open(
            self._model,
            size,
            (flash, kv_type),
            threads=self._context.threads,
            abort=self._context.abort,
            stopped=self._clear_abort,
        )

    def memory_report(self) -> MemoryReport:
        """See Backend."""
        return memory_report(int(lib.llama_model_size(self._model)), self._context.buffers)

    def close(self) -> None:
        """See Backend."""
        if self._context.pointer:
            self._context.close()
            lib.llama_model_free(self._model)
