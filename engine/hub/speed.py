"""Bytes a second over the last seconds, as people want to read it. Neighbour: `engine.hub.download_queue`."""

import time
from collections import deque
from collections.abc import Callable
from typing import Final

_SPAN_S: Final = 3.0


class Speed:
    """Of one download. One thread at a time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Know nothing yet.

        Args:
            clock: seconds.
        """
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque()

    def note(self, total_bytes: int) -> None:
        """So much came until now."""
        now = self._clock()
        self._seen.append((now, total_bytes))
        while len(self._seen) > 2 and self._seen[1][0] <= now - _SPAN_S:
            self._seen.popleft()

    @property
    def bytes_per_s(self) -> float:
        """0: not known yet."""
        if len(self._seen) < 2:
            return 0.0
        (began, first), (ended, last) = self._seen[0], self._seen[-1]
        return max(0.0, (last - first) / (ended - began)) if ended > began else 0.0
