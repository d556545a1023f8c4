"""What the supervisor offers to the fronts: `Engine`, and the values that it gives out.

Zone: service process, event loop. `engine.server` is written against `Engine`;
`engine.supervisor.supervisor.Supervisor` is its implementation.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from math import prod
from typing import Protocol

from engine.api.kept import KeptOnDisk
from engine.api.models import ModelDetails, StarterInfo
from engine.errors import ModelFormatError
from engine.formats.filenames import printable
from engine.formats.gguf import read_header
from engine.hub.library import LibraryModel
from engine.hub.removal import Removal
from engine.ipc.messages import ChatPrompt, Delta, TextPrompt, TokenPrompt
from engine.types import ModelState, SamplingParams

_SHOWN = 120
"""Characters of a text out of a file."""


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """A validated request for one or more answers to one prompt."""

    prompt: ChatPrompt | TextPrompt | TokenPrompt
    sampling: SamplingParams
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    num_choices: int = 1
    ignore_end: bool = False
    schema: str = ""
    """See `engine.ipc.messages.Generate` for this and the following."""
    reads_only: bool = False
    priority: int = 0
    cache_key: str = ""


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
    origin: str = ""
    """Empty: the model folder; `added`, or the program that keeps it."""
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
    num_running: int = 0
    """Open answers."""
    loaded_since: float | None = None
    """When it became ready, seconds since the epoch."""
    load_seconds: float | None = None
    """What its load took."""


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

    async def read_ahead(self, model: str | None, request: AnswerRequest) -> bool:
        """Begin to read a prompt that may come next, in place of the last one so read.

        Returns:
            False: the model is not loaded, and nothing happens.

        Raises:
            ModelNotFound: there is no such model.
        """

    async def models(self) -> list[ModelStatus]:
        """The library, sorted by id."""

    @property
    def notice(self) -> str | None:
        """The latest trouble with the library itself, for the user."""

    async def details(self, model: str) -> ModelDetails:
        """What the model's file says about itself, and its plan or why there is none."""

    async def sampling(self, model: str | None, params: SamplingParams) -> SamplingParams:
        """What a request to a model (None: the default one) gets where it is silent.

        Args:
            model: of the library; of one that there is not, nothing is known.
            params: what holds for all models.
        """

    async def add(self, path: str) -> ModelStatus:
        """Make a file known that lies anywhere; a known one is just returned.

        Raises:
            InvalidRequest: the path is not absolute, or no file is there.
            ModelFormatError: it is not a whole model.
            SetupError: the list cannot be written.
        """

    async def remove(self, model: str, *, delete_file: bool = False) -> Removal:
        """Unload a model and take it out of the library; at most its file goes to the trash.

        Args:
            model: of the library.
            delete_file: also the files of one that was added from elsewhere, such as a download.

        Raises:
            InvalidRequest: it is answering (status 409), or cannot be removed from here.
            ModelNotFound, SetupError: as `Library.remove`.
        """

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

    async def starter(self) -> StarterInfo:
        """The starter model: is it there, or on its way?"""

    async def start_starter(self) -> StarterInfo:
        """Begin to fetch it, beside everything else. Idempotent."""

    async def cancel_starter(self) -> StarterInfo:
        """Stop fetching and leave nothing behind; also forgets a failure. Idempotent."""

    async def kept(self) -> KeptOnDisk:
        """What is written down of conversations that models have read."""

    async def forget(self, key: str | None) -> None:
        """Drop what is kept of the conversations of one owner (`AnswerRequest.cache_key`); None: everything.

        Loaded models are told and do it at once. Idempotent.

        Raises:
            EngineError: not everything could be deleted.
        """

    def changes(self) -> AsyncGenerator[None, None]:
        """One item at once, then one whenever `models` or `starter` would tell something new.

        Changes that come while the last item is being handled are one item. Never ends by itself;
        close it to stop listening.
        """


class Changes:
    """Tells everybody who listens that something changed; what, they ask for."""

    def __init__(self) -> None:
        self._listeners: set[asyncio.Event] = set()

    def note(self) -> None:
        """Something changed. Costs next to nothing."""
        for changed in self._listeners:
            changed.set()

    @property
    def num_listeners(self) -> int:
        """Who is told."""
        return len(self._listeners)

    async def listen(self) -> AsyncGenerator[None, None]:
        """See `Engine.changes`."""
        changed = asyncio.Event()
        changed.set()
        self._listeners.add(changed)
        try:
            while True:
                await changed.wait()
                changed.clear()
                yield
        finally:
            self._listeners.discard(changed)


def describe(model: LibraryModel) -> ModelDetails:
    """What the files say. Blocking: of a split model all parts are read."""
    header = model.header
    return ModelDetails(
        id=model.id,
        path=printable(model.path),
        files=tuple(printable(file) for file in model.files),
        parts_total=model.parts_total,
        size_bytes=model.size_bytes,
        registered=model.registered,
        origin=model.origin,
        companions=tuple(printable(file) for file in model.companions),
        name=model.name or "",
        architecture=_one_line(model.architecture),
        quantization=model.quantization or "",
        license=_one_line(header.metadata.get("general.license") if header else None),
        parameters=_parameters(model),
        context_length=model.context_length,
        layers=header.num_layers if header else None,
        embedding_length=header.embedding_length if header else None,
        vocabulary=header.vocab_size if header else None,
        has_chat_template=bool(header and header.chat_template),
        problem=model.problem,
    )


def _parameters(model: LibraryModel) -> int | None:
    if model.header is None or model.parts_present != model.parts_total:
        return None
    try:
        others = [read_header(file) for file in model.files[1:]]
    except ModelFormatError:
        return None
    tensors = [tensor for header in (model.header, *others) for tensor in header.tensors]
    if any(tensor.num_bytes is None for tensor in tensors):
        return None  # of unknown type: only a known one's size is held against the file's
    return sum(prod(tensor.shape) for tensor in tensors)


def _one_line(value: object) -> str:
    return printable(value[:_SHOWN]) if isinstance(value, str) else ""
