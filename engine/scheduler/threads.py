"""How many threads compute, following the load of the machine. Measured step by step.

Zone: worker process, owner thread. llama.cpp's threads meet at a barrier after every graph node: with one thread more than
there are free cores a step takes up to a hundred times as long (SmolLM2-135M, 2 cores, one busy: 184 tokens/s become 0.6-44;
one thread gives 78-123). So: never more threads than cores that others leave free; fewer at once where steps take much longer
than they did; one more on trial, for a few steps, where there seems to be room; and back if that was no faster.
"""

from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple

from engine.hardware.load import LoadMeter

Kind = Literal["decode", "prefill"]

_SLACK: Final = 0.35
"""Busy cores of others that are overlooked: the service and the window that this very answer feeds."""
_TRIAL_STEPS: Final[dict[Kind, int]] = {"decode": 6, "prefill": 1}
_WORTH: Final = 0.97
"""Time that a trial must come down to."""
_FIRST_TRIAL_S: Final = 1.0
_LAST_TRIAL_S: Final = 30.0
"""Trials come after 1, 2, 4 … 30 seconds of computing while they bring nothing."""
_DISTURBED: Final = 2.5
"""Times the usual: a step that took so long was disturbed."""
_COLLAPSED: Final = 6.0
_LEAST_LIMIT_S: Final = 0.05
_WEIGHT: Final = 0.25


class Shape(NamedTuple):
    """Steps of one kind and shape take the same time a row."""

    depth: int
    """Of the last row, in stretches."""
    rows: int
    """How many there are, as a class of sizes that grows with them."""


class _Lane:
    """One kind of step. Costs are seconds for steps of one shape, by number of threads."""

    def __init__(self, kind: Kind, most: int) -> None:
        self.most = most
        self._best = most
        """By what was measured, where cores are free."""
        self._tried: int | None = None
        self._cap: int | None = None
        """After a collapse, until it is time to try again."""
        self._free = most
        self._steps = _TRIAL_STEPS[kind]
        self._tries_fewer = kind == "decode"
        self._costs: dict[tuple[int, Shape], float] = {}
        self._trial: list[float] = []
        self._trial_steps = 0
        self._next_trial_s = _FIRST_TRIAL_S
        self._computed_s = 0.0
        """Since the last trial or collapse."""
        self._disturbed = 0

    @property
    def threads(self) -> int:
        """For the next step."""
        return max(1, min(self._tried or self._best, self._cap or self._best + 1, self._free))

    def seed(self, costs: Mapping[tuple[int, Shape], float], best: int) -> None:
        """Use the best number of threads that was measured."""
        self._costs |= costs
        if 1 <= best <= self.most:
            self._best = best

    def expected(self, shape: Shape) -> float | None:
        """Seconds (a row) as measured before, with as many threads or as it follows from another number.

        Of a shape that was never seen: as of the largest smaller step, whose rows cost more, and generously deeper.
        """
        known = self._costs.get((self.threads, shape))
        if known is not None:
            return known
        alike = [s for _, s in self._costs if s.depth <= shape.depth and s.rows <= shape.rows]
        if not alike:
            return None
        nearest = max(alike)
        return min(
            cost * max(1.0, threads / self.threads) * (1 + shape.depth - nearest.depth)
            for (threads, other), cost in self._costs.items()
            if other == nearest
        )

    def limit(self, free: int) -> None:
        """Use no more threads than there are free cores; try another number when it is time."""
        if free > self._free:
            self._next_trial_s = min(self._next_trial_s, _FIRST_TRIAL_S)
        self._free = free
        if self._computed_s < self._next_trial_s or self._tried is not None:
            return
        if self._cap is not None:
            self._cap = None
        elif free >= self._best:
            # more if there is room; else fewer where that may be as fast: decoding is bound by memory, prefill is not
            if self._best < min(free, self.most):
                self._tried = self._best + 1
            elif self._tries_fewer and self._best > 1:
                self._tried = self._best - 1
            self._trial, self._trial_steps = [], 0
        self._computed_s = 0.0

    def saw(self, shape: Shape, cost: float, seconds: float) -> None:
        """A step was computed with `threads`: what it cost, and how long it took."""
        self._computed_s += seconds
        if self._tried == self.threads:
            self._saw_trial(shape, cost, self._tried)
            return
        self._tried = None  # the load did not let it be tried
        threads = self.threads
        usual = self._costs.get((threads, shape))
        if usual is not None and threads > 1 and cost > _DISTURBED * usual:
            self._disturbed += 1
            if self._disturbed >= 2:
                self.collapsed()
            return
        self._disturbed = 0
        new = cost if usual is None else usual + _WEIGHT * (cost - usual)
        self._costs[threads, shape] = new

    def _saw_trial(self, shape: Shape, cost: float, tried: int) -> None:
        before = self._costs.get((self._best, shape))
        self._trial_steps += 1
        if before is not None and (self._trial_steps > 1 or self._steps == 1):
            self._trial.append(cost / before)  # not of the first step, which wakes threads up
        if self._trial and self._trial[-1] > _DISTURBED:
            self._end_trial()
        elif self._trial_steps >= self._steps:
            shares = sorted(self._trial)
            if shares and before is not None and shares[len(shares) // 2] <= _WORTH:
                self._costs[tried, shape] = shares[len(shares) // 2] * before
                self._best, self._tried = tried, None
                self._next_trial_s, self._computed_s = _FIRST_TRIAL_S, 0.0
            else:
                self._end_trial()

    def _end_trial(self) -> None:
        self._tried = None
        self._wait_longer()

    def _wait_longer(self) -> None:
        self._next_trial_s = min(_LAST_TRIAL_S, 2 * self._next_trial_s)
        self._computed_s = 0.0

    def collapsed(self) -> None:
        """A step took so long that it was given up, or two in a row were far too long."""
        self._disturbed = 0
        if self._tried is not None:
            self._end_trial()
        elif self.threads > 1:
            self._cap = self.threads - 1
            self._wait_longer()


class ThreadControl:
    """Chooses the number of threads before each step and learns from its time."""

    def __init__(
        self,
        set_threads: Callable[[int, int], None],
        *,
        most: tuple[int, int],
        cores: int,
        meter: LoadMeter | None = None,
    ) -> None:
        """Start with as many as there may be.

        Args:
            set_threads: takes those for decode and for prefill.
            most: the same two, at most.
            cores: logical CPUs that we may run on.
            meter: tells what others use.
        """
        self._set_threads = set_threads
        self._decode, self._prefill = _Lane("decode", most[0]), _Lane("prefill", most[1])
        self._cores = cores
        self._meter = meter or LoadMeter()
        self._in_use = most

    @property
    def threads(self) -> tuple[int, int]:
        """For decode and for prefill, now."""
        return self._decode.threads, self._prefill.threads

    def _lane(self, kind: Kind) -> _Lane:
        return self._decode if kind == "decode" else self._prefill

    def seed(self, kind: Kind, costs: Mapping[tuple[int, Shape], float], best: int) -> None:
        """Begin with what was measured before.

        Args:
            kind: of step.
            costs: (threads, shape) → seconds of a row, or of a step that decodes.
            best: threads.
        """
        self._lane(kind).seed(costs, best)

    def before(self, kind: Kind, shape: Shape, now: float, *, rows: int) -> float | None:
        """Set the threads for a step.

        Args:
            kind: of step.
            shape: of the step.
            now: `time.monotonic()`.
            rows: that the step's time is divided by.

        Returns:
            Seconds after which the step should be given up; None: never.
        """
        lane = self._lane(kind)
        free = max(1, int(self._cores - self._meter.others(now) + _SLACK))
        lane.limit(free)
        if self.threads != self._in_use:
            self._in_use = self.threads
            self._set_threads(*self.threads)
        expected = lane.expected(shape)
        if expected is None or lane.threads == 1:
            return None
        return max(_LEAST_LIMIT_S, _COLLAPSED * expected * rows)

    def after(self, kind: Kind, shape: Shape, seconds: float, *, rows: int) -> None:
        """The step took so long."""
        self._lane(kind).saw(shape, seconds / rows, seconds)

    def gave_up(self, kind: Kind) -> None:
        """The step was given up; it will come again."""
        self._lane(kind).collapsed()
