"""The seam between the one scheduler and the backends: `Backend`, `Batch`, `Outputs`.

Zone: any process; NumPy only. A row is (token, position, sequence, want_output). The scheduler owns
logical conversations, a backend owns `n_seq_max` physical sequences (small integers). Memory operations
return what really happened, and the scheduler prefills the difference again: that one rule covers
full, sliding-window, recurrent and hybrid memory. All methods belong to one owner thread, except
`request_abort`. The conformance suite in `tests/backends` is the proof of an implementation.
"""

import enum
from dataclasses import dataclass
from typing import Final, NewType, Protocol

import numpy as np
import numpy.typing as npt

from engine.types import KvType

I32 = npt.NDArray[np.int32]
I8 = npt.NDArray[np.int8]
Ids = npt.NDArray[np.intp]
F32 = npt.NDArray[np.float32]
State = bytes | bytearray | memoryview
"""A sequence's exported memory, opaque."""

SeqId = NewType("SeqId", int)
"""A physical sequence, 0 … n_seq_max - 1."""


MOST_DRAFTED: Final = 15
"""Tokens of one draft, whose rows all want logits: with the row before them they fill a block of 16."""


TRIAL_DEPTH: Final = 2048
TILE: Final = 64
"""llama.cpp's flash attention on CPUs takes so many rows together, and fewer one by one (`ggml-cpu/ops.cpp`)."""
"""Tokens before the rows that a trial of attention times."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What one loaded model on one backend can do. Fixed after loading."""

    backend: str
    n_vocab: int
    n_cells: int
    """Token capacity of the KV cache, all sequences together."""
    n_ctx_seq: int
    """Most positions one sequence may hold."""
    n_seq_max: int
    n_batch_max: int
    """Most rows per decode."""
    n_outputs_max: int
    """Most rows with want_output per decode; at least `n_seq_max + MOST_DRAFTED`."""
    state_fingerprint: str
    """Equal exactly where exported states may be exchanged."""
    forgets_on_abort: bool = False
    """A decode that was stopped costs its sequences all that they held."""
    exports_ranges: bool = False
    """States may begin in mid-sequence: a conversation is kept in pieces that others share."""
    is_exact: bool = False
    """A row's logits do not depend on its batch, bit for bit: the text is the same with drafts and without."""


class Status(enum.Enum):
    """How a decode ended. After anything but OK, `seq_len` tells what each sequence still holds."""

    OK = "ok"
    NO_SPACE = "no space"
    """No cells free; memory is as it was before."""
    ABORTED = "aborted"
    FAILED = "failed"
    """The batch was refused or the computation failed."""


class Batch(Protocol):
    """Rows of one decode. The scheduler writes into the arrays and sets `n`.

    Rows of one sequence are contiguous, ascending, and start at `seq_len(seq)`.
    """

    n: int

    @property
    def capacity(self) -> int:
        """Most rows; length of every array."""

    @property
    def token(self) -> I32:
        """[capacity] token ids."""

    @property
    def pos(self) -> I32:
        """[capacity] positions."""

    @property
    def seq(self) -> I32:
        """[capacity] sequences."""

    @property
    def out(self) -> I8:
        """[capacity] 1 where logits are wanted."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The most likely tokens of one row, ordered by (-logit, id)."""

    ids: I32
    """[m]"""
    logits: F32
    """[m] after the sparse edits, before temperature."""
    complete: bool
    """True when these are all tokens that count."""


class Outputs(Protocol):
    """Logits of one decode. A handle: dead after the next decode on the same backend.

    Row r is the r-th row of the batch with out = 1, in batch order.
    """

    def logits(self, row: int) -> F32:
        """[n_vocab] on the host; a view into the backend's memory, to be read and not kept."""

    def candidates(
        self, row: int, k: int, edits: tuple[I32, F32] | None = None, allowed: Ids | None = None
    ) -> Candidates:
        """At least the k most likely tokens (fewer only if there are fewer).

        Args:
            row: output row.
            k: how many at least; n_vocab asks for all.
            edits: (ids [e] without repeats, new logits [e]): penalties and bias, applied first.
            allowed: [a] ascending ids, at least one: only they count. None: all do.
        """

    def lse(
        self, row: int, edits: tuple[I32, F32] | None = None, allowed: Ids | None = None
    ) -> float:
        """Logarithm of Σ exp(logit) over all tokens that count, after the edits."""


@dataclass(frozen=True, slots=True)
class DecodeResult:
    """What one decode did."""

    status: Status
    outputs: Outputs | None
    """Set when status is OK."""
    seconds: float
    """Wall time of the computation."""


class AttentionTrial(Protocol):
    """A small context beside the model's own, to see what a way of computing attention costs."""

    def step(self, rows: int) -> float | None:
        """Seconds of a step of so many rows behind the tokens it holds, which it then drops; None: it was stopped."""

    def fill(self, rows: int, depth: int) -> bool:
        """Read so many rows, and copy them until it holds `depth` tokens; False: it was stopped."""

    def close(self) -> None:
        """Free it. Idempotent."""


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """Bytes by purpose; 0 where a backend cannot tell."""

    weights: int
    kv_cache: int
    compute: int


class Backend(Protocol):
    """One loaded model with its KV cache."""

    @property
    def caps(self) -> Capabilities:
        """Fixed facts."""

    def new_batch(self, capacity: int) -> Batch:
        """A reusable batch of at most `capacity` ≤ n_batch_max rows."""

    def decode(self, batch: Batch) -> DecodeResult:
        """Compute the rows and append them to their sequences. Blocks; the GIL is released."""

    def request_abort(self) -> None:
        """Any thread. The running decode, or else the next one, returns ABORTED within one graph node.

        Holding for the next one closes the gap between a caller's last look at its inbox and the decode.
        """

    def seq_len(self, seq: SeqId) -> int:
        """Next position to write; 0 is empty."""

    def seq_span(self, seq: SeqId) -> tuple[int, int]:
        """[first usable, next) positions held; a sliding window has first > 0."""

    def seq_clear(self, seq: SeqId) -> None:
        """Drop everything of `seq`."""

    def seq_truncate(self, seq: SeqId, n: int) -> int:
        """Keep at most the first n tokens; returns the tokens really kept (0 … n)."""

    def seq_fork(self, src: SeqId, dst: SeqId, n: int) -> int:
        """Make `dst` the first n tokens of `src`; returns the tokens really shared."""

    def export_state(self, seq: SeqId, start: int = 0, end: int | None = None) -> State:
        """The memory of tokens [start, end). The caller keeps the tokens and `state_fingerprint` beside it.

        Args:
            seq: to export; nothing of it changes.
            start: first token; more than 0 only where `caps.exports_ranges`.
            end: None: all that it holds; less only where `caps.exports_ranges`.
        """

    def import_state(self, seq: SeqId, state: State, start: int = 0) -> int:
        """Append an exported state to the `start` tokens that `seq` holds; at 0 it replaces whatever was there.

        Returns:
            Tokens that `seq` holds now; 0 when refused, and then it is empty.
        """

    def set_threads(self, decode: int, prefill: int) -> None:
        """Takes effect at the next decode; no-op where threads do not matter."""

    def attention_trial(self, flash: bool, kv_type: KvType) -> AttentionTrial | None:
        """A context to measure a way of attention with; None: there is no choice, no such way, or no memory for it."""

    def memory_report(self) -> MemoryReport:
        """What the backend itself allocated."""

    def close(self) -> None:
        """Free everything. Idempotent."""
