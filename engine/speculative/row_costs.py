"""What a step of n rows costs beside a step of one: measured on this machine, under today's load.

Zone: worker process, owner thread. A curve's shape changes slowly and is the same from start to start (it is kept on disk); its
scale follows the load from step to step.
"""

from collections.abc import Mapping
from typing import Final

USUAL: Final[Mapping[int, float]] = {1: 1.0, 2: 1.55, 4: 2.1, 8: 3.3, 16: 4.8, 32: 9.1}
"""Until something is measured: SmolLM2-135M as Q4_0 on one thread of an EPYC core."""
_SCALE_WEIGHT: Final = 0.3
_SHAPE_WEIGHT: Final = 0.1


class RowCosts:
    """Seconds by rows; between measured numbers of rows a straight line."""

    def __init__(self, measured: Mapping[int, float] | None = None) -> None:
        """Start from a curve.

        Args:
            measured: rows → seconds; None: the usual shape, which the first steps replace.
        """
        self.learn(measured or {})
        if not measured:
            self._shape = dict(USUAL)

    def learn(self, measured: Mapping[int, float]) -> None:
        """Begin anew from a whole curve: rows → seconds."""
        self._shape, self._known, self._scale = dict(measured), set(measured), 1.0

    def of(self, rows: int) -> float:
        """Seconds of a step (of some unit, until one was measured)."""
        return self._scale * self._at(rows)

    def saw(self, rows: int, seconds: float) -> None:
        """A step took so long."""
        if rows not in self._known:
            # the first of its kind: where it stands on the curve is all that is asked
            if not self._known:
                self._scale = seconds / self._at(rows)
            self._known.add(rows)
            self._shape[rows] = seconds / self._scale
            self._level(rows)
            return
        self._scale += _SCALE_WEIGHT * (seconds / self._shape[rows] - self._scale)
        self._shape[rows] += _SHAPE_WEIGHT * (seconds / self._scale - self._shape[rows])

    def _level(self, rows: int) -> None:
        """What was assumed of more rows is no less than what was measured of fewer, and the other way round."""
        cost = self._shape[rows]
        for other in self._shape.keys() - self._known:
            limit = max if other > rows else min
            self._shape[other] = limit(self._shape[other], cost)

    def _at(self, rows: int) -> float:
        shape = self._shape
        if rows in shape:
            return shape[rows]
        below = max((n for n in shape if n < rows), default=None)
        above = min((n for n in shape if n > rows), default=None)
        if below is None or above is None:
            edge = above if below is None else below
            assert edge is not None
            return shape[edge] * (rows / edge if rows > edge else 1.0)
        share = (rows - below) / (above - below)
        return shape[below] + share * (shape[above] - shape[below])
