"""How many prompt rows go between two steps of running answers: as measured here, now, at this depth.

Zone: worker process, owner thread. A step of c rows takes r (c + F) seconds: F rows' worth for the step itself, and r grows with
depth, as a row deep in a long prompt attends to more; r is measured for each stretch of depth. Two wishes meet: no answer waits
longer than the gap target, and a prompt keeps most of the speed that it has alone.
"""

from typing import Final

from engine.scheduler.sequence import PacedBy

GAP_S: Final = 0.25
"""Longest wanted time between two tokens of a running answer while others' prompts are read."""
LEAST_SPEED: Final = 0.7
"""Share of its speed that a prompt keeps beside running answers, even where that makes the gap longer."""
ALONE_S: Final = 1.0
"""Longest step where no answer waits: a newcomer's short prompt comes after it."""
FIRST_ROWS: Final = 128
"""Until a step has been measured."""

FIXED_ROWS: Final = 64
"""F. SmolLM2-135M, 2,000 tokens deep, 2 threads: 16 rows take 170 ms, 64 take 260, 256 take 700. Without it small chunks would
look like slow rows, and be made smaller still."""

_STRETCH: Final = 512
"""Tokens of depth that share one measured cost."""
_WEIGHT: Final = 0.5
"""Of the newest measurement."""
_GRAIN: Final = 16
"""Chunks are multiples of it: kernels work in groups of rows."""


class Pacing:
    """Measured step times, and the chunk that follows from them."""

    def __init__(
        self, n_batch: int, *, gap_s: float = GAP_S, fixed_rows: int | None = None
    ) -> None:
        """Start without measurements.

        Args:
            n_batch: most rows of a step.
            gap_s: seconds wanted between two tokens.
            fixed_rows: for tests: always this chunk.
        """
        self._n_batch = n_batch
        self._gap_s = gap_s
        self._fixed_rows = fixed_rows
        self._decode_s = 0.0
        self._row_s: dict[int, float] = {}

    def saw_decode(self, seconds: float) -> None:
        """A step of running answers took so long."""
        self._decode_s += (_WEIGHT if self._decode_s else 1.0) * (seconds - self._decode_s)

    def saw_read(self, depth: int, rows: int, seconds: float) -> None:
        """A step of so many prompt rows took so long; the first of them stood at `depth`."""
        stretch = (depth + rows // 2) // _STRETCH
        known = self._row_s.get(stretch)
        new = seconds / (rows + FIXED_ROWS)
        self._row_s[stretch] = new if known is None else known + _WEIGHT * (new - known)

    def chunk(self, depth: int, *, beside: bool) -> tuple[int, PacedBy]:
        """Most prompt rows of the next step, and what ruled.

        Args:
            depth: tokens that the prompt's next row follows.
            beside: answers are running.
        """
        if self._fixed_rows is not None:
            return self._fixed_rows, "gap" if beside else ""
        row_s = self._row_cost(depth)
        if row_s is None:
            return self._rows(FIRST_ROWS), "gap" if beside else ""
        if not beside:
            return self._rows(ALONE_S / row_s - FIXED_ROWS), ""
        by_gap = (self._gap_s - self._decode_s) / row_s - FIXED_ROWS
        # c rows in decode_s + r (c + F), against n_batch rows in r (n_batch + F)
        alone = 1 + FIXED_ROWS / self._n_batch
        by_speed = LEAST_SPEED * (self._decode_s / row_s + FIXED_ROWS) / (alone - LEAST_SPEED)
        return self._rows(max(by_gap, by_speed)), "gap" if by_gap >= by_speed else "speed"

    def _row_cost(self, depth: int) -> float | None:
        """Seconds of a row at this depth, as measured at the nearest."""
        if not self._row_s:
            return None
        stretch = depth // _STRETCH
        return self._row_s[min(self._row_s, key=lambda known: abs(known - stretch))]

    def _rows(self, rows: float) -> int:
        whole = max(_GRAIN, int(rows) // _GRAIN * _GRAIN)
        return min(self._n_batch, whole)
