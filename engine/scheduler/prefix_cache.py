"""Who already holds the beginning of a prompt: a running or idle sequence of the KV cache, memory, or a file.

Zone: worker process, owner thread. Neighbours: `slots` (inside the KV cache), `kv_store` (outside of it). What leaves the KV cache
goes to the store; a prompt takes from where most of it is.
"""

import time
from dataclasses import dataclass
from typing import Final

from engine.backends.base import Backend, SeqId
from engine.scheduler.kv_store import KvStore
from engine.scheduler.prefix_tree import Match, own_part
from engine.scheduler.slots import Slot, Slots

LEAST_KEPT: Final = 32
"""Tokens: fewer are computed again as fast as they are written and found."""
_MOST_IDLE: Final = 256
"""Tokens of idle sequences that may stay in the KV cache beside a running one; llama.cpp counts cells by as many."""
_WORTH_RESTORING: Final = 16
"""Tokens more than the KV cache holds itself."""


@dataclass(frozen=True, slots=True)
class Found:
    """A sequence's slot, and what it holds of its prompt."""

    seq: SeqId
    num_held: int
    num_restored: int = 0
    """Of these, how many came from memory or disk."""
    restore_s: float = 0.0


class PrefixCache:
    """The slots of a backend with the store behind them."""

    def __init__(self, backend: Backend, store: KvStore | None = None) -> None:
        """Without a store, what leaves the KV cache is gone."""
        self._backend = backend
        self._store = store
        self.slots = Slots(backend, self._keep)

    def best(self, tokens: list[int], held: dict[SeqId, list[int]]) -> int:
        """Most tokens of a beginning that can be had now. Arguments as of `find`."""
        kept = self._store.match(tokens).num_tokens if self._store else 0
        return max(kept, self.slots.best(tokens, held))

    def find(
        self, tokens: list[int], held: dict[SeqId, list[int]], *, needs_logits: bool, key: str
    ) -> Found | None:
        """Give a slot to a sequence with as much of its tokens as can be had; None when all are busy.

        Args:
            tokens: of the sequence that starts.
            held: of every busy slot, the tokens that are computed there.
            needs_logits: its last row must be computed, so that at most all tokens but one are reused.
            key: whose tokens they are.
        """
        if self._store is not None:
            limit = len(tokens) - needs_logits
            match = self._store.match(tokens[:limit])
            self._store.use(match, key)
            if match.num_tokens >= self.slots.best(tokens, held) + _WORTH_RESTORING:
                started = time.perf_counter()
                self._put_idle_away()
                seq = self.slots.take_empty()
                if seq is None:
                    return None
                restored = self._restore(seq, match)
                return Found(seq, restored, restored, time.perf_counter() - started)
        taken = self.slots.acquire(tokens, held, needs_logits=needs_logits)
        self._put_idle_away()
        return None if taken is None else Found(*taken)

    def _put_idle_away(self) -> None:
        """Attention runs over the cells of idle sequences too: 3,000 of them made a 500-token prompt 40 % slower."""
        idle = [slot for slot in self.slots.idle if slot.tokens]
        if self._store is not None and sum(len(slot.tokens) for slot in idle) > _MOST_IDLE:
            for slot in idle:
                self.put_away(slot)

    def _restore(self, seq: SeqId, match: Match) -> int:
        """Read pieces into an empty sequence; returns the tokens it holds then."""
        assert self._store is not None
        held = 0
        for piece in match.pieces:
            state = self._store.fetch(piece)
            if state is None or self._backend.seq_truncate(seq, piece.start) != piece.start:
                break
            held = self._backend.import_state(seq, state, piece.start)
            while not held and not piece.start and self.slots.evict_idle():
                held = self._backend.import_state(seq, state)
            if not held:
                return 0  # no room: it is computed as room is made
        return self._backend.seq_truncate(seq, min(held, match.num_tokens))

    def put_away(self, slot: Slot) -> None:
        """An idle slot's tokens leave the KV cache for the store."""
        self.slots.drop(slot, keep=True)

    def keep_one(self) -> bool:
        """Copy what one idle slot holds, and no piece does, to the store; False when all is there.

        So that it survives this process. Not what is only a hint: it would be many small pieces.
        """
        for slot in self.slots.idle:
            if slot.tokens and not slot.is_kept and not slot.is_hint:
                self._keep(slot)
                return True
        return False

    def close(self, timeout_s: float) -> None:
        """Keep everything that is idle, and wait for the disk."""
        if self._store is None:
            return
        while self.keep_one():
            pass
        self._store.flush(timeout_s)

    def forget(self, key: str) -> None:
        """Drop what belongs to nobody but the owner of `key`, here and in the store; an empty key: everything."""
        for slot in self.slots.idle:
            if slot.tokens and key in ("", slot.key):
                self.slots.drop(slot, keep=False)
        if self._store is not None:
            self._store.forget(key)

    def _keep(self, slot: Slot) -> None:
        slot.is_kept = True
        if self._store is None:
            return
        held = self._store.match(slot.tokens)
        own = own_part(held, slot.key)
        if held.num_tokens - own.num_tokens >= LEAST_KEPT:
            # shared with another conversation: kept once more, as a piece that all who begin so can own
            self._add(slot, own, held.num_tokens)
            own = own_part(self._store.match(slot.tokens), slot.key)
        if len(slot.tokens) - own.num_tokens < LEAST_KEPT:
            self._store.use(own, slot.key)
        else:
            self._add(slot, own, len(slot.tokens))

    def _add(self, slot: Slot, behind: Match, end: int) -> None:
        assert self._store is not None
        if self._backend.caps.exports_ranges:
            part = None if end == len(slot.tokens) else end
            state = self._backend.export_state(slot.seq, behind.num_tokens, part)
            self._store.keep(slot.tokens[:end], behind, state, whole=False, key=slot.key)
        elif end == len(slot.tokens):
            state = self._backend.export_state(slot.seq)
            self._store.keep(slot.tokens, behind, state, whole=True, key=slot.key)
