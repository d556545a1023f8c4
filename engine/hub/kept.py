"""Answers of the hub that are kept for a while, so that going back and forth asks nobody. Neighbours: `search`, `card`."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

KEPT_S: Final = 300.0
_MOST: Final = 100


class Kept(Generic[K, V]):
    """The latest hundred answers, for five minutes; any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Keep nothing yet.

        Args:
            clock: seconds.
        """
        self._clock = clock
        self._lock = threading.Lock()
        self._answers: OrderedDict[K, tuple[float, V]] = OrderedDict()

    def get(self, key: K) -> V | None:
        """The answer, if it is not too old."""
        with self._lock:
            at, answer = self._answers.get(key, (0.0, None))
            return answer if self._clock() - at < KEPT_S else None

    def put(self, key: K, answer: V) -> None:
        """Keep one."""
        with self._lock:
            self._answers[key] = (self._clock(), answer)
            self._answers.move_to_end(key)
            if len(self._answers) > _MOST:
                self._answers.popitem(last=False)
