"""How much of which guess is computed: as much as brings more tokens a second, by measured costs and measured chances.

Zone: worker process, owner thread. A step of n rows costs C(n) seconds; with chance p each, the first k tokens of a guess bring
p + p² + … + p^k tokens. Of all sequences' guesses the likeliest tokens are taken, as many as make tokens/C(rows) the largest:
since chances only fall along a guess, that is a beginning of each. Source of the model: Leviathan et al. 2023, §3.3.
"""

from collections.abc import Hashable, Sequence
from typing import Final, NamedTuple, Protocol

from engine.speculative.acceptance import Acceptance
from engine.speculative.row_costs import RowCosts

LEAST_GAIN: Final = 1.03
"""Less is not worth the noise."""


class Guess(NamedTuple):
    """What could be computed for one sequence."""

    key: Hashable
    length: int
    """Tokens guessed, or that could be."""
    source: str


class Controller(Protocol):
    """Decides on lengths."""

    def lengths(
        self, guesses: Sequence[Guess], num_rows: int, *, token_s: float = 0.0
    ) -> list[int]:
        """How many tokens of each guess to compute.

        Args:
            guesses: at most one a sequence.
            num_rows: of the step without any guess.
            token_s: seconds that making one guessed token takes; 0 where it is made already, or free.
        """

    def saw_step(self, num_rows: int, seconds: float) -> None:
        """A step that only continued answers took so long."""


class FixedLength:
    """Always the same length. For tests and benchmarks."""

    def __init__(self, length: int) -> None:
        self._length = length

    def lengths(
        self, guesses: Sequence[Guess], num_rows: int, *, token_s: float = 0.0
    ) -> list[int]:
        """See Controller."""
        del num_rows, token_s
        return [min(self._length, guess.length) for guess in guesses]

    def saw_step(self, num_rows: int, seconds: float) -> None:
        """See Controller."""


class MeasuringController:
    """Takes what pays."""

    def __init__(self, costs: RowCosts, acceptance: Acceptance) -> None:
        self._costs = costs
        self._acceptance = acceptance

    def lengths(
        self, guesses: Sequence[Guess], num_rows: int, *, token_s: float = 0.0
    ) -> list[int]:
        """See Controller."""
        likely = sorted(
            (
                (self._acceptance.chance(guess.key, guess.source) ** (i + 1), -i, place)
                for place, guess in enumerate(guesses)
                for i in range(guess.length)
            ),
            reverse=True,
        )
        tokens = float(num_rows)
        best, taken = LEAST_GAIN * tokens / self._costs.of(num_rows), 0
        for n, (chance, _, _) in enumerate(likely, 1):
            tokens += chance
            rate = tokens / (self._costs.of(num_rows + n) + n * token_s)
            if rate > best:
                best, taken = rate, n
        lengths = [0] * len(guesses)
        for _, _, place in likely[:taken]:
            lengths[place] += 1
        return lengths

    def saw_step(self, num_rows: int, seconds: float) -> None:
        """See Controller."""
        self._costs.saw(num_rows, seconds)
