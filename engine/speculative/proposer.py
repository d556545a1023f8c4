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
