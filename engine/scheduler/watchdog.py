"""Gives up a step that takes far longer than it should, so that it can be computed again with fewer threads.

Zone: worker process; one thread of its own, which sleeps while nothing is guarded. To guard a step costs one assignment:
the thread looks at the deadline fifty times a second instead of being told.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

_LOOK_S: Final = 0.02
_REST_S: Final = 1.0
"""Without a deadline for so long it sleeps until the next one."""


class Watchdog:
    """Calls `give_up` once when a deadline passes."""

    def __init__(self, give_up: Callable[[], None]) -> None:
        self._give_up = give_up
        self._deadline: float | None = None
        self._awake = threading.Event()
        self._thread: threading.Thread | None = None
        self.fired = False
        """The latest guarded step was given up."""

    def guard(self, seconds: float | None) -> None:
        """A step begins that should take no longer; None: any time."""
        self.fired = False
        if seconds is None:
            self._deadline = None
            return
        self._deadline = time.monotonic() + seconds
        if not self._awake.is_set():
            self._wake()

    def release(self) -> bool:
        """The step ended. Returns whether it was given up."""
        self._deadline = None
        return self.fired

    def _wake(self) -> None:
        self._awake.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
            self._thread.start()

    def _watch(self) -> None:
        last_seen = time.monotonic()
        while True:
            self._awake.wait()
            time.sleep(_LOOK_S)
            now, deadline = time.monotonic(), self._deadline
            if deadline is None:
                if now - last_seen > _REST_S:
                    self._awake.clear()
                continue
            last_seen = now
            if now > deadline and not self.fired:
                self.fired = True
                self._give_up()
