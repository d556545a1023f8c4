"""Fetches the starter model beside everything else, in a thread that can be stopped.

Zone: service process, event loop; only `_install` runs in the thread. Neighbour: `engine.hub.starter`.
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from pathlib import Path

from engine import aio
from engine.api.models import StarterInfo, StarterState
from engine.errors import EngineError
from engine.hub.starter import STARTER, Starter, install_starter

logger = logging.getLogger(__name__)


class _StoppedError(Exception):
    """Raised in the thread, out of its progress report."""


class StarterFetch:
    """The one fetch of the starter model that a service may have."""

    def __init__(
        self,
        folder: Path,
        on_change: Callable[[], None],
        starter: Starter = STARTER,
        *,
        before: Callable[[], None] = lambda: None,
    ) -> None:
        """Nothing is started yet.

        Args:
            folder: of the library.
            on_change: called on the event loop whenever `info` would tell something new.
            starter: the model.
            before: called before the first connection; what it raises stops the fetch.
        """
        self._folder = folder
        self._on_change = on_change
        self._starter = starter
        self._before = before
        self._task: asyncio.Task[None] | None = None
        self._stop = threading.Event()
        self._stage = ""
        self._fraction = 0.0
        self._error: EngineError | None = None

    async def info(self) -> StarterInfo:
        """See `Engine.starter`. A file of the right name counts as installed; only fetching checks it."""
        if self._task is not None:
            return self._told("fetching", stage=self._stage, fraction=self._fraction)
        if self._error is not None:
            return self._told("failed", error=str(self._error))
        target = self._folder / self._starter.file_name
        if await asyncio.to_thread(target.exists):
            return self._told("installed", fraction=1.0)
        return self._told("absent")

    def start(self) -> None:
        """Begin, unless it is on its way."""
        if self._task is None:
            self._stop.clear()
            self._stage, self._fraction, self._error = "", 0.0, None
            self._task = aio.spawn(self._run(), name="starter model")
            self._on_change()

    async def cancel(self) -> None:
        """Stop; returns when nothing is left behind (0.2 s). Forgets a failure."""
        self._stop.set()
        if self._task is not None:
            await asyncio.wait([self._task])
        if self._error is not None:
            self._error = None
            self._on_change()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            await asyncio.to_thread(self._install, loop)
        except _StoppedError:
            logger.info("fetching the starter model was stopped")
        except EngineError as error:
            self._error = error
        except Exception:
            logger.exception("fetching the starter model failed")
            self._error = EngineError(
                "The starter model could not be fetched.",
                hint="Try again; the log file holds the details.",
            )
        finally:
            self._task = None
            self._on_change()

    def _install(self, loop: asyncio.AbstractEventLoop) -> None:
        def progress(stage: str, fraction: float) -> None:
            if self._stop.is_set():
                raise _StoppedError
            loop.call_soon_threadsafe(self._progress, stage, fraction)

        self._before()
        install_starter(self._folder, progress, self._starter)

    def _progress(self, stage: str, fraction: float) -> None:
        if (stage, fraction) != (self._stage, self._fraction):
            self._stage, self._fraction = stage, fraction
            self._on_change()

    def _told(
        self, state: StarterState, *, stage: str = "", fraction: float = 0.0, error: str = ""
    ) -> StarterInfo:
        return StarterInfo(
            state=state,
            stage=stage,
            fraction=fraction,
            error=error,
            name=self._starter.name,
            license=self._starter.license,
            size_bytes=self._starter.size_bytes,
            download_bytes=self._starter.wheel_bytes,
        )
