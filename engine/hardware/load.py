"""How many of our cores other programs use right now. psutil only; cheap enough for four readings a second.

Zone: worker process. The cores are those that this process may run on; a quota of a container is not visible here, it is
in the number of usable cores (`engine.hardware.cpu`).
"""

import time
from collections.abc import Callable
from typing import Final, NamedTuple

import psutil

INTERVAL_S: Final = 0.25
"""Least time between two readings; the kernel counts in hundredths of a second."""
_STALE_S: Final = 1.0
"""Longer stretches are not looked at."""


class Reading(NamedTuple):
    """What the counters said. Seconds."""

    at: float
    busy: float
    """Of all cores we may run on, together."""
    own: float
    """Of that, this process."""


def allowed_cpus() -> list[int]:
    """Logical CPUs that this process may run on."""
    process = psutil.Process()
    if hasattr(process, "cpu_affinity"):
        return list(process.cpu_affinity())
    return list(range(psutil.cpu_count() or 1))


def read_counters() -> Reading:
    """Ask the system."""
    cores = psutil.cpu_times(percpu=True)
    busy = sum(
        sum(cores[i]) - cores[i].idle - getattr(cores[i], "iowait", 0.0) - _counted_twice(cores[i])
        for i in allowed_cpus()
        if i < len(cores)
    )
    return Reading(time.monotonic(), busy, time.process_time())


def _counted_twice(times: object) -> float:
    """Linux counts guests' time as user time too."""
    return float(getattr(times, "guest", 0.0)) + float(getattr(times, "guest_nice", 0.0))


class LoadMeter:
    """Cores that others keep busy, over the last stretch of at least `INTERVAL_S`."""

    def __init__(self, read: Callable[[], Reading] = read_counters) -> None:
        self._read = read
        self._last = read()
        self._others = 0.0

    def others(self, now: float) -> float:
        """Busy cores of other programs; 0 until there were two readings.

        Args:
            now: `time.monotonic()`.
        """
        if now - self._last.at >= INTERVAL_S:
            new, last = self._read(), self._last
            seconds = new.at - last.at
            if 0 < seconds <= _STALE_S:
                self._others = max(0.0, (new.busy - last.busy) - (new.own - last.own)) / seconds
            else:
                self._others = 0.0  # what was, while we were idle, says nothing of now
            self._last = new
        return self._others
