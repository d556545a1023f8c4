"""How long drafts should be: longer while they are right, none where they cost more than they bring.

Zone: worker process, owner thread. Acceptance is watched for each sequence, speed for the worker as a whole, measured on
this machine under today's load: tokens per second of steps with drafts against steps without.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final, Protocol

from engine.backends.base import MOST_DRAFTED

_FIRST_LENGTH: Final = 4
_LEAST_LENGTH: Final = 1
_BASELINE_STEPS: Final = 6
"""Steps without drafts whenever the baseline is measured anew."""
_DRAFTED_STEPS: Final = 64
"""Steps with drafts until then."""
_PAUSE_STEPS: Final = 128
"""Steps without drafts after they have lost."""
_WEIGHT: Final = 0.15
"""Of the newest step in the running mean."""


class Controller(Protocol):
    """Decides on lengths and hears what came of it."""

    def length(self, key: Hashable) -> int:
        """Most tokens to draft for a sequence now; 0: none."""

    def saw_draft(self, key: Hashable, drafted: int, accepted: int) -> None:
        """A draft was verified."""

    def saw_step(
        self, seconds: float, num_tokens: int, num_sequences: int, *, drafted: bool
    ) -> None:
        """A step that only continued answers took so long and brought so many tokens."""

    def forget(self, key: Hashable) -> None:
        """The sequence is gone."""


class FixedLength:
    """Always the same length. For tests and benchmarks."""

    def __init__(self, length: int) -> None:
        self._length = length

    def length(self, key: Hashable) -> int:
        """See Controller."""
        del key
        return self._length

    def saw_draft(self, key: Hashable, drafted: int, accepted: int) -> None:
        """See Controller."""

    def saw_step(
        self, seconds: float, num_tokens: int, num_sequences: int, *, drafted: bool
    ) -> None:
        """See Controller."""

    def forget(self, key: Hashable) -> None:
        """See Controller."""


@dataclass(slots=True)
class _Speed:
    """Running mean of tokens per second and sequence; 0: not measured."""

    rate: float = 0.0

    def add(self, rate: float) -> None:
        self.rate = rate if self.rate == 0 else self.rate + _WEIGHT * (rate - self.rate)


class MeasuringController:
    """Doubles after a draft that was right, falls back to what was right; pauses while drafts lose."""

    def __init__(self) -> None:
        self._lengths: dict[Hashable, int] = {}
        self._plain, self._drafted = _Speed(), _Speed()
        self._plain_steps_left = _BASELINE_STEPS
        self._drafted_steps_left = 0

    def length(self, key: Hashable) -> int:
        """See Controller."""
        return 0 if self._plain_steps_left else self._lengths.get(key, _FIRST_LENGTH)

    def saw_draft(self, key: Hashable, drafted: int, accepted: int) -> None:
        """See Controller."""
        if accepted == drafted:
            self._lengths[key] = min(MOST_DRAFTED, 2 * drafted)
        else:
            self._lengths[key] = max(_LEAST_LENGTH, accepted + 1)

    def saw_step(
        self, seconds: float, num_tokens: int, num_sequences: int, *, drafted: bool
    ) -> None:
        """See Controller."""
        rate = num_tokens / (max(seconds, 1e-9) * num_sequences)
        if drafted:
            self._drafted.add(rate)
            self._drafted_steps_left -= 1
            if self._drafted_steps_left <= 0:
                loses = self._drafted.rate < self._plain.rate
                self._plain_steps_left = _PAUSE_STEPS if loses else _BASELINE_STEPS
        else:
            self._plain.add(rate)
            if self._plain_steps_left:
                self._plain_steps_left -= 1
                if not self._plain_steps_left:
                    self._drafted = _Speed()
                    self._drafted_steps_left = _DRAFTED_STEPS

    def forget(self, key: Hashable) -> None:
        """See Controller."""
        self._lengths.pop(key, None)
