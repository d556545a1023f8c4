"""Sending one event stream: what is ready goes out in one write, silence is filled with comments.

Zone: service, event loop. The answer's task puts events in; a writer task sends them, so that a slow
client never holds the answer's task in a send, and several events of one moment share a write.
"""

import asyncio

from starlette.types import Send

from engine.aio import spawn
from engine.api import sse

PING_SECONDS = 15.0
FULL_BYTES = 256 * 1024
"""Past this the answer's task should wait; the engine then merges what comes."""
_HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    "x-accel-buffering": "no",
}


class Outbox:
    """The way out of one streamed reply. The status line goes out with the first thing put in."""

    def __init__(self, send: Send, *, ping_seconds: float = PING_SECONDS) -> None:
        self._send = send
        self.headers = {**_HEADERS}
        """May be added to until something was put in."""
        self._ping_seconds = ping_seconds
        self._parts: list[bytes] = []
        self._pending = 0
        self._closed = False
        self._wake = asyncio.Event()
        self._space = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time()
        self._timer = self._loop.call_later(ping_seconds, self._tick)
        self._writer = spawn(self._write(), name="event stream writer")
        self.opened = False

    @property
    def full(self) -> bool:
        """Has the client fallen behind?"""
        return self._pending > FULL_BYTES

    def put(self, data: bytes) -> None:
        """Queue whole events."""
        self.opened = True
        self._parts.append(data)
        self._pending += len(data)
        self._wake.set()

    async def room(self) -> None:
        """Wait until the client has caught up."""
        while self.full:
            self._space.clear()
            await self._space.wait()

    async def finish(self) -> None:
        """Send the rest and end the reply."""
        self._timer.cancel()
        self._closed = True
        self._wake.set()
        await self._writer

    def abandon(self) -> None:
        """Send nothing more. Idempotent."""
        self._timer.cancel()
        self._writer.cancel()

    def _tick(self) -> None:
        """Ping after a silence. The first ping also opens the stream, so that nobody times out."""
        now = self._loop.time()
        due = self._last + self._ping_seconds
        if now >= due:
            due = now + self._ping_seconds
            if not self._pending:
                self.put(sse.PING)
        self._timer = self._loop.call_at(due, self._tick)

    async def _write(self) -> None:
        await self._wake.wait()
        headers = [(name.encode(), value.encode()) for name, value in self.headers.items()]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        while self._parts or not self._closed:
            self._wake.clear()
            if self._parts:
                data = b"".join(self._parts)
                self._parts.clear()
                await self._send({"type": "http.response.body", "body": data, "more_body": True})
                self._pending -= len(data)
                self._last = self._loop.time()
                self._space.set()
            else:
                await self._wake.wait()
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})
