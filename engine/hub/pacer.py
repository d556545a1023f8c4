"""A speed limit that all downloads share: a token bucket that may go into debt. Neighbour: `engine.hub.transfer`."""

import threading
import time
from collections.abc import Callable
from typing import Final

_LOOK_S: Final = 0.2
"""How soon a waiting one notices that it is to stop."""
_BURST_S: Final = 0.2
"""What may be saved up while nobody reads."""


class Pacer:
    """Makes readers wait so that together they stay within a speed. Thread-safe."""

    def __init__(
        self, bytes_per_s: int = 0, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin with an empty bucket.

        Args:
            bytes_per_s: 0: no limit.
            clock: seconds.
        """
        self._changed = threading.Condition()
        self._limit = bytes_per_s
        self._left = 0.0
        self._clock = clock
        self._at = clock()

    @property
    def limit(self) -> int:
        """Bytes a second; 0: none."""
        return self._limit

    @limit.setter
    def limit(self, bytes_per_s: int) -> None:
        with self._changed:
            self._refill()
            self._limit = bytes_per_s
            self._changed.notify_all()

    def portion(self, most: int) -> int:
        """How much to read at once, so that a slow limit does not move in jumps."""
        return most if not self._limit else max(1024, min(most, self._limit // 10))

    def take(self, num_bytes: int, stopped: Callable[[], bool]) -> None:
        """Account for bytes that were read; comes back when the next may be, or when `stopped` says so."""
        with self._changed:
            self._refill()
            self._left -= num_bytes
            while self._limit and self._left < 0 and not stopped():
                self._changed.wait(min(-self._left / self._limit, _LOOK_S))
                self._refill()

    def _refill(self) -> None:
        now = self._clock()
        if self._limit:
            earned = self._left + (now - self._at) * self._limit
            self._left = min(earned, self._limit * _BURST_S)
        else:
            self._left = 0.0
        self._at = now
