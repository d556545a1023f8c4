"""Writing one request's answer down: `Shape`, with one subclass for each endpoint.

A shape is made for one request, is told its events in order, and makes the reply's pieces out of them,
either chunks or a whole. Pure. Subclasses: `engine.server.chat_shape`, `engine.server.text_shape`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from engine.api.replies import Pace, Progress, ReadingProgress, Reply, Usage
from engine.ipc.messages import Delta
from engine.server.tally import Tally
from engine.supervisor.answer import Loading, PromptReading
from engine.types import FinishReason, TokenLogprob


@dataclass(frozen=True, slots=True)
class Heading:
    """What every piece of a reply begins with, known once the engine took the request."""

    request_id: str
    model: str
    created: int
    """Seconds since the epoch."""
    fingerprint: str


@dataclass(slots=True)
class Gathered:
    """One choice of a whole reply while it grows."""

    content: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    logprobs: list[TokenLogprob] = field(default_factory=list)
    finish: FinishReason | None = None


class Shape(ABC):
    """The common part. `open` comes first, then `accepted`, then one `delta` or `gather` for each delta."""

    id_prefix: str

    def __init__(
        self, *, seed: int, num_choices: int, with_logprobs: bool, with_usage: bool = False
    ) -> None:
        self._seed = seed
        self._with_logprobs = with_logprobs
        self._with_usage = with_usage
        self._tally = Tally()
        self._choices = [Gathered() for _ in range(num_choices)]
        self._head: dict[str, Any] = {}
        self.tells_tokens = False
        """Our own clients get the count of tokens beside the text."""

    def open(self, heading: Heading) -> None:
        """Settle who answers."""
        self._head = {
            "id": self.id_prefix + heading.request_id,
            "created": heading.created,
            "model": heading.model,
            "system_fingerprint": heading.fingerprint,
        }

    def accepted(self, prompt_tokens: int) -> Iterable[msgspec.Struct]:
        """Chunks that say the answer begins."""
        self._tally.prompt_tokens = prompt_tokens
        return self._beginning()

    def delta(self, delta: Delta) -> Iterable[msgspec.Struct]:
        """Chunks for new text, logprobs and ends; none when a delta only holds bytes back."""
        self._tally.add(delta)
        if delta.content or delta.reasoning or delta.logprobs:
            tokens = self._tally.tokens_of(delta.choice)
            more = {"inglenook": Progress(tokens=tokens)} if self.tells_tokens else {}
            yield self._chunk([self._text_choice(delta)], **more)
        if delta.finish is not None:
            pace = Pace.of(delta.timings) if delta.timings is not None else UNSET
            yield self._chunk([self._end_choice(delta.choice, delta.finish)], timings=pace)

    def progress(self, event: Loading | PromptReading) -> msgspec.Struct:
        """A chunk without choices, for clients that asked for our own events."""
        if isinstance(event, Loading):
            progress = Progress(loading=event.fraction)
        else:
            reading = ReadingProgress(event.done, event.total, event.again)
            progress = Progress(reading=reading)
        return self._chunk([], inglenook=progress)

    def closing(self) -> Iterable[msgspec.Struct]:
        """The usage chunk, where it was asked for."""
        if self._with_usage:
            yield self._chunk([], usage=self._tally.usage())

    def gather(self, delta: Delta) -> None:
        """Keep a delta for the whole reply."""
        self._tally.add(delta)
        choice = self._choices[delta.choice]
        choice.content.append(delta.content)
        choice.reasoning.append(delta.reasoning)
        choice.logprobs += delta.logprobs
        choice.finish = delta.finish or choice.finish

    @abstractmethod
    def whole(self) -> Reply:
        """The whole reply, after everything was gathered."""

    @abstractmethod
    def _beginning(self) -> Iterable[msgspec.Struct]: ...

    @abstractmethod
    def _text_choice(self, delta: Delta) -> msgspec.Struct: ...

    @abstractmethod
    def _end_choice(self, index: int, finish: FinishReason) -> msgspec.Struct: ...

    @abstractmethod
    def _chunk(self, choices: list[Any], **more: Any) -> msgspec.Struct: ...

    @property
    def _no_usage(self) -> Usage | UnsetType | None:
        """`usage` of ordinary chunks: null where a usage chunk will follow, else left out."""
        return None if self._with_usage else UNSET
