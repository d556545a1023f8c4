"""Running one request and sending its answer, streamed or whole.

Zone: service, event loop. Everything happens in the request's own task; leaving `engine.answer` frees
the compute, whatever the reason: the end, an error, a client that left, a service that stops.
"""

import logging
import time
from collections.abc import Iterable

import msgspec
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from engine.api import sse
from engine.api.wire import to_json
from engine.errors import EngineError
from engine.ipc.messages import Delta
from engine.server.errors import JsonReply, error_event, internal_error
from engine.server.outbox import Outbox
from engine.server.service import Service
from engine.server.shape import Heading, Shape
from engine.supervisor.answer import (
    Answer,
    AnswerEvent,
    AnswerRequest,
    PromptAccepted,
)

logger = logging.getLogger(__name__)
REQUEST_ID = "x-request-id"
NOTICE = "x-inglenook-notice"


class WholeAnswer(Response):
    """An answer in one piece."""

    def __init__(
        self, service: Service, model: str | None, request: AnswerRequest, shape: Shape
    ) -> None:
        super().__init__()
        self._service = service
        self._model = model
        self._request = request
        self._shape = shape

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the request, then reply. Errors are left to the app's handlers."""
        headers: dict[str, str] = {}
        async with (
            self._service.answers.interruptible(receive, is_answer=True),
            self._service.answer(self._model, self._request) as answer,
        ):
            headers[REQUEST_ID] = answer.request_id
            self._shape.open(heading(answer, self._service))
            async for event in answer:
                if isinstance(event, Delta):
                    self._shape.gather(event)
                elif isinstance(event, PromptAccepted):
                    headers |= notice_header(event)
                    self._shape.accepted(event.prompt_tokens)
        await JsonReply(self._shape.whole(), headers=headers)(scope, receive, send)


class StreamedAnswer(Response):
    """An answer as server-sent events.

    The status line waits for the accepted prompt, so that what is wrong with a request shows as a
    status; after a silence it goes out anyway, and errors then come as events.
    """

    def __init__(
        self,
        service: Service,
        model: str | None,
        request: AnswerRequest,
        shape: Shape,
        *,
        with_progress: bool,
    ) -> None:
        super().__init__()
        self._service = service
        self._model = model
        self._request = request
        self._shape = shape
        self._with_progress = shape.tells_tokens = with_progress

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the request and send its events. Errors before the first event are left to the app."""
        del scope
        outbox = Outbox(send, ping_seconds=self._service.ping_seconds)
        try:
            async with self._service.answers.interruptible(receive, is_answer=True):
                await self._run(outbox)
        except ClientDisconnect:
            outbox.abandon()
            return
        except EngineError as error:
            if not outbox.opened:
                outbox.abandon()
                raise
            outbox.put(error_event(error))
        except BaseException as error:
            if not outbox.opened or not isinstance(error, Exception):
                outbox.abandon()
                raise
            logger.exception("a streamed answer failed")
            outbox.put(error_event(internal_error()))
        await outbox.finish()

    async def _run(self, outbox: Outbox) -> None:
        async with self._service.answer(self._model, self._request) as answer:
            outbox.headers[REQUEST_ID] = answer.request_id
            self._shape.open(heading(answer, self._service))
            async for event in answer:
                if isinstance(event, PromptAccepted) and not outbox.opened:
                    outbox.headers |= notice_header(event)
                if data := b"".join(sse.event(to_json(chunk)) for chunk in self._chunks(event)):
                    outbox.put(data)
                if outbox.full:
                    await outbox.room()
        for chunk in self._shape.closing():
            outbox.put(sse.event(to_json(chunk)))
        outbox.put(sse.DONE)

    def _chunks(self, event: AnswerEvent) -> Iterable[msgspec.Struct]:
        if isinstance(event, Delta):
            return self._shape.delta(event)
        if isinstance(event, PromptAccepted):
            return self._shape.accepted(event.prompt_tokens)
        if self._with_progress:
            return (self._shape.progress(event),)
        return ()


def notice_header(accepted: PromptAccepted) -> dict[str, str]:
    """What the user should know about how the prompt came about; headers carry ASCII only."""
    notice = accepted.notice.encode("ascii", "replace").decode()
    return {NOTICE: " ".join(notice.split())} if notice else {}


def heading(answer: Answer, service: Service) -> Heading:
    """What the pieces of this answer's reply begin with."""
    return Heading(answer.request_id, answer.model, int(time.time()), service.fingerprint)
