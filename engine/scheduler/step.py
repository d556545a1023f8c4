"""One turn of the engine: rows in, tokens out. The only module that knows scheduler and backend.

Zone: worker process, owner thread.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from engine.backends.base import Backend, Outputs, Status
from engine.errors import EngineError
from engine.sampling.sampler import Sampled
from engine.scheduler.compute import Compute
from engine.scheduler.scheduler import Scheduler, Work
from engine.scheduler.sequence import Sequence
from engine.scheduler.threads import Kind
from engine.speculative.speculation import Speculation
from engine.speculative.verify import verify

_MAX_FAILURES = 3


@dataclass(frozen=True, slots=True)
class SampledTokens:
    """A sequence has new tokens (already appended to it): one, and those of a draft that were right."""

    sequence: Sequence
    sampled: tuple[Sampled, ...]


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


@dataclass(frozen=True, slots=True)
class PromptRead:
    """A sequence that was to be read only is in the cache as a whole."""

    sequence: Sequence


StepEvent = PromptRead | SampledTokens | PrefillProgress | SequenceFull | SequenceFailed


class Stepper:
    """Runs the scheduler's choices on the backend."""

    def __init__(
        self,
        scheduler: Scheduler,
        backend: Backend,
        *,
        compute: Compute | None = None,
        speculation: Speculation | None = None,
        about_to_decode: Callable[[list[Work]], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._scheduler = scheduler
        self._compute = compute or Compute(backend)
        self._speculation = speculation
        self._batch = backend.new_batch(backend.caps.n_batch_max)
        self._about_to_decode = about_to_decode
        self._clock = clock
        self._failures = 0

    def step(self) -> list[StepEvent]:
        """Decode once. Returns what happened; empty when idle, aborted or making room."""
        work = self._scheduler.schedule(self._clock())
        if read := self._scheduler.read_through():
            return [PromptRead(sequence) for sequence in read]
        if not work:
            return []
        self._fill(work)
        if self._about_to_decode:
            self._about_to_decode(work)
        kind: Kind = "decode" if work[0].sequence.is_answering else "prefill"
        result = self._compute.decode(self._batch, kind)
        if result.status is Status.OK:
            self._failures = 0
            assert result.outputs is not None
            self._tell_cost(work, kind, result.seconds)
            return self._commit(work, result.outputs)
        sequences = [item.sequence for item in work]
        self._scheduler.resync(sequences)
        if result.status is Status.NO_SPACE and any(item.draft for item in work):
            self._scheduler.drafts_do_not_fit()
            return []
        if result.status is Status.NO_SPACE:
            full = self._scheduler.make_room()
            return [SequenceFull(full)] if full is not None else []
        if result.status is Status.FAILED:
            return self._failed(sequences)
        return []

    def _fill(self, work: list[Work]) -> None:
        batch, i = self._batch, 0
        for item in work:
            last, end = i + item.count, i + item.count + len(item.draft)
            batch.token[i:last] = item.sequence.tokens[item.start : item.start + item.count]
            batch.token[last:end] = item.draft
            batch.pos[i:end] = range(item.start, item.start + end - i)
            assert item.sequence.slot is not None
            batch.seq[i:end] = item.sequence.slot
            batch.out[i:end] = 0
            batch.out[last - 1 : end] = item.samples
            i = end
        batch.n = i

    def _commit(self, work: list[Work], outputs: Outputs) -> list[StepEvent]:
        events: list[StepEvent] = []
        row = 0
        for item in work:
            sequence = item.sequence
            sequence.num_computed += item.count
            if not item.samples:
                if not sequence.is_answering:
                    events.append(PrefillProgress(sequence))
                continue
            try:
                sampled = verify(sequence.sampler, outputs, row, item.draft)
            except EngineError as error:
                events.append(SequenceFailed(sequence, error))
            else:
                self._append(item, sampled)
                self._append_forced(sequence, sampled)
                events.append(SampledTokens(sequence, tuple(sampled)))
            row += 1 + len(item.draft)
        return events

    def _append(self, item: Work, sampled: list[Sampled]) -> None:
        sequence = item.sequence
        sequence.tokens += [s.token for s in sampled]
        if sequence.first_token_at is None:
            sequence.first_token_at = self._clock()
        if not item.draft:
            return
        accepted = len(sampled) - 1
        sequence.num_drafted += len(item.draft)
        sequence.num_accepted += accepted
        sequence.num_computed += accepted
        if accepted < len(item.draft):
            self._scheduler.keep_computed(sequence, sequence.num_computed)

    def _append_forced(self, sequence: Sequence, sampled: list[Sampled]) -> None:
        """What a grammar leaves no choice about is computed in the next step, all at once."""
        forced = sequence.sampler.take_forced()
        sequence.tokens += [s.token for s in forced]
        sampled += forced

    def _tell_cost(self, work: list[Work], kind: Kind, seconds: float) -> None:
        pacing = self._scheduler.pacing
        if kind == "prefill":
            pacing.saw_read(work[0].start, self._batch.n, seconds)
            return
        pacing.saw_decode(seconds)
        if self._speculation is not None:
            self._speculation.saw_step(self._batch.n, seconds)

    def _failed(self, sequences: list[Sequence]) -> list[StepEvent]:
        self._failures += 1
        if self._failures < _MAX_FAILURES:
            return []
        self._failures = 0
        error = EngineError(
            "The model's computation failed.", hint="Load the model again; the log has the details."
        )
        return [SequenceFailed(sequence, error) for sequence in sequences]
