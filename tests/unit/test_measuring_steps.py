"""Measuring takes as many steps as it needs: many short ones, few long ones, none that was stopped."""

from engine.scheduler.measuring import SHORT, TILE, _try_out


class Trial:
    """Rows take a fixed time; each third step is stopped."""

    def __init__(self, row_s: float, *, stops: bool = False) -> None:
        self.row_s = row_s
        self.stops = stops
        self.steps: list[int] = []

    def fill(self, rows: int, depth: int) -> bool:
        del rows, depth
        return True

    def step(self, rows: int) -> float | None:
        self.steps.append(rows)
        if self.stops and len(self.steps) % 3 == 0:
            return None
        return rows * self.row_s

    def close(self) -> None:
        pass


def tried(trial: Trial) -> tuple[float, float, float, float]:
    work = _try_out(trial, 256, depth=2048, most=512)
    while True:
        try:
            next(work)
        except StopIteration as end:
            found: tuple[float, float, float, float] = end.value
            return found


def test_short_steps_are_repeated() -> None:
    trial = Trial(1e-4)
    assert tried(trial) == (1e-4, 1e-4, TILE * 1e-4, 1e-4)
    assert {rows: trial.steps.count(rows) for rows in (1, SHORT, TILE, 256)} == {
        1: 12,
        SHORT: 3,
        TILE: 3,
        256: 3,
    }


def test_long_steps_are_taken_twice() -> None:
    trial = Trial(0.02)
    assert tried(trial) == (0.02, 0.02, TILE * 0.02, 0.02)
    assert [trial.steps.count(rows) for rows in (SHORT, TILE, 256)] == [2, 2, 2]


def test_what_was_stopped_does_not_count() -> None:
    trial = Trial(0.02, stops=True)
    assert tried(trial) == (0.02, 0.02, TILE * 0.02, 0.02)


def test_no_step_is_longer_than_the_model_takes() -> None:
    trial = Trial(1e-4)
    work = _try_out(trial, 32, depth=2048, most=32)
    for _ in work:
        pass
    assert max(trial.steps) == 32
