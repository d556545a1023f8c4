"""What one rendering of a stranger's chat template may use: time, bytes and sizes.

Pure. Used by `engine.text.sandbox`, which asks before every operation that could grow a value.
"""

import itertools
import sys
from collections.abc import ItemsView, Iterable, Iterator, KeysView, ValuesView
from time import monotonic
from typing import Any

from jinja2 import Undefined
from jinja2.runtime import LoopContext

DEADLINE_S = 1.5
"""Wall time of one rendering; 2,000 messages of ChatML take 0.02 s."""
MAX_TEXT = 4_000_000
"""Characters of any one text, the finished prompt included (about a million tokens)."""
MAX_ITEMS = 200_000
"""Items of any one list."""
MAX_BYTES = 96 << 20
"""Everything a rendering makes, added up, freed or not."""
MAX_BITS = 4_096
"""Of any whole number: dividing two of a million digits takes minutes."""
_ITEM_BYTES = 80
"""A list's slot and the small object it usually holds."""


class LimitError(BaseException):
    """A template went too far. Not an Exception: nothing between here and the caller may eat it."""


class Budget:
    """The allowance of one rendering. One thread.

    Values inside a rendering are immutable (the sandbox sees to that), so weights are kept by
    identity. That makes a list that contains another one twice, forty levels deep, cheap to weigh,
    where comparing or printing it would never end.
    """

    def __init__(self) -> None:
        self._deadline = monotonic() + DEADLINE_S
        self._bytes_left = MAX_BYTES
        self._weights: dict[int, tuple[object, int]] = {}

    def tick(self) -> None:
        """Raise LimitError once the time is over."""
        if monotonic() > self._deadline:
            raise LimitError(f"it did not finish within {DEADLINE_S} seconds")

    def charge(self, value: object) -> None:
        """Account for a value that was just made (without what it refers to)."""
        if isinstance(value, str):
            self.allow_text(len(value))
            self._spend(sys.getsizeof(value))
        elif isinstance(value, list | tuple | dict):
            self.allow_items(len(value))
            self._spend(_ITEM_BYTES * (len(value) + 1))
        else:
            if isinstance(value, int):
                self.allow_bits(value.bit_length())
            self._spend(_ITEM_BYTES)

    def checked(self, value: Any) -> Any:
        """`value`, known to be small enough to print, compare or hash; iterators become lists."""
        if type(value) is str:
            return value
        if isinstance(value, Iterator) and not isinstance(value, LoopContext):
            value = self.listed(value)
        self.allow_text(self.weigh(value))
        return value

    def listed(self, values: Iterable[Any]) -> list[Any]:
        """All items as a list."""
        items = list(itertools.islice(values, MAX_ITEMS + 1))
        self.charge(items)
        return items

    def weigh(self, value: object) -> int:
        """Characters of `value` written out, roughly; a shared part counts each time it appears."""
        if isinstance(value, str):
            return len(value)
        if value is None or isinstance(value, bool | float | Undefined):
            return 8
        if isinstance(value, int):
            return value.bit_length() // 3 + 1
        if isinstance(value, range):
            return len(value)
        known = self._weights.get(id(value))
        if known is None:
            # The value is kept with its weight: its id must not be given to another one.
            known = self._weights[id(value)] = (value, self._weigh_parts(value))
        return known[1]

    def _weigh_parts(self, value: object) -> int:
        parts: Iterable[object]
        if isinstance(value, dict):
            parts = itertools.chain(value.keys(), value.values())
        elif isinstance(value, list | tuple | KeysView | ValuesView | ItemsView):
            parts = value
        else:
            raise LimitError(f"it uses a {type(value).__name__} as if it were data")
        weight = 2
        for part in parts:
            weight += self.weigh(part) + 2
        return weight

    @staticmethod
    def allow_text(chars: int) -> None:
        """Raise LimitError for a text that would be too long."""
        if chars > MAX_TEXT:
            raise LimitError(f"it makes a text of more than {MAX_TEXT:,} characters")

    @staticmethod
    def allow_items(items: int) -> None:
        """Raise LimitError for a list that would be too long."""
        if items > MAX_ITEMS:
            raise LimitError(f"it makes a list of more than {MAX_ITEMS:,} items")

    @staticmethod
    def allow_bits(bits: int) -> None:
        """Raise LimitError for a whole number that would be too large."""
        if bits > MAX_BITS:
            raise LimitError(f"it computes a number of more than {MAX_BITS} bits")

    def _spend(self, size: int) -> None:
        self._bytes_left -= size
        if self._bytes_left < 0:
            raise LimitError(f"it makes more than {MAX_BYTES >> 20} MB of values")
