"""Who guesses the next tokens. A guess costs rows of the next decode; a wrong one changes nothing but the time.

Zone: worker process, owner thread. Implementations: `ngram`, `draft_model`. User: `speculation`.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Ask:
    """A sequence that wants a draft."""

    key: Hashable
    """The same for all asks of one sequence."""
    tokens: Sequence[int]
    """Prompt and answer so far. Grows between asks, never changes otherwise."""
    most: int
    """Tokens wanted; at least 1."""


class Proposer(Protocol):
    """Guesses continuations."""

    def propose(self, asks: Sequence[Ask]) -> list[list[int]]:
        """At most `ask.most` tokens for each ask; an empty list is no guess."""

    def forget(self, key: Hashable) -> None:
        """The sequence is gone. Unknown keys are fine."""


class InTurn:
    """Asks a second proposer where the first has no guess: the free one first."""

    def __init__(self, first: Proposer, second: Proposer) -> None:
        self._first, self._second = first, second

    def propose(self, asks: Sequence[Ask]) -> list[list[int]]:
        """See Proposer."""
        drafts = self._first.propose(asks)
        left = [i for i, draft in enumerate(drafts) if not draft]
        if left:
            others = self._second.propose([asks[i] for i in left])
            for i, draft in zip(left, others, strict=True):
                drafts[i] = draft
        return drafts

    def forget(self, key: Hashable) -> None:
        """See Proposer."""
        self._first.forget(key)
        self._second.forget(key)
