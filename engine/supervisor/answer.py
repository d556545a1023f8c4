"""What the supervisor offers to the fronts: `Engine`, and the events of one running answer.

Zone: service process, event loop. `engine.server` is written against `Engine`;
`engine.supervisor.supervisor.Supervisor` is its implementation.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from engine.ipc.messages import ChatPrompt, Delta, TextPrompt, TokenPrompt
from engine.types import ModelState, SamplingParams


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """A validated request for one or more answers to one prompt."""

    prompt: ChatPrompt | TextPrompt | TokenPrompt
    sampling: SamplingParams
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    num_choices: int = 1
    ignore_end: bool = False


@dataclass(frozen=True, slots=True)
class Loading:
    """The model is being loaded for this request."""

    fraction: float


@dataclass(frozen=True, slots=True)
class PromptAccepted:
    """The prompt passed the template and fits. Comes once, before any Delta."""

    prompt_tokens: int
    notice: str = ""
    """What the user should know, such as a fallback chat template."""


@dataclass(frozen=True, slots=True)
class PromptReading:
    """Prefill progress in tokens."""

    done: int
    total: int
    reused: int
    again: bool
    """True when a restarted worker re-reads an answer that had begun."""


AnswerEvent = Loading | PromptAccepted | PromptReading | Delta


class Answer(Protocol):
    """A running answer. Iterating ends after every choice had its finish; failures raise EngineError."""

    @property
    def request_id(self) -> str:
        """Unique in this service."""

    @property
    def model(self) -> str:
        """The id of the model that really answers."""

    def __aiter__(self) -> AsyncIterator[AnswerEvent]:
        """Events in order. Deltas a slow reader left waiting are merged per choice, never dropped."""


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """One model of the library and what it is doing."""

    id: str
    state: ModelState
    path: str
    size_bytes: int
    created: int
    """Modification time of the file, seconds since the epoch."""
    description: str = ""
    quantization: str = ""
    n_ctx_train: int | None = None
    n_ctx: int | None = None
    """Of the loaded worker."""
    progress: float | None = None
    """While loading."""
    resident_bytes: int | None = None
    backend: str | None = None
    reasons: tuple[str, ...] = ()
    """Why this backend and these settings, in plain words."""
    problem: str | None = None
    """Why it cannot be used, or why the last load failed."""


class Engine(Protocol):
    """All that the fronts may ask of the engine."""

    def answer(
        self, model: str | None, request: AnswerRequest
    ) -> AbstractAsyncContextManager[Answer]:
        """Run a request on a model (None: the default one), loading it if need be.

        Leaving the context aborts what still runs; the compute is freed at once.

        Raises:
            ModelNotFound: on entering.
            ServiceUnavailable: on entering, while stopping.
        """

    async def models(self) -> list[ModelStatus]:
        """The library, sorted by id."""

    async def load(self, model: str) -> ModelStatus:
        """Load now; returns when ready.

        Raises:
            EngineError: the reason why not.
        """

    async def unload(self, model: str) -> ModelStatus:
        """Stop the model's worker once its answers are done. Idempotent."""

    async def hardware(self) -> dict[str, object]:
        """The machine, JSON-ready."""

    async def plan(self, model: str) -> dict[str, object]:
        """Backend, threads, context, memory and reasons for a model, JSON-ready."""
