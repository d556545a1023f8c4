"""What the answers of this service took, summed up by model since it started: `Meter`.

Zone: service, event loop. Every answer passes through `Meter.watch` once; `engine.server.metrics` writes the
sums down. Nothing of what was asked or said is kept.
"""

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal, Self

from engine.errors import EngineError
from engine.ipc.messages import Delta
from engine.server.tally import Tally
from engine.supervisor.answer import Answer, AnswerEvent, PromptAccepted, PromptReading

Outcome = Literal["stop", "length", "cancelled", "error"]
"""How a request ended: by itself, at a limit of tokens, because its client left, with an error."""

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Upper bounds in seconds."""


@dataclass(slots=True)
class Histogram:
    """How often a duration fell between which bounds."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    """Not cumulative; the last one is beyond all bounds."""
    sum: float = 0.0

    def observe(self, seconds: float) -> None:
        """Count one duration."""
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.sum += seconds


@dataclass(slots=True)
class ModelSums:
    """Of one model, or of requests that never got to one."""

    outcomes: Counter[str] = field(default_factory=Counter)
    """Requests by `Outcome`."""
    prompt_computed: int = 0
    """Tokens."""
    prompt_reused: int = 0
    """Found where an earlier prompt left them."""
    prompt_restored: int = 0
    """Brought back from memory or disk."""
    completion: int = 0
    drafted: int = 0
    accepted: int = 0
    queue: Histogram = field(default_factory=Histogram)
    prefill: Histogram = field(default_factory=Histogram)
    decode: Histogram = field(default_factory=Histogram)
    first_token: Histogram = field(default_factory=Histogram)
    """From the request's arrival, a load included."""


class WatchedAnswer:
    """An answer that counts what passes through."""

    def __init__(self, answer: Answer) -> None:
        self.has_begun = False
        """Its prompt is being read, or more."""
        self.complete = False
        self._answer = answer
        self._events = aiter(answer)
        self._tally = Tally()
        self._reading = PromptReading(0, 0, 0, again=False)
        self._opened_at = time.monotonic()
        self._first_at: float | None = None
        self._at_limit = False

    @property
    def request_id(self) -> str:
        """See Answer."""
        return self._answer.request_id

    @property
    def model(self) -> str:
        """See Answer."""
        return self._answer.model

    def __aiter__(self) -> Self:
        """See Answer."""
        return self

    async def __anext__(self) -> AnswerEvent:
        """The next event."""
        try:
            event = await anext(self._events)
        except StopAsyncIteration:
            self.complete = True
            raise
        if isinstance(event, Delta):
            self._note(event)
        elif isinstance(event, PromptReading):
            self.has_begun, self._reading = True, event
        elif isinstance(event, PromptAccepted):
            self._tally.prompt_tokens = event.prompt_tokens
        return event

    def _note(self, delta: Delta) -> None:
        self.has_begun = True
        if self._first_at is None and delta.tokens:
            self._first_at = time.monotonic()
        self._at_limit |= delta.finish == "length"
        self._tally.add(delta)

    def add_to(self, sums: ModelSums, outcome: Outcome) -> None:
        """Its end: add what it took. Where it broke off, what is known of it."""
        sums.outcomes["length" if outcome == "stop" and self._at_limit else outcome] += 1
        usage, timings = self._tally.usage(), self._tally.timings()
        sums.completion += usage.completion_tokens
        if self._first_at is not None:
            sums.first_token.observe(self._first_at - self._opened_at)
        if timings is None:
            read = min(self._reading.done, usage.prompt_tokens)
            sums.prompt_reused += self._reading.reused
            sums.prompt_computed += max(0, read - self._reading.reused)
            return
        sums.prompt_restored += timings.restored_tokens
        sums.prompt_reused += timings.reused_tokens - timings.restored_tokens
        sums.prompt_computed += timings.prompt_tokens - timings.reused_tokens
        sums.drafted += timings.drafted_tokens
        sums.accepted += timings.accepted_tokens
        sums.queue.observe(timings.queue_s)
        sums.prefill.observe(timings.prefill_s)
        sums.decode.observe(timings.decode_s)


class Meter:
    """One for each app."""

    def __init__(self) -> None:
        self.by_model: dict[str, ModelSums] = {}
        """The key "" is for requests that never got to a model."""
        self._open: set[WatchedAnswer] = set()

    @asynccontextmanager
    async def watch(
        self, answering: AbstractAsyncContextManager[Answer]
    ) -> AsyncIterator[WatchedAnswer]:
        """Run an answer and count it when it ends, however it does."""
        watched: WatchedAnswer | None = None
        outcome: Outcome = "cancelled"
        try:
            async with answering as answer:
                watched = WatchedAnswer(answer)
                self._open.add(watched)
                yield watched
        except EngineError:
            outcome = "error"
            raise
        finally:
            if watched is None:
                self._sums("").outcomes[outcome] += 1
            else:
                self._open.discard(watched)
                watched.add_to(self._sums(watched.model), "stop" if watched.complete else outcome)

    def running(self) -> Counter[str]:
        """Answers whose prompt is being read or that are being written, by model."""
        return _by_model(answer for answer in self._open if answer.has_begun)

    def waiting(self) -> Counter[str]:
        """Answers in line or waiting for their model to load, by model."""
        return _by_model(answer for answer in self._open if not answer.has_begun)

    def _sums(self, model: str) -> ModelSums:
        return self.by_model.setdefault(model, ModelSums())


def _by_model(answers: Iterable[WatchedAnswer]) -> Counter[str]:
    return Counter(answer.model for answer in answers)
