"""One turn of the engine: rows in, tokens out. The only module that knows scheduler and backend.

Zone: worker process, owner thread.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from engine.backends.base import Backend, Outputs, Status
from engine.errors import EngineError
from engine.sampling.sampler import Sampled
from engine.scheduler.scheduler import Scheduler, Work
from engine.scheduler.sequence import Sequence

_MAX_FAILURES = 3


@dataclass(frozen=True, slots=True)
class SampledToken:
    """A sequence has a new token (already appended to it)."""

    sequence: Sequence
    sampled: Sampled


@dataclass(frozen=True, slots=True)
class PrefillProgress:
    """A sequence has read more of its prompt and is not through yet."""

    sequence: Sequence


@dataclass(frozen=True, slots=True)
class SequenceFull:
    """The sequence fills the KV cache alone: it ends here."""

    sequence: Sequence


@dataclass(frozen=True, slots=True)
class SequenceFailed:
    """The sequence cannot go on."""

    sequence: Sequence
    error: EngineError


StepEvent = SampledToken | PrefillProgress | SequenceFull | SequenceFailed


class Stepper:
    """Runs the scheduler's choices on the backend."""

    def __init__(
        self,
        scheduler: Scheduler,
        backend: Backend,
        *,
        about_to_decode: Callable[[list[Work]], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._scheduler = scheduler
        self._backend = backend
        self._batch = backend.new_batch(backend.caps.n_batch_max)
        self._about_to_decode = about_to_decode
        self._clock = clock
        self._failures = 0

    def step(self) -> list[StepEvent]:
        """Decode once. Returns what happened; empty when idle, aborted or making room."""
        work = self._scheduler.schedule(self._clock())
        if not work:
            return []
        self._fill(work)
        if self._about_to_decode:
            self._about_to_decode(work)
        result = self._backend.decode(self._batch)
        if result.status is Status.OK:
            self._failures = 0
            assert result.outputs is not None
            return self._commit(work, result.outputs)
        sequences = [item.sequence for item in work]
        self._scheduler.resync(sequences)
        if result.status is Status.NO_SPACE:
            full = self._scheduler.make_room()
            return [SequenceFull(full)] if full is not None else []
        if result.status is Status.FAILED:
            return self._failed(sequences)
        return []

    def _fill(self, work: list[Work]) -> None:
        batch, i = self._batch, 0
        for item in work:
            end = i + item.count
            batch.token[i:end] = item.sequence.tokens[item.start : item.start + item.count]
            batch.pos[i:end] = range(item.start, item.start + item.count)
            assert item.sequence.slot is not None
            batch.seq[i:end] = item.sequence.slot
            batch.out[i:end] = 0
            batch.out[end - 1] = item.samples
            i = end
        batch.n = i

    def _commit(self, work: list[Work], outputs: Outputs) -> list[StepEvent]:
        events: list[StepEvent] = []
        row = 0
        for item in work:
            sequence = item.sequence
            sequence.num_computed += item.count
            if not item.samples:
                events.append(PrefillProgress(sequence))
                continue
            try:
                sampled = sequence.sampler.sample(outputs, row)
            except EngineError as error:
                events.append(SequenceFailed(sequence, error))
                row += 1
                continue
            row += 1
            sequence.sampler.accept(sampled.token)
            sequence.tokens.append(sampled.token)
            if sequence.first_token_at is None:
                sequence.first_token_at = self._clock()
            events.append(SampledToken(sequence, sampled))
        return events

    def _failed(self, sequences: list[Sequence]) -> list[StepEvent]:
        self._failures += 1
        if self._failures < _MAX_FAILURES:
            return []
        self._failures = 0
        error = EngineError(
            "The model's computation failed.", hint="Load the model again; the log has the details."
        )
        return [SequenceFailed(sequence, error) for sequence in sequences]
