"""The asyncio side of the bridge: the client and the requests that run on it.

Zone: the bridge's asyncio thread, except `put`, which it calls. Neighbours: `app.bridge`, `app.outbox`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from functools import partial
from typing import TYPE_CHECKING

from app.outbox import Cancelled, End
from engine.aio import spawn
from engine.errors import EngineError, ServiceUnavailable

if TYPE_CHECKING:
    from engine.client.client import Client

logger = logging.getLogger(__name__)
CLOSE_SECONDS = 2.0
"""What running requests get to end once the window closes."""

Work = Callable[["Client"], Awaitable[object]]


class Requester:
    """Runs requests by number; each puts exactly one `End`, its last item."""

    def __init__(self, put: Callable[[int, End], None]) -> None:
        self._put = put
        self._client: Client | None = None
        self._tasks: dict[int, asyncio.Task[End]] = {}

    def use(self, url: str = "", key: str = "") -> None:
        """Take another client, or none; what runs ends on the one it began on."""
        old, self._client = self._client, None
        if url:
            from engine.client.client import Client  # 0.1 s that a starting window need not wait

            self._client = Client(url, key)
        if old is not None:
            spawn(_close_after(old, list(self._tasks.values())), name="end of a client")

    def begin(self, number: int, work: Work) -> None:
        """Start a request."""
        task = self._tasks[number] = spawn(_run(self._client, work), name=f"request {number}")
        task.add_done_callback(partial(self._ended, number))

    def cancel(self, number: int) -> None:
        """End a request early, if it still runs."""
        if task := self._tasks.get(number):
            task.cancel()

    async def close(self) -> None:
        """End all requests and the client."""
        self.use()
        for task in self._tasks.values():
            task.cancel()
        if others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others, timeout=CLOSE_SECONDS)

    def _ended(self, number: int, task: asyncio.Task[End]) -> None:
        # A callback and no `finally`: a task that is cancelled before its first step runs nothing.
        del self._tasks[number]
        self._put(number, End(error=Cancelled()) if task.cancelled() else task.result())


def no_service() -> ServiceUnavailable:
    """What requests get while there is no client."""
    message = "The window is not connected to the service."
    return ServiceUnavailable(message, hint="Wait until it has started, then try again.")


async def _run(client: "Client | None", work: Work) -> End:
    if client is None:
        return End(error=no_service())
    try:
        return End(await work(client))
    except EngineError as error:
        return End(error=error)
    except Exception:
        logger.exception("a request failed in the window")
        message = "The window made a mistake with this request."
        return End(error=EngineError(message, hint="Try again; the log has the details."))


async def _close_after(client: "Client", tasks: Collection[asyncio.Task[End]]) -> None:
    if tasks:
        await asyncio.wait(tasks)
    await client.close()
