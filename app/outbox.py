"""What waits to be handed to the GUI thread, by request; neighbouring events of one kind become one.

Pure; any thread may put. Neighbours: `app.bridge` takes, `app.requester` puts.
"""

import itertools
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from engine.api.events import ChatEvent, Loading, Reading, TextDelta
from engine.errors import EngineError


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The end of a request that was cancelled."""


@dataclass(frozen=True, slots=True)
class End:
    """The last thing that a request puts."""

    value: object = None
    error: EngineError | Cancelled | None = None


class Outbox:
    """Items in order for each request. Bounded by the text that came: nothing is dropped."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: dict[int, list[ChatEvent | End]] = {}

    def put(self, number: int, item: ChatEvent | End) -> bool:
        """Add an item of request `number`; true if nothing was waiting, so that somebody must be told."""
        with self._lock:
            was_empty = not self._items
            self._items.setdefault(number, []).append(item)
        return was_empty

    def take(self) -> Iterator[tuple[int, ChatEvent | End]]:
        """Everything that waits at this moment, merged."""
        with self._lock:
            items, self._items = self._items, {}
        return ((number, item) for number, row in items.items() for item in _merged(row))


def _merged(items: Iterable[ChatEvent | End]) -> Iterator[ChatEvent | End]:
    for _, run in itertools.groupby(items, _kind):
        same = list(run)
        first = same[0]
        if isinstance(first, TextDelta):
            deltas = [item for item in same if isinstance(item, TextDelta)]
            content = "".join(delta.content for delta in deltas)
            reasoning = "".join(delta.reasoning for delta in deltas)
            yield TextDelta(first.choice, content, reasoning, deltas[-1].tokens)
        elif isinstance(first, Loading | Reading):
            yield same[-1]  # only the latest progress matters
        else:
            yield from same


def _kind(item: ChatEvent | End) -> tuple[type, int]:
    return type(item), item.choice if isinstance(item, TextDelta) else 0
