"""One running answer: what was received so far, and the queue to its reader.

Zone: service process, event loop. Holds every token id received, so that a new worker can go on
from the last one. Never drops text: what a slow reader leaves waiting is merged, so the queue is
bounded by the answer itself.
"""

import asyncio
from collections.abc import AsyncIterator

from engine.errors import EngineError
from engine.ipc.messages import Abort, Accepted, Delta, Forget, Generate, TokenPrompt, merged
from engine.supervisor.answer import (
    AnswerEvent,
    AnswerRequest,
    Loading,
    PromptAccepted,
    PromptReading,
)
from engine.supervisor.next_turn import next_turn_after


class RunningAnswer:
    """Implements `engine.supervisor.answer.Answer`."""

    def __init__(self, request_id: str, model: str, request: AnswerRequest) -> None:
        self.request_id = request_id
        self.model = model
        self._request = request
        self._prompt: TokenPrompt | None = None
        self._tokens: list[list[int]] = [[] for _ in range(request.num_choices)]
        self._finished: set[int] = set()
        self._said: list[str] = []
        """The first choice's text, without what was only thought."""
        self._ended_itself = False
        self.sent = False
        """The present worker has it."""
        self.strikes = 0
        """Workers that died in a row while computing it, without a token in between."""
        self.num_restarts = 0
        self.is_forgotten = False
        """Nothing is to be kept of its conversation."""
        self._pending: list[AnswerEvent] = []
        self._error: EngineError | None = None
        self._wake = asyncio.Event()

    # --- the host's side ------------------------------------------------------------------------

    @property
    def complete(self) -> bool:
        """Every choice has its finish, or the answer failed."""
        return self._error is not None or len(self._finished) == self._request.num_choices

    def parting(self) -> list[Abort | Forget]:
        """What its worker must hear when it is dropped."""
        told: list[Abort | Forget] = []
        if self.sent and not self.complete:
            told.append(Abort(self.request_id))
        if self.is_forgotten:
            told.append(Forget(self.cache_key))
        return told

    @property
    def cache_key(self) -> str:
        """Whose it is; empty: nobody's."""
        return self._request.cache_key

    def next_turn(self) -> AnswerRequest | None:
        """Once complete: reads what the next turn begins with. None where none is to be expected."""
        if self.is_forgotten or not self._ended_itself:
            return None
        return next_turn_after(self._request, "".join(self._said))

    def to_message(self) -> Generate:
        """What a worker needs to begin, or to go on after another worker's death."""
        request = self._request
        return Generate(
            self.request_id,
            self._prompt or request.prompt,
            request.sampling,
            request.max_tokens,
            list(request.stop),
            request.num_choices,
            request.ignore_end,
            resume=self._tokens if any(self._tokens) else [],
            finished=sorted(self._finished),
            schema=request.schema,
            reads_only=request.reads_only,
            priority=request.priority,
            cache_key=request.cache_key,
        )

    def accepted(self, message: Accepted) -> None:
        """The worker tokenized the prompt. From now on the ids are used, whatever the worker."""
        if self._prompt is None:
            self._prompt = TokenPrompt(message.prompt, message.reasoning_prefilled)
            self._put(PromptAccepted(len(message.prompt), message.notice))

    def reading(self, done: int, total: int, reused: int) -> None:
        """Prefill progress."""
        self._put(PromptReading(done, total, reused, again=self.num_restarts > 0))

    def loading(self, fraction: float) -> None:
        """Load progress."""
        self._put(Loading(fraction))

    def delta(self, delta: Delta) -> None:
        """New tokens: recorded for continuation before anybody sees them."""
        self._tokens[delta.choice] += delta.tokens
        if delta.choice == 0:
            self._said.append(delta.content)
            self._ended_itself = delta.finish == "stop"
        self.strikes = 0
        if delta.finish is not None:
            self._finished.add(delta.choice)
        self._put(delta)

    def fail(self, error: EngineError) -> None:
        """End with an error, after what is already waiting."""
        if not self.complete:
            self._error = error
            self._wake.set()

    def worker_died(self) -> None:
        """The worker that had it is gone."""
        if self.sent:
            self.sent = False
            self.strikes += 1
            self.num_restarts += 1

    def _put(self, event: AnswerEvent) -> None:
        pending = self._pending
        if isinstance(event, Delta):
            for i, waiting in enumerate(pending):
                if isinstance(waiting, Delta) and waiting.choice == event.choice:
                    pending[i] = merged(waiting, event)
                    return
        elif pending and type(pending[-1]) is type(event):
            pending.pop()  # only the newest progress matters
        pending.append(event)
        self._wake.set()

    # --- the reader's side ----------------------------------------------------------------------

    def __aiter__(self) -> AsyncIterator[AnswerEvent]:
        """See Answer."""
        return self

    async def __anext__(self) -> AnswerEvent:
        """The next event, once there is one."""
        while not self._pending:
            if self._error is not None:
                raise self._error
            if self.complete:
                raise StopAsyncIteration
            self._wake.clear()
            await self._wake.wait()
        return self._pending.pop(0)
