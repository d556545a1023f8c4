"""Ending running answers early: the client left, or the service stops.

Zone: service, event loop. An answer runs in its request's own task, inside `Answers.interruptible`; a
watcher reads `receive`, because a disconnect shows there at once and at a send only when one is made.
The same scheme as `asyncio.timeout`: cancel the task, then turn the cancellation into the reason.
"""

import asyncio
from types import TracebackType
from typing import Self

from starlette.requests import ClientDisconnect
from starlette.types import Receive

from engine.aio import spawn
from engine.errors import EngineError


class Answers:
    """The answers that run now. One object for each app."""

    def __init__(self) -> None:
        self._running: set[Interruption] = set()
        self._ended: EngineError | None = None

    def interruptible(self, receive: Receive | None, *, is_answer: bool = False) -> "Interruption":
        """A context for the current task.

        Args:
            receive: watched for a disconnect, after the body was read; None watches nothing.
            is_answer: counts in `count`.

        Raises:
            ClientDisconnect: on leaving, when the client was gone first.
            EngineError: on entering or leaving, when `end_all` came first.
        """
        return Interruption(self._running, self._ended, receive, is_answer=is_answer)

    @property
    def count(self) -> int:
        """How many answers run now; other things that can be interrupted do not count."""
        return sum(interruption.is_answer for interruption in self._running)

    def end_others(self, reason: EngineError) -> None:
        """End what runs and is no answer: nobody should wait for an event stream."""
        for interruption in list(self._running):
            if not interruption.is_answer:
                interruption.cut(reason)

    def end_all(self, reason: EngineError) -> None:
        """End what runs, and what comes later, with `reason`."""
        self._ended = reason
        for interruption in list(self._running):
            interruption.cut(reason)


class Interruption:
    """One running answer, as seen by those who may end it."""

    def __init__(
        self,
        running: "set[Interruption]",
        ended: EngineError | None,
        receive: Receive | None,
        *,
        is_answer: bool,
    ) -> None:
        self.is_answer = is_answer
        self._running = running
        self._ended = ended
        self._receive = receive
        self._reason: Exception | None = None
        self._task: asyncio.Task[object] | None = None
        self._watcher: asyncio.Task[None] | None = None

    def cut(self, reason: Exception) -> None:
        """Cancel the task, once."""
        if self._reason is None and self._task is not None:
            self._reason = reason
            self._task.cancel()

    async def __aenter__(self) -> Self:
        if self._ended is not None:
            raise self._ended
        self._task = asyncio.current_task()
        self._cancelling = self._task.cancelling() if self._task else 0
        self._running.add(self)
        if self._receive is not None:
            self._watcher = spawn(self._watch(self._receive), name="disconnect watcher")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._running.discard(self)
        if self._watcher is not None:
            self._watcher.cancel()
        if self._reason is None or self._task is None:
            return
        ours = self._task.uncancel() <= self._cancelling
        if ours and kind is asyncio.CancelledError:
            raise self._reason from None

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.cut(ClientDisconnect())
