"""Who holds which page of the KV cache: block tables with reference counts. Integers only, no tensors.

Zone: worker process, owner thread. A page has `PAGE` cells; a cell keeps one token of one sequence for all layers.
Sequences share pages; whoever writes into a shared one gets a copy first. Source: PagedAttention, arXiv 2309.06180.
Neighbour: `kv_cache`, which owns the memory.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

PAGE: Final = 16
"""Cells of a page: what sharing rounds down to is at most a page that is copied."""


@dataclass(slots=True)
class _Held:
    """One sequence: its tokens' cells in order."""

    pages: list[int] = field(default_factory=list)
    length: int = 0


class Pages:
    """Block tables of all sequences over one pool."""

    def __init__(self, num_pages: int, num_sequences: int) -> None:
        self._free = list(range(num_pages - 1, -1, -1))
        self._users = [0] * num_pages
        self._held = [_Held() for _ in range(num_sequences)]

    def length(self, seq: int) -> int:
        """Tokens a sequence holds."""
        return self._held[seq].length

    def cells(self, seq: int, first: int, last: int) -> list[int]:
        """Where the tokens [first, last) of a sequence are."""
        pages = self._held[seq].pages
        return [pages[i // PAGE] * PAGE + i % PAGE for i in range(first, last)]

    def extend(self, wanted: dict[int, int]) -> list[tuple[int, int]] | None:
        """Make room for more tokens of each sequence, of all or of none.

        Args:
            wanted: sequence → how many more.

        Returns:
            Pages to copy before anything is written, (from, to); None: no space, nothing has changed.
        """
        if self._new_pages(wanted) > len(self._free):
            return None
        copies = []
        for seq, count in wanted.items():
            held = self._held[seq]
            if count and self._writes_shared(seq):
                shared, own = held.pages[-1], self._take()
                copies.append((shared, own))
                held.pages[-1] = own
                self._drop(shared)
            held.length += count
            while len(held.pages) * PAGE < held.length:
                held.pages.append(self._take())
        return copies

    def truncate(self, seq: int, n: int) -> None:
        """Keep at most the first n tokens."""
        held, n = self._held[seq], max(0, n)
        if n >= held.length:
            return
        held.length = n
        keep = -(-n // PAGE)
        for page in held.pages[keep:]:
            self._drop(page)
        del held.pages[keep:]

    def fork(self, src: int, dst: int, n: int) -> None:
        """Make `dst`, which must be empty, share the first n tokens of `src`."""
        source, target = self._held[src], self._held[dst]
        target.length = n
        target.pages = source.pages[: -(-n // PAGE)]
        for page in target.pages:
            self._users[page] += 1

    def _writes_shared(self, seq: int) -> bool:
        held = self._held[seq]
        return held.length % PAGE != 0 and self._users[held.pages[-1]] > 1

    def _new_pages(self, wanted: dict[int, int]) -> int:
        more, writers = 0, Counter[int]()
        for seq, count in wanted.items():
            held = self._held[seq]
            more += -(-(held.length + count) // PAGE) - len(held.pages)
            if count and self._writes_shared(seq):
                writers[held.pages[-1]] += 1
        # where all users of a page write, the last one may keep it
        return more + sum(min(n, self._users[page] - 1) for page, n in writers.items())

    def _take(self) -> int:
        page = self._free.pop()
        self._users[page] = 1
        return page

    def _drop(self, page: int) -> None:
        self._users[page] -= 1
        if self._users[page] == 0:
            self._free.append(page)
