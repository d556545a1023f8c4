"""An asyncio loop on a thread of its own, so that the terminal keeps the main thread.

`input` blocks and Ctrl-C arrives on the main thread: both want it, and neither goes well with a loop there.
"""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")


class LoopThread:
    """Runs coroutines for the main thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="asyncio", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Wait for a coroutine; Ctrl-C cancels it, waits for its end and is raised again."""
        future = None
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
            return future.result()
        except KeyboardInterrupt:
            if future is not None:
                future.cancel()
            barrier = asyncio.run_coroutine_threadsafe(asyncio.sleep(0), self._loop)
            barrier.result()
            raise
        except CancelledError:
            raise KeyboardInterrupt from None
