"""Which physical sequence holds which tokens, and who may reuse them.

A slot keeps its tokens after its answer ended: the conversation's next turn starts with them.
A busy slot's prefix can be forked, an idle slot continued. Pure bookkeeping plus the backend's
sequence operations, whose answers ("really kept", "really shared") are believed.
"""

import itertools
from collections.abc import Callable
from collections.abc import Sequence as Items
from dataclasses import dataclass, field

from engine.backends.base import Backend, SeqId


@dataclass(slots=True, eq=False)
class Slot:
    """One physical sequence."""

    seq: SeqId
    busy: bool = False
    tokens: list[int] = field(default_factory=list)
    """What it held when it became idle; a busy slot's tokens are its sequence's."""
    last_used: int = 0
    key: str = ""
    """Whose tokens these are."""
    is_hint: bool = False
    """Nobody has asked for its latest tokens yet."""
    is_kept: bool = False
    """Its tokens are in the store behind the KV cache too."""


def common_prefix(a: Items[int], b: Items[int]) -> int:
    """Length of the common prefix, by bisection over slice comparisons (they run in C)."""
    low, high = 0, min(len(a), len(b))
    if a[:high] == b[:high]:
        return high
    while low < high - 1:
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low


class Slots:
    """All physical sequences of a backend."""

    def __init__(self, backend: Backend, leaving: Callable[[Slot], None] | None = None) -> None:
        """All are idle and empty.

        Args:
            backend: whose sequences they are.
            leaving: called before an idle slot loses tokens, while the backend still holds them.
        """
        self._backend = backend
        self._leaving = leaving or (lambda _: None)
        self._clock = itertools.count(1)
        self.all = [Slot(SeqId(i)) for i in range(backend.caps.n_seq_max)]

    @property
    def idle(self) -> list[Slot]:
        """Slots without a running answer, least recently used first."""
        return sorted((s for s in self.all if not s.busy), key=lambda s: s.last_used)

    @property
    def empty(self) -> SeqId | None:
        """A sequence that nobody uses and that holds nothing."""
        return next((slot.seq for slot in self.idle if not slot.tokens), None)

    def best(self, tokens: list[int], held: dict[SeqId, list[int]]) -> int:
        """Most tokens of a prefix that any slot holds now. Arguments as of `acquire`."""
        return max(self._lengths(tokens, held).values())

    def _lengths(self, tokens: list[int], held: dict[SeqId, list[int]]) -> dict[SeqId, int]:
        return {
            slot.seq: common_prefix(held.get(slot.seq, []) if slot.busy else slot.tokens, tokens)
            for slot in self.all
        }

    def acquire(
        self, tokens: list[int], held: dict[SeqId, list[int]], *, needs_logits: bool = True
    ) -> tuple[SeqId, int] | None:
        """Give a slot to a sequence with as much of its prefix as can be had.

        Args:
            tokens: of the sequence that starts.
            held: of every busy slot, the tokens that are computed there.
            needs_logits: its last row must be computed, so that at most all tokens but one are reused.

        Returns:
            The slot and how many tokens it already holds; None when all slots are busy.
        """
        idle = self.idle
        if not idle:
            return None
        limit = len(tokens) - needs_logits
        lengths = {seq: min(limit, n) for seq, n in self._lengths(tokens, held).items()}
        source = max(self.all, key=lambda slot: (lengths[slot.seq], not slot.busy))
        wanted = lengths[source.seq]
        # Continue in place when nothing of value is lost by it, otherwise keep the other conversation.
        empty = next((slot for slot in idle if not slot.tokens), None)
        lost = len(source.tokens) - wanted
        cheap = lost <= 1 or (empty is None and (lost <= wanted or source is idle[0]))
        if not source.busy and wanted and cheap:
            if lost > 1:
                self._leaving(source)
            kept = self._backend.seq_truncate(source.seq, wanted)
            return self._taken(source).seq, kept
        target = empty or idle[0]
        self._empty(target)
        shared = 0
        if wanted and source is not target:
            shared = self._backend.seq_fork(source.seq, target.seq, wanted)
        return self._taken(target).seq, shared

    def take_empty(self) -> SeqId | None:
        """Give the least valuable slot to a sequence, without any tokens; None when all are busy."""
        slot = min(self.idle, key=lambda slot: bool(slot.tokens), default=None)
        if slot is None:
            return None
        self._empty(slot)
        return self._taken(slot).seq

    def _empty(self, slot: Slot) -> None:
        if slot.tokens:
            self._leaving(slot)
            slot.tokens = []
        self._backend.seq_clear(slot.seq)

    def _taken(self, slot: Slot) -> Slot:
        slot.busy = True
        slot.tokens = []
        return slot

    def release(
        self, seq: SeqId, tokens: list[int], *, key: str = "", is_hint: bool = False
    ) -> Slot:
        """An answer left its slot; `tokens` stay there for reuse (empty: drop them)."""
        slot = self.all[seq]
        slot.busy = False
        slot.last_used = next(self._clock)
        slot.tokens, slot.key, slot.is_hint = tokens, key, is_hint
        slot.is_kept = False
        if not tokens:
            self._backend.seq_clear(seq)
        return slot

    def evict_idle(self) -> bool:
        """Drop the least recently used idle tokens; False when there are none."""
        slot = next((slot for slot in self.idle if slot.tokens), None)
        if slot is None:
            return False
        self._empty(slot)
        return True

    def drop(self, slot: Slot, *, keep: bool) -> None:
        """Empty an idle slot; `keep`: what it held is offered to `leaving` first."""
        if not keep:
            slot.tokens = []
        self._empty(slot)

    def check(self) -> None:
        """Assert that an idle slot's tokens are what the backend holds. For tests."""
        for slot in self.all:
            if not slot.busy:
                assert self._backend.seq_len(slot.seq) == len(slot.tokens), slot
