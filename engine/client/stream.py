"""One streamed chat answer, from the client's side. Leaving it closes the connection: that aborts it.

Zone: any event loop. Neighbours: `engine.client.client`, `engine.api.events` (what comes out).
"""

from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Self

import httpx2
import msgspec
from msgspec import UNSET

from engine.api import sse
from engine.api.events import (
    ChatEvent,
    Counted,
    Finished,
    Loading,
    Reading,
    Started,
    TextDelta,
)
from engine.api.failure import from_body
from engine.api.replies import ChatChunk, ChunkChoice, Progress
from engine.client.failure import checked, lost
from engine.errors import EngineError, ServiceUnavailable


class ChatStream:
    """An answer being streamed: enter it, then iterate its events.

    Ends after everything came; otherwise raises the error that the service told, or
    ServiceUnavailable when the connection broke. What came before stays with the caller.
    """

    def __init__(self, http: httpx2.AsyncClient, request: httpx2.Request) -> None:
        self._http = http
        self._request = request
        self._response: httpx2.Response | None = None
        self._started = False
        self._notice = ""

    async def __aenter__(self) -> Self:
        try:
            response = await self._http.send(self._request, stream=True)
        except httpx2.TransportError as error:
            raise lost(self._request, error) from error
        self._response = response
        self._notice = response.headers.get("x-inglenook-notice", "")
        await checked(response)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._response is not None:
            await self._response.aclose()

    async def __aiter__(self) -> AsyncIterator[ChatEvent]:
        """The events, once."""
        if self._response is None:
            raise ValueError("enter the stream before iterating it")
        decoder = sse.Decoder()
        try:
            async for chunk in self._response.aiter_bytes():
                for data in decoder.feed(chunk):
                    if data == sse.DONE_MARK:
                        return
                    for event in self._events(_decode(data)):
                        yield event
        except httpx2.TransportError as error:
            raise lost(self._request, error) from error
        message = "The connection to the service ended in the middle of the answer."
        raise ServiceUnavailable(message, hint="What came so far is kept; try again.")

    def _events(self, chunk: ChatChunk) -> Iterator[ChatEvent]:
        if chunk.error is not UNSET:
            raise from_body({"error": chunk.error})
        if chunk.inglenook is not UNSET:
            yield from _progress(chunk.inglenook)
        if chunk.choices and not self._started:
            self._started = True
            seed = None if chunk.seed is UNSET else chunk.seed
            yield Started(chunk.id, chunk.model, seed, self._notice)
        for choice in chunk.choices:
            yield from _choice(chunk, choice)
        if chunk.usage is not UNSET and chunk.usage is not None:
            yield Counted(chunk.usage)


def _decode(data: str) -> ChatChunk:
    try:
        return msgspec.json.decode(data, type=ChatChunk)
    except msgspec.MsgspecError as error:
        message = "The service sent something that is not a chat answer."
        raise EngineError(message, hint="Is the address that of a chat service?") from error


def _progress(progress: Progress) -> Iterator[ChatEvent]:
    if progress.loading is not UNSET:
        yield Loading(progress.loading)
    if progress.reading is not UNSET:
        reading = progress.reading
        yield Reading(reading.done, reading.total, reading.again)


def _choice(chunk: ChatChunk, choice: ChunkChoice) -> Iterator[ChatEvent]:
    content = choice.delta.content or ""
    reasoning = choice.delta.reasoning_content or ""
    if content or reasoning:
        told = UNSET if chunk.inglenook is UNSET else chunk.inglenook.tokens
        yield TextDelta(choice.index, content, reasoning, 0 if told is UNSET else told)
    if choice.finish_reason is not None:
        pace = None if chunk.timings is UNSET else chunk.timings
        yield Finished(choice.index, choice.finish_reason, pace)
