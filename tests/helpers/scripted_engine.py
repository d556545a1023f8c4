"""An `Engine` that follows a script: the double T of the cases.

A script is a function from a request to steps. A step is an event (it is given out), a number (so many
seconds pass), an asyncio.Event (waited for) or an exception (raised). Any `str` is a delta of choice 0.
"""

import asyncio
import itertools
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from engine.api.kept import KeptOnDisk
from engine.api.models import ModelDetails, StarterInfo
from engine.errors import InvalidRequest, ModelNotFound, ServiceUnavailable
from engine.hub.removal import Removal
from engine.ipc.messages import Delta
from engine.supervisor.answer import (
    AnswerEvent,
    AnswerRequest,
    Changes,
    Loading,
    ModelStatus,
    PromptAccepted,
    PromptReading,
)
from engine.types import FinishReason, ModelState, SamplingParams, Timings, TokenLogprob

Step = AnswerEvent | str | float | asyncio.Event | BaseException
Script = Callable[[AnswerRequest], Iterable[Step]]

PROMPT_TOKENS = 7


def delta(
    content: str = "",
    *,
    choice: int = 0,
    reasoning: str = "",
    tokens: Sequence[int] = (1,),
    logprobs: Sequence[TokenLogprob] = (),
    finish: FinishReason | None = None,
    completion_tokens: int = 0,
) -> Delta:
    """A delta; with a finish it carries timings, as a worker's do."""
    timings = None
    if finish is not None:
        timings = Timings(0.001, 0.02, 0.1, PROMPT_TOKENS, 3, completion_tokens)
    return Delta(
        request="",
        choice=choice,
        tokens=list(tokens),
        content=content,
        reasoning=reasoning,
        logprobs=list(logprobs),
        finish=finish,
        timings=timings,
    )


def say(*pieces: str, finish: FinishReason = "stop") -> Script:
    """Every choice says the pieces, one token each, in turns."""

    def script(request: AnswerRequest) -> Iterable[Step]:
        yield PromptAccepted(PROMPT_TOKENS)
        yield PromptReading(PROMPT_TOKENS, PROMPT_TOKENS, 3, again=False)
        for piece in pieces:
            for choice in range(request.num_choices):
                yield delta(piece, choice=choice)
        for choice in range(request.num_choices):
            yield delta(choice=choice, tokens=(), finish=finish, completion_tokens=len(pieces))

    return script


def endless(piece: str = "word ", every: float = 0.005) -> Script:
    """Goes on until it is aborted (a test's timeout bounds it)."""

    def script(_: AnswerRequest) -> Iterable[Step]:
        yield PromptAccepted(PROMPT_TOKENS)
        for _turn in range(100_000):
            yield piece
            yield every

    return script


def stuck_reading(_: AnswerRequest) -> Iterable[Step]:
    """A prefill that takes very long."""
    yield PromptAccepted(PROMPT_TOKENS)
    yield PromptReading(1, PROMPT_TOKENS, 0, again=False)
    yield 600.0


def stuck_loading(_: AnswerRequest) -> Iterable[Step]:
    """A load that takes very long."""
    yield Loading(0.1)
    yield 600.0


class ScriptedAnswer:
    """One running answer."""

    def __init__(self, request_id: str, model: str, steps: Iterable[Step]) -> None:
        self.request_id = request_id
        self.model = model
        self.done = False
        self._steps = steps

    async def __aiter__(self) -> AsyncIterator[AnswerEvent]:
        for step in self._steps:
            if isinstance(step, BaseException):
                raise step
            if isinstance(step, asyncio.Event):
                await step.wait()
            elif isinstance(step, (int, float)):
                await asyncio.sleep(step)
            elif isinstance(step, str):
                yield delta(step)
            else:
                yield step
        self.done = True


class ScriptedEngine:
    """Serves models `tiny` (the default one) and `org/big.gguf`.

    Attributes:
        requests: (model, request) of every answer that was asked for.
        readings: the same of what was read ahead.
        forgotten: keys, and None for everything.
        running: ids of answers that were not left yet.
        finished, aborted: ids of answers left after, and before, their end.
    """

    def __init__(self, script: Script | None = None, models: Sequence[str] | None = None) -> None:
        self.script = script or say("Hello", " world", "!")
        self.requests: list[tuple[str | None, AnswerRequest]] = []
        self.readings: list[tuple[str, AnswerRequest]] = []
        self.forgotten: list[str | None] = []
        self.running: set[str] = set()
        self.finished: list[str] = []
        self.aborted: list[str] = []
        self.stopping = False
        self.notice: str | None = None
        self.starter_info = StarterInfo(state="absent")
        self.listeners = Changes()
        self._changed = asyncio.Event()
        self._numbers = itertools.count(1)
        self._models = {
            name: ModelStatus(name, "unloaded", f"/models/{name}", 1000, 1_700_000_000)
            for name in (models if models is not None else ("tiny", "org/big.gguf"))
        }

    @asynccontextmanager
    async def answer(
        self, model: str | None, request: AnswerRequest
    ) -> AsyncIterator[ScriptedAnswer]:
        self.requests.append((model, request))
        if self.stopping:
            raise ServiceUnavailable("The engine is stopping.", hint="Start it again.")
        name = next(iter(self._models)) if model is None else self._find(model)
        answer = ScriptedAnswer(f"r{next(self._numbers)}", name, self.script(request))
        self.running.add(answer.request_id)
        self._note()
        try:
            yield answer
        finally:
            self.running.discard(answer.request_id)
            (self.finished if answer.done else self.aborted).append(answer.request_id)
            self._note()

    async def read_ahead(self, model: str | None, request: AnswerRequest) -> bool:
        name = next(iter(self._models)) if model is None else self._find(model)
        if self._models[name].state != "ready":
            return False
        self.readings.append((name, request))
        return True

    async def kept(self) -> KeptOnDisk:
        return KeptOnDisk(5_000_000, 3, "/cache/conversations")

    async def forget(self, key: str | None) -> None:
        self.forgotten.append(key)

    async def until(self, condition: Callable[[], bool], seconds: float = 5.0) -> None:
        """Wait for a condition on this engine's attributes; TimeoutError if it does not come."""
        async with asyncio.timeout(seconds):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def models(self) -> list[ModelStatus]:
        return [self._models[name] for name in sorted(self._models)]

    async def sampling(self, model: str | None, params: SamplingParams) -> SamplingParams:
        return params

    async def details(self, model: str) -> ModelDetails:
        status = self._models[self._find(model)]
        return ModelDetails(
            id=status.id,
            path=status.path,
            files=(status.path,),
            parts_total=1,
            size_bytes=status.size_bytes,
            registered=False,
            plan=await self.plan(model),
        )

    async def add(self, path: str) -> ModelStatus:
        name = path.rpartition("/")[2]
        self._models[name] = ModelStatus(name, "unloaded", path, 1000, 1_700_000_000)
        self.listeners.note()
        return self._models[name]

    async def remove(self, model: str, *, delete_file: bool = False) -> Removal:
        if self.running:
            raise InvalidRequest("It is answering.", hint="Wait.", status=409)
        del self._models[self._find(model)]
        self.listeners.note()
        return "trashed"

    async def starter(self) -> StarterInfo:
        return self.starter_info

    async def start_starter(self) -> StarterInfo:
        self.starter_info = StarterInfo(state="fetching", stage="Downloading", fraction=0.5)
        self.listeners.note()
        return self.starter_info

    async def cancel_starter(self) -> StarterInfo:
        self.starter_info = StarterInfo(state="absent")
        self.listeners.note()
        return self.starter_info

    def changes(self) -> AsyncGenerator[None, None]:
        return self.listeners.listen()

    async def load(self, model: str) -> ModelStatus:
        return self._set(model, "ready")

    async def unload(self, model: str) -> ModelStatus:
        return self._set(model, "unloaded")

    async def hardware(self) -> dict[str, object]:
        return {"cores": 2, "ram_bytes": 8 << 30}

    async def plan(self, model: str) -> dict[str, object]:
        return {"model": self._find(model), "backend": "fake", "reasons": ["no GPU"]}

    def _set(self, model: str, state: ModelState) -> ModelStatus:
        name = self._find(model)
        self._models[name] = replace(self._models[name], state=state)
        self.listeners.note()
        return self._models[name]

    def _find(self, model: str) -> str:
        if model not in self._models:
            names = ", ".join(sorted(self._models))
            raise ModelNotFound(f"There is no model {model}.", hint=f"Models here: {names}.")
        return model

    def _note(self) -> None:
        self._changed.set()
