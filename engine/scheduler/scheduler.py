"""Which rows go into the next decode: admission, chunked prefill, continuous batching, preemption.

Zone: worker process, owner thread. Integers only; `engine.scheduler.step` does the decoding.
Every turn: first one row for each answer that is decoding, then prompt rows of the others in order
of arrival, at most a chunk of them, so that a long prompt never stalls a running answer.
"""

from collections import deque
from dataclasses import dataclass

from engine.backends.base import MOST_DRAFTED, Backend, Capabilities, SeqId
from engine.scheduler.sequence import Sequence
from engine.scheduler.slots import Slots
from engine.speculative.speculation import Speculation

PREFILL_CHUNK = 128
"""Prompt rows beside decoding answers. A fixed compromise until the cost curve is measured."""


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
        prefill_chunk: int = PREFILL_CHUNK,
        speculation: Speculation | None = None,
    ) -> None:
        self._backend = backend
        self._speculation = speculation
        self._drafts_fit = True
        self._caps: Capabilities = backend.caps
        self._prefill_chunk = prefill_chunk
        self.waiting: deque[Sequence] = deque()
        self.running: list[Sequence] = []
        self.slots = Slots(backend)

    @property
    def idle(self) -> bool:
        """Nothing to do."""
        return not self.waiting and not self.running

    def add(self, sequence: Sequence) -> None:
        """Queue a sequence. Its tokens fit the context (checked at intake)."""
        self.waiting.append(sequence)

    def schedule(self, now: float) -> list[Work]:
        """Admit what fits, then choose the rows of the next decode. Empty only when idle."""
        self._admit(now)
        decoding = [s for s in self.running if s.num_pending == 1]
        reading = [s for s in self.running if s.num_pending > 1]
        work = [
            Work(s, s.num_computed, 1, samples=True, draft=tuple(draft))
            for s, draft in zip(decoding, self._drafts(decoding), strict=True)
        ]
        budget = self._caps.n_batch_max - sum(1 + len(item.draft) for item in work)
        if decoding:
            budget = min(budget, self._prefill_chunk)
        for s in reading:
            count = min(s.num_pending, budget)
            if count <= 0:
                break
            work.append(Work(s, s.num_computed, count, samples=count == s.num_pending))
            budget -= count
        return work

    def _drafts(self, decoding: list[Sequence]) -> list[list[int]]:
        if self._speculation is None or not self._drafts_fit:
            self._drafts_fit = True
            return [[] for _ in decoding]
        caps = self._caps
        room = min(caps.n_outputs_max, caps.n_batch_max) - len(self.running)
        asks = []
        for s in decoding:
            most = max(0, min(room, MOST_DRAFTED, caps.n_ctx_seq - len(s.tokens) - 1))
            asks.append((s, s.tokens, most))
            room -= most
        return self._speculation.drafts(asks)

    def drafts_do_not_fit(self) -> None:
        """After NO_SPACE with drafts: the next step goes without, before anybody has to make room."""
        self._drafts_fit = False

    def _admit(self, now: float) -> None:
        while self.waiting:
            sequence = self.waiting[0]
            if not self._may_start(sequence):
                return
            held = {s.slot: s.tokens[: s.num_computed] for s in self.running if s.slot is not None}
            taken = self.slots.acquire(sequence.tokens, held)
            if taken is None:
                return
            slot, num_held = taken
            self.waiting.popleft()
            sequence.slot = slot.seq
            sequence.num_computed = num_held
            if sequence.admitted_at is None:
                sequence.admitted_at = now
                sequence.num_reused = min(num_held, sequence.num_prompt)
            self.running.append(sequence)

    def _may_start(self, sequence: Sequence) -> bool:
        leader = sequence.leader
        if (
            leader is not None
            and leader in self.running
            and leader.num_computed < leader.num_prompt
        ):
            return False
        used = sum(len(s.tokens) for s in self.running)
        # one row of room for everyone, or it would be preempted in its first step
        room = self._caps.n_cells - used - len(self.running)
        return not self.running or len(sequence.tokens) < room

    def finish(self, sequence: Sequence) -> None:
        """The answer is complete; its computed tokens stay in the slot for the next turn."""
        self._leave(sequence, keep=True)

    def abort(self, request: str) -> list[Sequence]:
        """Drop all sequences of a request; returns them."""
        gone = [s for s in (*self.running, *self.waiting) if s.request == request]
        for sequence in gone:
            self._leave(sequence, keep=True)
        return gone

    def cut(self, sequence: Sequence, num_tokens: int) -> None:
        """Drop the last tokens of a running sequence: the answer had ended before them."""
        del sequence.tokens[len(sequence.tokens) - num_tokens :]
        self.keep_computed(sequence, min(sequence.num_computed, len(sequence.tokens)))

    def keep_computed(self, sequence: Sequence, n: int) -> None:
        """Let the backend forget what it has computed beyond the first n tokens of a running sequence."""
        assert sequence.slot is not None
        sequence.num_computed = self._backend.seq_truncate(sequence.slot, n)

    def _leave(self, sequence: Sequence, *, keep: bool) -> None:
        if self._speculation is not None:
            self._speculation.forget(sequence)
        if sequence in self.running:
            self.running.remove(sequence)
            assert sequence.slot is not None
            held = sequence.tokens[: sequence.num_computed] if keep else []
            self.slots.release(sequence.slot, held)
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
        youngest = max(self.running, key=lambda s: s.created_at)
        self._leave(youngest, keep=False)
        self.waiting.appendleft(youngest)
        return None

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
