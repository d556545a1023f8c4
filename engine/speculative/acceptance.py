"""How often guesses are right, for each sequence and each kind of guess.

Zone: worker process, owner thread. Every guess is held against what the text became, whether its rows were computed or not: a
guess that costs nothing to make is judged at no cost, so speculation that is off finds out by itself when it would pay again.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Final

_PRIOR: Final = 0.5
_WEIGHT: Final = 0.08
"""Of the newest guessed token for its sequence."""
_OVERALL_WEIGHT: Final = 0.01
"""And for all sequences, where a new one starts."""


@dataclass(slots=True)
class _Open:
    """A guess that was made and what it is held against."""

    position: int
    """Of its first token in the text."""
    draft: Sequence[int]
    source: str


@dataclass(slots=True)
class _Seen:
    chances: dict[str, float] = field(default_factory=dict)
    open: _Open | None = None


class Acceptance:
    """Chances that the next guessed token is right if those before it were."""

    def __init__(self) -> None:
        self._overall: dict[str, float] = {}
        self._seen: dict[Hashable, _Seen] = {}

    def chance(self, key: Hashable, source: str) -> float:
        """Of a sequence's guesses from one source; of all sequences', as long as it had none."""
        start = self._overall.get(source, _PRIOR)
        seen = self._seen.get(key)
        return start if seen is None else seen.chances.get(source, start)

    def guessed(self, key: Hashable, position: int, draft: Sequence[int], source: str) -> None:
        """A guess was made: its first token would stand at `position`."""
        self._seen.setdefault(key, _Seen()).open = _Open(position, draft, source)

    def judge(self, key: Hashable, tokens: Sequence[int]) -> None:
        """Hold the last guess against the text so far."""
        seen = self._seen.get(key)
        if seen is None or seen.open is None:
            return
        guess, seen.open = seen.open, None
        chance = self.chance(key, guess.source)
        overall = self._overall.get(guess.source, _PRIOR)
        for guessed, said in zip(guess.draft, tokens[guess.position :], strict=False):
            hit = float(guessed == said)
            chance += _WEIGHT * (hit - chance)
            overall += _OVERALL_WEIGHT * (hit - overall)
            if not hit:
                break
        seen.chances[guess.source] = chance
        self._overall[guess.source] = overall

    def forget(self, key: Hashable) -> None:
        """The sequence is gone."""
        self._seen.pop(key, None)
