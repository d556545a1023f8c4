"""Runs the engine's client on one asyncio thread; replies and events come back in the GUI thread.

The only module of the window that makes a thread. One queued signal crosses at a time, however much
waits: what piled up while the GUI was busy is handed out in one go. Neighbours: `app.requester` (the
other side), `app.outbox` (what crosses).
"""

import asyncio
import itertools
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from PySide6.QtCore import QObject, Qt, Signal, Slot

from app.garbage import Garbage
from app.outbox import Cancelled, End, Outbox
from app.requester import CLOSE_SECONDS, Requester, Work, no_service
from engine.aio import spawn
from engine.api.events import ChatEvent
from engine.api.requests import ChatRequest
from engine.errors import EngineError

if TYPE_CHECKING:
    from engine.client.client import Client

T = TypeVar("T")


class Handle(QObject):
    """A call that runs. Its reply comes once, and not after `cancel()`; it need not be kept."""

    succeeded = Signal(object)
    failed = Signal(object)

    def __init__(self, cancel: Callable[[], None]) -> None:
        super().__init__()
        self.cancel = cancel


class Bridge(QObject):
    """The client, as the GUI thread sees it. All methods but `cancel` belong to that thread.

    Signals, emitted in the GUI thread:
        event(int stream, object ChatEvent): in order; none after `cancel`.
        finished(int stream, object error): once for each stream; None, an EngineError or Cancelled.
    """

    event = Signal(int, object)  # type: ignore[assignment] # Qt still finds its own QObject.event
    finished = Signal(int, object)
    _filled = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._numbers = itertools.count(1)
        self._calls: dict[int, Handle] = {}
        self._live: set[int] = set()  # what neither ended nor was cancelled
        self._outbox = Outbox()
        self._filled.connect(self._deliver, Qt.ConnectionType.QueuedConnection)
        self._loop = asyncio.new_event_loop()
        self._requester = Requester(self._put)
        self._garbage = Garbage(self)
        self._thread = threading.Thread(target=self._run, name="client-io", daemon=True)
        self._thread.start()

    def connect_to(self, url: str, key: str) -> None:
        """Use this service from now on; what runs ends on the connection it began on."""
        self._post(self._requester.use, url, key)

    def disconnect_client(self) -> None:
        """Until the next `connect_to`, everything fails with ServiceUnavailable."""
        self._post(self._requester.use)

    def call(
        self,
        make: Callable[["Client"], Awaitable[T]],
        ok: Callable[[T], None],
        failed: Callable[[EngineError], None],
    ) -> Handle:
        """Await `make(client)`; then `ok` gets its result or `failed` the error: bound slots."""
        number = next(self._numbers)
        handle = Handle(partial(self.cancel, number))
        handle.succeeded.connect(ok)
        handle.failed.connect(failed)
        self._calls[number] = handle
        self._start(number, make)
        return handle

    def stream(self, request: ChatRequest) -> int:
        """Start an answer; returns the number that its signals carry."""
        number = next(self._numbers)

        async def read(client: "Client") -> None:
            async with client.chat(request) as answer:
                async for event in answer:
                    self._put(number, event)

        self._start(number, read)
        return number

    def cancel(self, stream: int) -> None:
        """End it; `finished` follows once its connection is closed. Idempotent, from any thread."""
        self._live.discard(stream)
        self._post(self._requester.cancel, stream)

    def close(self) -> None:
        """End everything that runs, and the thread; streams have `finished` when this returns."""
        self._post(lambda: spawn(self._wind_up(), name="end of the bridge"))
        self._thread.join(2 * CLOSE_SECONDS)
        self._garbage.close()
        self._deliver()

    def _start(self, number: int, work: Work) -> None:
        self._live.add(number)
        if not self._post(self._requester.begin, number, work):
            self._put(number, End(error=no_service()))

    @Slot()
    def _deliver(self) -> None:
        for number, item in self._outbox.take():
            if isinstance(item, End):
                self._finish(number, item)
            elif number in self._live:
                self.event.emit(number, item)

    def _finish(self, number: int, end: End) -> None:
        error = end.error if number in self._live else Cancelled()
        self._live.discard(number)
        handle = self._calls.pop(number, None)
        if handle is None:
            self.finished.emit(number, error)
        elif error is None:
            handle.succeeded.emit(end.value)
        elif isinstance(error, EngineError):
            handle.failed.emit(error)

    def _put(self, number: int, item: ChatEvent | End) -> None:
        if self._outbox.put(number, item):
            self._filled.emit()

    def _post(self, action: Callable[..., object], *arguments: object) -> bool:
        with suppress(RuntimeError):  # after close
            self._loop.call_soon_threadsafe(action, *arguments)
            return True
        return False

    def _run(self) -> None:
        self._loop.run_forever()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    async def _wind_up(self) -> None:
        await self._requester.close()
        self._loop.stop()
