"""Deltas on their way to the service: at once where somebody waits for the first word, else fifty times a second at most.

Zone: worker process, owner thread. Every frame wakes the service and its reader, on cores that compute: with a small model (5 ms a
token, two threads on two cores) a frame for each token costs a tenth of the speed. Nobody sees 20 ms.
"""

import time
from collections.abc import Callable
from typing import Final

from engine.ipc.channel import Channel
from engine.ipc.messages import Delta, Step, merged

_LEAST_INTERVAL_S: Final = 0.02


class Outgoing:
    """What is not sent yet, one delta a choice."""

    def __init__(self, channel: Channel, clock: Callable[[], float] = time.monotonic) -> None:
        self._channel = channel
        self._clock = clock
        self._held: dict[tuple[str, int], Delta] = {}
        self._begun: set[tuple[str, int]] = set()
        """Choices whose first delta was sent."""
        self._sent_at = 0.0

    def add(self, deltas: list[Delta]) -> None:
        """Take what a step brought; sends if it is time."""
        urgent = False
        for delta in deltas:
            choice = (delta.request, delta.choice)
            held = self._held.get(choice)
            self._held[choice] = delta if held is None else merged(held, delta)
            urgent = urgent or delta.finish is not None or choice not in self._begun
        if urgent or self._clock() - self._sent_at >= _LEAST_INTERVAL_S:
            self.flush()

    def flush(self) -> None:
        """Send everything."""
        if not self._held:
            return
        self._channel.send(Step(list(self._held.values())))
        for choice, delta in self._held.items():
            if delta.finish is None:
                self._begun.add(choice)
            else:
                self._begun.discard(choice)
        self._held.clear()
        self._sent_at = self._clock()

    def drop(self, request: str) -> None:
        """Nobody wants this request's text any more."""
        for choice in [c for c in self._held if c[0] == request]:
            del self._held[choice]
        self._begun = {c for c in self._begun if c[0] != request}
