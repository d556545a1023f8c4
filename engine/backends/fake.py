"""A backend without a model: deterministic logits from the exact token history, and faults on demand.

The logits of a row are a function of every token before it, so any mistake in positions, forks or
truncations changes the text. Tests run the scheduler, the worker and the service on it.
"""

import hashlib
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

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
from engine.backends.plain_batch import PlainBatch
from engine.errors import OutOfMemory
from engine.types import KvType

_BOS, _EOS, _TURN_START, _TURN_END = 256, 257, 258, 259
_SPECIAL = {_BOS: "<|bos|>", _EOS: "<|eos|>", _TURN_START: "<|im_start|>", _TURN_END: "<|im_end|>"}
_BY_TEXT = {text: token for token, text in _SPECIAL.items()}
_CONTROL = re.compile("(" + "|".join(map(re.escape, _BY_TEXT)) + ")")
_NUM_VOCAB = 260
_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_SLICE_S = 0.005


@dataclass(frozen=True, slots=True)
class FakeOptions:
    """Faults and shapes, all off by default."""

    seconds_per_row: float = 0.0
    seconds_per_step: float = 0.0
    load_seconds: float = 0.0
    memory: Literal["full", "window", "recurrent"] = "full"
    window: int = 32
    n_batch: int = 512
    refuse_load: bool = False
    kill_on_token: int | None = None
    """A row with this token ends the process by SIGKILL: a request that kills workers."""
    end_bias: float = -100.0
    """Added to the end token's logit: when answers end by themselves."""


class FakeBackend:
    """Sequences are lists of tokens; cells are counted, shared ones too."""

    def __init__(self, context: int, num_sequences: int, options: FakeOptions) -> None:
        self.options = options
        self._seqs: list[list[int]] = [[] for _ in range(num_sequences)]
        self._first = [0] * num_sequences
        self._abort = threading.Event()
        self.num_decodes = 0
        self.num_rows = 0
        self._caps = Capabilities(
            backend="fake",
            n_vocab=_NUM_VOCAB,
            n_cells=context,
            n_ctx_seq=context,
            n_seq_max=num_sequences,
            n_batch_max=options.n_batch,
            n_outputs_max=num_sequences + MOST_DRAFTED,
            state_fingerprint="fake",
            exports_ranges=options.memory == "full",
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

    def decode(self, batch: Batch) -> DecodeResult:
        """See Backend. Refuses what the protocol forbids, as the native library would."""
        started = time.perf_counter()
        rows = [(int(batch.token[i]), int(batch.pos[i]), int(batch.seq[i])) for i in range(batch.n)]
        if not rows or int(batch.out[: batch.n].sum()) > self._caps.n_outputs_max:
            raise ValueError("no rows or too many outputs")
        self.num_decodes += 1
        self.num_rows += len(rows)
        if any(token == self.options.kill_on_token for token, _, _ in rows):
            os.kill(os.getpid(), signal.SIGKILL)
        if sum(map(len, self._seqs)) + len(rows) > self._caps.n_cells:
            return DecodeResult(Status.NO_SPACE, None, time.perf_counter() - started)
        if self._wait_unless_aborted(len(rows)):
            return DecodeResult(Status.ABORTED, None, time.perf_counter() - started)
        logits: list[F32] = []
        for i, (token, pos, seq) in enumerate(rows):
            if pos != len(self._seqs[seq]):
                raise ValueError(
                    f"row {i}: position {pos}, sequence {seq} holds {len(self._seqs[seq])}"
                )
            self._seqs[seq].append(token)
            if batch.out[i]:
                logits.append(self._logits(self._seqs[seq]))
        if self.options.memory == "window":
            for seq, tokens in enumerate(self._seqs):
                self._first[seq] = max(0, len(tokens) - self.options.window)
        outputs = HostOutputs(len(logits), logits.__getitem__)
        return DecodeResult(Status.OK, outputs, time.perf_counter() - started)

    def _wait_unless_aborted(self, num_rows: int) -> bool:
        seconds = self.options.seconds_per_step + self.options.seconds_per_row * num_rows
        aborted = self._abort.wait(seconds) if seconds else self._abort.is_set()
        self._abort.clear()
        return aborted

    def _logits(self, tokens: Sequence[int]) -> F32:
        digest = hashlib.blake2b(np.array(tokens, np.int32).tobytes(), digest_size=16).digest()
        random = np.random.Generator(np.random.Philox(key=int.from_bytes(digest, "little")))
        logits = (random.standard_normal(_NUM_VOCAB, np.float32) * 2).astype(np.float32)
        logits[ord("a") : ord("z") + 1] += 8
        logits[ord(" ")] += 9
        logits[_EOS] += 8 + self.options.end_bias
        logits[[_BOS, _TURN_START, _TURN_END]] = -30
        return logits

    def request_abort(self) -> None:
        """See Backend."""
        self._abort.set()

    def seq_len(self, seq: SeqId) -> int:
        """See Backend."""
        return len(self._seqs[seq])

    def seq_span(self, seq: SeqId) -> tuple[int, int]:
        """See Backend."""
        return self._first[seq], len(self._seqs[seq])

    def seq_clear(self, seq: SeqId) -> None:
        """See Backend."""
        self._seqs[seq] = []
        self._first[seq] = 0

    def _can_cut(self, seq: SeqId, n: int) -> bool:
        if self.options.memory == "recurrent":
            return n == len(self._seqs[seq])
        return self._first[seq] <= max(0, n - self.options.window) or self._first[seq] == 0

    def seq_truncate(self, seq: SeqId, n: int) -> int:
        """See Backend."""
        if n < len(self._seqs[seq]):
            if n > 0 and self._can_cut(seq, n):
                del self._seqs[seq][n:]
            else:
                self.seq_clear(seq)
        return len(self._seqs[seq])

    def seq_fork(self, src: SeqId, dst: SeqId, n: int) -> int:
        """See Backend."""
        if src == dst:
            raise ValueError("fork of a sequence onto itself")
        self.seq_clear(dst)
        n = min(n, len(self._seqs[src]))
        if n > 0 and self._can_cut(src, n):
            self._seqs[dst] = self._seqs[src][:n]
            self._first[dst] = self._first[src]
        return len(self._seqs[dst])

    def export_state(self, seq: SeqId, start: int = 0, end: int | None = None) -> State:
        """See Backend."""
        tokens = self._seqs[seq][start:end]
        return np.array([len(tokens), self._first[seq], *tokens], np.int32).tobytes()

    def import_state(self, seq: SeqId, state: State, start: int = 0) -> int:
        """See Backend."""
        if not start:
            self.seq_clear(seq)
        room = self._caps.n_cells - sum(map(len, self._seqs))
        count, first, *tokens = np.frombuffer(state[: len(state) // 4 * 4], np.int32).tolist()
        if 0 < count == len(tokens) <= room:
            self._first[seq] = first
            self._seqs[seq] += tokens
        else:
            self.seq_clear(seq)
        return len(self._seqs[seq])

    def set_threads(self, decode: int, prefill: int) -> None:
        """See Backend."""

    def attention_trial(self, flash: bool, kv_type: KvType) -> None:
        """See Backend: there is one way."""

    def memory_report(self) -> MemoryReport:
        """See Backend."""
        return MemoryReport(0, 0, 0)

    def close(self) -> None:
        """See Backend."""


class FakeTokenizer:
    """One token a byte, four control tokens, ChatML."""

    n_vocab = _NUM_VOCAB
    bos: int | None = _BOS
    eos: int | None = _EOS
    adds_bos = False
    end_ids = frozenset({_EOS, _TURN_END})
    pieces: Sequence[bytes] = [bytes([i]) for i in range(256)] + [b""] * 4
    control_texts: Sequence[str] = sorted(_SPECIAL.values(), key=len, reverse=True)
    chat_template: str | None = _TEMPLATE

    def token_text(self, token: int) -> str:
        """See Tokenizer."""
        return _SPECIAL.get(token) or bytes([token]).decode("utf-8", "replace")

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """See Tokenizer."""
        del add_special  # this vocabulary adds none
        if not parse_special:
            return list(text.encode("utf-8", "replace"))
        tokens: list[int] = []
        for part in _CONTROL.split(text):
            control = _BY_TEXT.get(part)
            tokens += [control] if control is not None else part.encode("utf-8", "replace")
        return tokens


def open_fake(
    context: int,
    num_sequences: int,
    options: Mapping[str, Any],
    progress: Callable[[float], None],
) -> tuple[FakeBackend, FakeTokenizer, str]:
    """Make a fake model; takes `load_seconds` and reports progress on the way."""
    chosen = FakeOptions(**options)
    if chosen.refuse_load:
        raise OutOfMemory(
            "There was not enough memory.", hint="This is a test.", needed_bytes=1, free_bytes=0
        )
    steps = max(1, round(chosen.load_seconds / _SLICE_S))
    for i in range(steps):
        threading.Event().wait(chosen.load_seconds / steps)
        progress((i + 1) / steps)
    return FakeBackend(context, num_sequences, chosen), FakeTokenizer(), "fake"
