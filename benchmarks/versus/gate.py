"""One comparison with what it must reach and what we hope for."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from benchmarks.harness import ratio_interval


@dataclass(frozen=True, slots=True)
class Gate:
    """How many times better we are than the peer: above 1 we win, whatever is measured."""

    name: str
    """`scenario.figure`."""
    unit: str
    ours: float | None
    peer: float | None
    """Medians of both."""
    ratio: float | None
    low: float | None
    high: float | None
    """Of the medians, with a bootstrap interval of 95 %. None where there is nothing to divide."""
    gate: float
    """The least ratio; below it something is broken."""
    goal: float
    holds: bool
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """For the report, rounded."""
        return {k: _short(v) if isinstance(v, float) else v for k, v in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class Kind:
    """What is measured, and which way is better."""

    unit: str
    better: Literal["more", "less"]


SPEED = Kind("tokens/s", "more")
DURATION = Kind("s", "less")


def compare(
    name: str,
    kind: Kind,
    sides: Mapping[str, Sequence[float]],
    *,
    gate: float,
    goal: float,
    note: str = "",
) -> Gate:
    """Judge the figures of `ours` and `peer`, one of each a round. It holds if the ratio reaches the gate."""
    mine, theirs = list(sides["ours"]), list(sides["peer"])
    above, below = (mine, theirs) if kind.better == "more" else (theirs, mine)
    ratio, low, high = ratio_interval(above, below)
    return Gate(
        name=name,
        unit=kind.unit,
        ours=statistics.median(mine),
        peer=statistics.median(theirs),
        ratio=ratio,
        low=low,
        high=high,
        gate=gate,
        goal=goal,
        holds=ratio >= gate,
        note=note,
    )


def at_most(
    name: str,
    unit: str,
    sides: Mapping[str, Sequence[float]],
    *,
    gate: float,
    goal: float,
    note: str = "",
) -> Gate:
    """Judge our own median by itself: `gate` and `goal` are the most it may be, as the peer's may be zero."""
    ours, peer = statistics.median(sides["ours"]), statistics.median(sides["peer"])
    note = f"at most, not a ratio; {note}".removesuffix("; ")
    return Gate(name, unit, ours, peer, None, None, None, gate, goal, holds=ours <= gate, note=note)


def failed(name: str, kind: Kind, reason: str, *, gate: float, goal: float) -> Gate:
    """A comparison that could not be made, which counts as lost."""
    return Gate(name, kind.unit, None, None, None, None, None, gate, goal, holds=False, note=reason)


def _short(value: float) -> float | str:
    return float(f"{value:.4g}") if math.isfinite(value) else str(value)  # JSON has no infinity
