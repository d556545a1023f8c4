"""Guesses that the text repeats itself: what followed the last few tokens the last time they occurred.

Free but for the rows, and right where an answer quotes its prompt (summaries, edits of code). Source: prompt lookup
decoding (Saxena 2023). Zone: worker process. State: for each sequence, where each n-gram ended last.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Final

from engine.speculative.proposer import Ask

LENGTHS: Final = (5, 4, 3)
"""Tokens that must match, the longest first. Two match by chance too often."""

_Index = dict[tuple[int, ...], tuple[int, int]]
"""N-gram → where its latest occurrence ends, and the one before (-1: none)."""


@dataclass(slots=True)
class _Seen:
    num_tokens: int = 0
    ends: dict[int, _Index] = field(default_factory=lambda: {n: {} for n in LENGTHS})


class NgramProposer:
    """Implements `Proposer`."""

    def __init__(self) -> None:
        self._seen: dict[Hashable, _Seen] = {}

    def propose(self, asks: Sequence[Ask]) -> list[list[int]]:
        """See Proposer."""
        return [self._continuation(ask) for ask in asks]

    def forget(self, key: Hashable) -> None:
        """See Proposer."""
        self._seen.pop(key, None)

    def _continuation(self, ask: Ask) -> list[int]:
        seen = self._seen.setdefault(ask.key, _Seen())
        tokens = ask.tokens
        self._read(seen, tokens)
        for n in LENGTHS:
            if len(tokens) > n:
                # the latest occurrence is the end of the text itself
                _, before = seen.ends[n].get(tuple(tokens[-n:]), (-1, -1))
                if before >= 0:
                    return list(tokens[before : before + ask.most])
        return []

    def _read(self, seen: _Seen, tokens: Sequence[int]) -> None:
        """Index what is new since the last ask."""
        for end in range(seen.num_tokens + 1, len(tokens) + 1):
            for n in LENGTHS:
                if end >= n:
                    index, gram = seen.ends[n], tuple(tokens[end - n : end])
                    latest, _ = index.get(gram, (-1, -1))
                    index[gram] = (end, latest)
        seen.num_tokens = len(tokens)
