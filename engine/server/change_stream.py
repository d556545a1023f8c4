"""News as server-sent events: one at once, then one after each change, until the client leaves."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from engine.api import sse
from engine.api.wire import to_json
from engine.errors import EngineError
from engine.server.errors import error_event
from engine.server.outbox import Outbox
from engine.server.service import Service

CHANGE_PAUSE_SECONDS = 0.1
"""Between two events of one listener: who hears of a change asks for everything again."""


class ChangeStream(Response):
    """Runs in the request's own task, as an answer does."""

    def __init__(
        self,
        service: Service,
        changes: AsyncGenerator[Any, None],
        *,
        pause_seconds: float = CHANGE_PAUSE_SECONDS,
    ) -> None:
        """Send nothing yet.

        Args:
            service: that stops it.
            changes: what is sent, as JSON; closed at the end.
            pause_seconds: least time between two events.
        """
        super().__init__()
        self._service = service
        self._changes = changes
        self._pause_seconds = pause_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the client leaves or the service stops."""
        del scope
        outbox = Outbox(send, ping_seconds=self._service.ping_seconds)
        try:
            async with (
                self._service.answers.interruptible(receive),
                aclosing(self._changes) as changes,
            ):
                async for change in changes:
                    outbox.put(sse.event(to_json(change)))
                    await asyncio.sleep(self._pause_seconds)
                    await outbox.room()
        except ClientDisconnect:
            outbox.abandon()
        except BaseException as error:
            if not (outbox.opened and isinstance(error, EngineError)):
                outbox.abandon()
                raise
            outbox.put(error_event(error))
            await outbox.finish()
