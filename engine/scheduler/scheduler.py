"""Which rows go into the next decode: admission, chunked prefill, continuous batching, preemption.

Zone: worker process, owner thread. Integers only; `engine.scheduler.step` does the decoding.
Turns alternate: one row (and perhaps a draft) for each answer that is decoding, then a chunk of prompt rows, so that a
long prompt never stalls a running answer. Not both in one step: measured, attention over a mixed batch costs more than
reading the weights twice (SmolLM2-135M, 2 threads, chunk 256: 8.7 s against 6.9 s for a 3,000-token prompt).
"""

from dataclasses import dataclass
from typing import Final

from engine.backends.base import MOST_DRAFTED, Backend, Capabilities, SeqId
from engine.scheduler.kv_store import KvStore
from engine.scheduler.pacing import Pacing
from engine.scheduler.prefix_cache import Found, PrefixCache
from engine.scheduler.queue import turn
from engine.scheduler.sequence import HINT, Sequence
from engine.scheduler.slots import common_prefix
from engine.speculative.speculation import Speculation

HINT_ROWS: Final = 64
"""Most rows of a step that nobody has asked for."""
_WORTH_WAITING: Final = 32
"""Tokens: a prompt that shares so many more with one that is being read waits for them (or half of what that one still reads)."""


@dataclass(frozen=True, slots=True)
class Work:
    """Consecutive rows of one sequence: tokens[start : start + count]."""

    sequence: Sequence
    start: int
    count: int
    samples: bool
    """The last row's logits are wanted: nothing is pending after it."""
    draft: tuple[int, ...] = ()
    """Guessed tokens computed on trial behind them; the logits of their rows are wanted too."""

    @property
    def is_reading(self) -> bool:
        """Computes more than the last token."""
        return self.count > 1 or not self.samples


class Scheduler:
    """Owns the queue, the running sequences and the slots."""

    def __init__(
        self,
        backend: Backend,
        *,
        pacing: Pacing | None = None,
        speculation: Speculation | None = None,
        store: KvStore | None = None,
    ) -> None:
        self._backend = backend
        self._speculation = speculation
        self._drafts_fit = True
        self._caps: Capabilities = backend.caps
        self.pacing = pacing or Pacing(backend.caps.n_batch_max)
        self._prompts_turn = False
        self.waiting: list[Sequence] = []
        self.running: list[Sequence] = []
        self.prefixes = PrefixCache(backend, store)
        self.slots = self.prefixes.slots

    @property
    def idle(self) -> bool:
        """Nothing to do."""
        return not self.waiting and not self.running

    def add(self, sequence: Sequence) -> None:
        """Queue a sequence. Its tokens fit the context (checked at intake)."""
        self.waiting.append(sequence)

    def schedule(self, now: float) -> list[Work]:
        """Admit what fits, then choose the rows of the next decode.

        Empty when idle, and when all that runs is read only and is read.
        """
        self._admit(now)
        answering = [s for s in self.running if s.is_answering]
        reading = [s for s in self.running if not s.is_answering and s.num_pending]
        if answering:  # a hint waits until nobody does
            reading = [s for s in reading if s.priority < HINT]
        if reading and (self._prompts_turn or not answering):
            self._prompts_turn = False
            return self._read(sorted(reading, key=lambda s: turn(s, now)), beside=bool(answering))
        self._prompts_turn = True
        return self._answer(answering)

    def _answer(self, answering: list[Sequence]) -> list[Work]:
        spare = self._caps.n_batch_max - len(answering)
        work = []
        for s, draft in zip(answering, self._drafts(answering), strict=True):
            # several rows are pending where a grammar left no choice; a small batch takes them in parts
            count = min(s.num_pending, 1 + spare)
            spare -= count - 1 + len(draft)
            samples = count == s.num_pending
            work.append(Work(s, s.num_computed, count, samples, tuple(draft) if samples else ()))
        return work

    def _read(self, reading: list[Sequence], *, beside: bool) -> list[Work]:
        first = reading[0]
        budget, ruled = self.pacing.chunk(first.num_computed, beside=beside)
        if first.priority >= HINT:
            budget = min(budget, HINT_ROWS)
        work = []
        for s in reading:
            count = min(s.num_pending, budget)
            if count <= 0 or s.priority > first.priority:
                break
            s.paced_by = ruled or s.paced_by
            samples = count == s.num_pending and not s.reads_only
            work.append(Work(s, s.num_computed, count, samples))
            budget -= count
        return work

    def read_through(self) -> list[Sequence]:
        """Running sequences that were to be read only, and are; the caller finishes them."""
        return [s for s in self.running if s.reads_only and not s.num_pending]

    def _drafts(self, answering: list[Sequence]) -> list[list[int]]:
        if self._speculation is None or not self._drafts_fit:
            self._drafts_fit = True
            return [[] for _ in answering]
        caps = self._caps
        room = min(caps.n_outputs_max, caps.n_batch_max) - sum(s.num_pending for s in answering)
        asks = []
        for s in answering:
            most = max(0, min(room, MOST_DRAFTED, caps.n_ctx_seq - len(s.tokens) - 1))
            asks.append((s, s.tokens, most))
            room -= most
        drafts = self._speculation.drafts(asks, sum(s.num_pending for s in answering))
        return [s.sampler.trim(draft) for s, draft in zip(answering, drafts, strict=True)]

    def drafts_do_not_fit(self) -> None:
        """After NO_SPACE with drafts: the next step goes without, before anybody has to make room."""
        self._drafts_fit = False

    def _admit(self, now: float) -> None:
        for sequence in sorted(self.waiting, key=lambda s: turn(s, now)):
            if not self._make_slot_free(sequence):
                return
            if not self._has_room(sequence):
                return
            held = {s.slot: s.tokens[: s.num_computed] for s in self.running if s.slot is not None}
            if self._shares_more_soon(sequence, held):
                continue
            found = self.prefixes.find(
                sequence.tokens,
                held,
                needs_logits=not sequence.reads_only,
                key=sequence.cache_key,
            )
            if found is None:
                return
            self._start(sequence, found, now)

    def _start(self, sequence: Sequence, found: Found, now: float) -> None:
        self.waiting.remove(sequence)
        sequence.slot = found.seq
        sequence.num_computed = found.num_held
        sequence.num_restored += found.num_restored
        sequence.restore_s += found.restore_s
        if sequence.admitted_at is None:
            sequence.admitted_at = now
            sequence.num_reused = min(found.num_held, sequence.num_prompt)
        self.running.append(sequence)

    def _make_slot_free(self, sequence: Sequence) -> bool:
        """A slot is free, or a hint gives its own."""
        if len(self.running) < self._caps.n_seq_max:
            return True
        hint = next((s for s in self.running if s.priority >= HINT > sequence.priority), None)
        if hint is not None:
            self._send_back(hint, free_cells=False)
        return hint is not None

    def _has_room(self, sequence: Sequence) -> bool:
        used = sum(len(s.tokens) for s in self.running)
        # one row of room for everyone, or it would be preempted in its first step
        room = self._caps.n_cells - used - len(self.running)
        return not self.running or len(sequence.tokens) < room

    def _shares_more_soon(self, sequence: Sequence, held: dict[SeqId, list[int]]) -> bool:
        """A running prompt will hold much more of this one's beginning than anybody does yet.

        Whoever waits lends the other its urgency. Ends, as the other is computed or leaves.
        """
        reading = [s for s in self.running if not s.is_answering]
        if not reading:
            return False
        tokens = sequence.tokens
        other = max(reading, key=lambda s: common_prefix(s.tokens, tokens))
        soon = min(common_prefix(other.tokens, tokens), len(other.tokens) - 1)
        gain = soon - self.prefixes.best(tokens, held)
        if gain < min(_WORTH_WAITING, max(1, other.num_pending // 2)):
            return False
        other.priority = min(other.priority, sequence.priority)
        return True

    def finish(self, sequence: Sequence) -> None:
        """The answer is complete; its computed tokens stay in the slot for the next turn."""
        self._leave(sequence)

    def abort(self, request: str) -> list[Sequence]:
        """Drop all sequences of a request; returns them."""
        gone = [s for s in (*self.running, *self.waiting) if s.request == request]
        for sequence in gone:
            self._leave(sequence)
        return gone

    def cut(self, sequence: Sequence, num_tokens: int) -> None:
        """Drop the last tokens of a running sequence: the answer had ended before them."""
        del sequence.tokens[len(sequence.tokens) - num_tokens :]
        self.keep_computed(sequence, min(sequence.num_computed, len(sequence.tokens)))

    def keep_computed(self, sequence: Sequence, n: int) -> None:
        """Let the backend forget what it has computed beyond the first n tokens of a running sequence."""
        assert sequence.slot is not None
        sequence.num_computed = self._backend.seq_truncate(sequence.slot, n)

    def _leave(self, sequence: Sequence) -> None:
        if self._speculation is not None:
            self._speculation.forget(sequence)
        if sequence in self.running:
            self.running.remove(sequence)
            assert sequence.slot is not None
            held = sequence.tokens[: sequence.num_computed]
            self.slots.release(
                sequence.slot, held, key=sequence.cache_key, is_hint=sequence.reads_only
            )
            sequence.slot = None
            sequence.num_computed = 0
        elif sequence in self.waiting:
            self.waiting.remove(sequence)

    def make_room(self) -> Sequence | None:
        """After NO_SPACE: drop idle tokens, else send the youngest back to the queue.

        Returns:
            The one running sequence that can never go on, because it fills the cache alone;
            the caller ends it. None: room was made, try again.
        """
        if self.slots.evict_idle():
            return None
        if len(self.running) == 1:
            return self.running[0]
        self._send_back(
            max(self.running, key=lambda s: (s.priority, s.created_at)), free_cells=True
        )
        return None

    def _send_back(self, sequence: Sequence, *, free_cells: bool) -> None:
        """It goes on later, from what the prefix cache keeps of it."""
        seq = sequence.slot
        self._leave(sequence)
        self.waiting.append(sequence)
        if free_cells and seq is not None:
            self.prefixes.put_away(self.slots.all[seq])

    def resync(self, sequences: list[Sequence]) -> None:
        """After a decode that did not end well: believe the backend about what is held."""
        for sequence in sequences:
            if sequence.slot is not None:
                held = self._backend.seq_len(sequence.slot)
                sequence.num_computed = min(held, len(sequence.tokens) - 1)
                if held > sequence.num_computed:
                    sequence.num_computed = self._backend.seq_truncate(
                        sequence.slot, sequence.num_computed
                    )

    def held_by(self, seq: SeqId) -> Sequence | None:
        """The running sequence in a slot."""
        return next((s for s in self.running if s.slot == seq), None)
