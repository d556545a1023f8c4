"""Our own decoder behind the Backend protocol: paged KV cache, rows in blocks of one shape.

Zone: worker process, owner thread only. Runs on a CUDA device in bfloat16, or as the reference on the CPU in float32.
Neighbours: `decoder` (the network), `kv_cache`, `opener`.
"""

import itertools
import logging
import threading
import time
from collections.abc import Iterator

import numpy as np
import torch

from engine.backends.base import (
    Batch,
    Capabilities,
    DecodeResult,
    MemoryReport,
    Outputs,
    SeqId,
    State,
    Status,
)
from engine.backends.host_logits import HostOutputs
from engine.backends.plain_batch import PlainBatch
from engine.backends.torch_cuda.attention import ROWS, make_group
from engine.backends.torch_cuda.decoder import Aborted, Decoder
from engine.backends.torch_cuda.kv_cache import KvCache
from engine.backends.torch_cuda.outputs import DeviceOutputs
from engine.backends.torch_cuda.weights import Weights
from engine.formats.decoder_spec import DecoderSpec
from engine.types import KvType

logger = logging.getLogger(__name__)

N_BATCH = 512


class TorchBackend:
    """Owns weights and cache."""

    def __init__(
        self, spec: DecoderSpec, weights: Weights, kv: KvCache, *, n_seq_max: int, fingerprint: str
    ) -> None:
        self._spec = spec
        self._weights = weights
        self._kv = kv
        self._decoder = Decoder(spec, weights)
        self._abort = threading.Event()
        self._is_closed = False
        self._caps = Capabilities(
            backend=f"torch-{weights.device.type}",
            n_vocab=spec.n_vocab,
            n_cells=kv.n_cells,
            n_ctx_seq=kv.n_cells,
            n_seq_max=n_seq_max,
            n_batch_max=N_BATCH,
            n_outputs_max=N_BATCH,
            state_fingerprint=fingerprint,
            exports_ranges=True,
            is_exact=True,
        )

    @property
    def caps(self) -> Capabilities:
        """See Backend."""
        return self._caps

    def new_batch(self, capacity: int) -> Batch:
        """See Backend."""
        if capacity > self._caps.n_batch_max:
            raise ValueError(f"batch of {capacity} rows, at most {self._caps.n_batch_max}")
        return PlainBatch(capacity)

    @torch.inference_mode()
    def decode(self, batch: Batch) -> DecodeResult:
        """See Backend."""
        started = time.perf_counter()
        wanted = self._checked(batch)
        before = {seq: self._kv.pages.length(seq) for seq in wanted}
        if not self._kv.extend(wanted):
            return DecodeResult(Status.NO_SPACE, None, time.perf_counter() - started)
        outputs, status = None, Status.FAILED
        try:
            outputs, status = self._compute(batch), Status.OK
        except Aborted:
            self._abort.clear()
            status = Status.ABORTED
        except torch.OutOfMemoryError:
            logger.exception("no device memory for a batch, rows=%d", batch.n)
        finally:
            if status is not Status.OK:
                for seq, length in before.items():
                    self._kv.pages.truncate(seq, length)
        return DecodeResult(status, outputs, time.perf_counter() - started)

    def _checked(self, batch: Batch) -> dict[int, int]:
        """Sequence → number of its rows.

        Raises:
            ValueError: what the protocol forbids; on a GPU it would end the process or write into foreign cells.
        """
        if batch.n == 0:
            raise ValueError("no rows")
        tokens, wanted = batch.token[: batch.n], dict[int, int]()
        if tokens.min() < 0 or tokens.max() >= self._caps.n_vocab:
            raise ValueError("a token that the model does not have")
        rows = zip(batch.seq[: batch.n].tolist(), batch.pos[: batch.n].tolist(), strict=True)
        for i, (seq, pos) in enumerate(rows):
            if not 0 <= seq < self._caps.n_seq_max:
                raise ValueError(f"row {i}: there is no sequence {seq}")
            next_one = self._kv.pages.length(seq) + wanted.get(seq, 0)
            if pos != next_one:
                raise ValueError(f"row {i}: position {pos}, sequence {seq} goes on at {next_one}")
            wanted[seq] = wanted.get(seq, 0) + 1
        return wanted

    def _compute(self, batch: Batch) -> Outputs:
        wanted = []
        for first in range(0, batch.n, ROWS):
            rows = slice(first, min(first + ROWS, batch.n))
            states = self._block(
                batch.token[rows].tolist(), batch.pos[rows].tolist(), batch.seq[rows].tolist()
            )
            out = np.flatnonzero(batch.out[rows])
            if len(out):
                wanted.append(states[torch.from_numpy(out).to(states.device)])
        if not wanted:
            return HostOutputs(0, [].__getitem__)
        logits = self._decoder.logits(torch.cat(wanted))
        if logits.device.type != "cpu":
            return DeviceOutputs(logits)
        rows_on_host = logits.numpy()
        return HostOutputs(len(rows_on_host), rows_on_host.__getitem__)

    def _block(self, tokens: list[int], positions: list[int], seqs: list[int]) -> torch.Tensor:
        pages, cells, groups = self._kv.pages, [], []
        for seq, start, end in _runs(seqs):
            last = positions[end - 1] + 1
            held = pages.cells(seq, 0, last)
            cells += held[positions[start] :]
            groups.append(
                make_group(start, positions[start:end], held, self._spec, self._weights.device)
            )
        return self._decoder.hidden(tokens, positions, cells, groups, self._kv, self._abort.is_set)

    def request_abort(self) -> None:
        """See Backend."""
        self._abort.set()

    def seq_len(self, seq: SeqId) -> int:
        """See Backend."""
        return self._kv.pages.length(seq)

    def seq_span(self, seq: SeqId) -> tuple[int, int]:
        """See Backend. Layers with a window keep everything."""
        return 0, self.seq_len(seq)

    def seq_clear(self, seq: SeqId) -> None:
        """See Backend."""
        self._kv.pages.truncate(seq, 0)

    def seq_truncate(self, seq: SeqId, n: int) -> int:
        """See Backend."""
        self._kv.pages.truncate(seq, n)
        return self.seq_len(seq)

    def seq_fork(self, src: SeqId, dst: SeqId, n: int) -> int:
        """See Backend."""
        if src == dst:
            raise ValueError("fork of a sequence onto itself")
        self.seq_clear(dst)
        self._kv.pages.fork(src, dst, max(0, min(n, self.seq_len(src))))
        return self.seq_len(dst)

    def export_state(self, seq: SeqId, start: int = 0, end: int | None = None) -> State:
        """See Backend."""
        return self._kv.export(seq, start, end)

    def import_state(self, seq: SeqId, state: State, start: int = 0) -> int:
        """See Backend."""
        if not start:
            self.seq_clear(seq)
        if not self._kv.load(seq, state):
            self.seq_clear(seq)
        return self.seq_len(seq)

    def set_threads(self, decode: int, prefill: int) -> None:
        """See Backend. Fixed at opening: another number could change how products are summed."""

    def attention_trial(self, flash: bool, kv_type: KvType) -> None:
        """See Backend: there is one way."""

    def memory_report(self) -> MemoryReport:
        """See Backend."""
        return MemoryReport(self._weights.num_bytes, self._kv.num_bytes, 0)

    def close(self) -> None:
        """See Backend."""
        if not self._is_closed:
            self._is_closed = True
            del self._decoder, self._weights, self._kv


def _runs(seqs: list[int]) -> Iterator[tuple[int, int, int]]:
    """(sequence, first row, end) of neighbouring rows of one sequence."""
    start = 0
    for seq, rows in itertools.groupby(seqs):
        end = start + len(list(rows))
        yield seq, start, end
        start = end
