"""Threads follow the load: on a simulated machine whose steps collapse when threads outnumber free cores."""

import pytest

from engine.backends.base import Status
from engine.backends.fake import FakeBackend, FakeOptions
from engine.hardware.load import LoadMeter, Reading, read_counters
from engine.scheduler.compute import Compute
from engine.scheduler.measuring import Figures
from engine.scheduler.threads import Shape, ThreadControl

_ONE = Shape(0, 1)


class Machine:
    """Cores, other programs on them, and steps that take as long as on it."""

    def __init__(self, cores: int, *, blind: bool = False) -> None:
        self.cores = cores
        self.now = 100.0
        self.busy = 0.0
        """Cores that others use."""
        self.fastest = cores
        """More threads than this bring nothing."""
        self._others_s = 0.0
        self._own_s = 0.0
        self.set: list[tuple[int, int]] = []
        read = (lambda: Reading(self.now, 0.0, 0.0)) if blind else self._read
        self.control = ThreadControl(
            lambda *threads: self.set.append(threads),
            most=(cores, cores),
            cores=cores,
            meter=LoadMeter(read),
        )

    def _read(self) -> Reading:
        return Reading(self.now, self._others_s + self._own_s, self._own_s)

    def seconds(self, threads: int) -> float:
        collapse = 30.0 if threads > self.cores - self.busy + 0.5 else 1.0
        return 0.01 / min(threads, self.fastest) * collapse

    def step(self) -> float:
        """One decode; returns its seconds, given up steps included."""
        limit = self.control.before("decode", _ONE, self.now, rows=1)
        threads = self.control.threads[0]
        seconds = self.seconds(threads)
        given_up = limit is not None and seconds > limit
        took = limit if given_up and limit is not None else seconds
        self.now += took
        self._own_s += took * threads
        self._others_s += took * self.busy
        if given_up:
            self.control.gave_up("decode")
        else:
            self.control.after("decode", _ONE, seconds, rows=1)
        return took

    def run(self, seconds: float) -> float:
        """Steps a second over so long."""
        end, steps, start = self.now + seconds, 0, self.now
        while self.now < end:
            before = self.control.threads
            self.step()
            steps += before == self.control.threads
        return steps / (self.now - start)


@pytest.mark.parametrize("blind", [False, True], ids=["metered", "by step times alone"])
def test_a_busy_core_costs_little_and_its_end_is_noticed(blind: bool) -> None:
    machine = Machine(4, blind=blind)
    assert machine.run(10) > 350
    machine.busy = 1.0
    machine.run(0.5)  # at most a second to notice it
    assert machine.run(20) > 0.8 * 300
    assert machine.control.threads[0] == 3 or blind
    machine.busy = 0.0
    machine.run(35)
    assert machine.run(20) > 350


def test_one_free_core_of_two() -> None:
    machine = Machine(2)
    machine.run(5)
    machine.busy = 1.0
    machine.run(1)
    assert machine.run(60) > 0.9 * 100
    assert machine.control.threads == (1, 2)  # prefill had no step in which to notice


def test_a_step_that_hangs_is_given_up_soon() -> None:
    machine = Machine(4, blind=True)
    machine.run(2)
    machine.busy = 2.0
    assert max(machine.step() for _ in range(50)) <= 0.06


def test_fewer_threads_are_used_where_more_bring_nothing() -> None:
    machine = Machine(4)
    machine.fastest = 2
    machine.run(5)
    rate = machine.run(60)
    assert rate > 0.9 * 200


def test_threads_are_set_only_when_they_change() -> None:
    machine = Machine(2)
    machine.run(0.5)
    assert machine.set == []


def test_the_meter_counts_others_and_not_itself() -> None:
    readings = iter(
        [Reading(0, 10, 5), Reading(1, 12.5, 6.5), Reading(1.5, 13.0, 7.1), Reading(9, 25.0, 7.2)]
    )
    meter = LoadMeter(lambda: next(readings))
    assert meter.others(0.1) == 0
    assert meter.others(1.0) == pytest.approx(1.0)
    assert meter.others(1.1) == pytest.approx(1.0)
    assert meter.others(1.5) == 0  # never less, however the counters round
    assert meter.others(9) == 0  # so long a stretch says nothing of now


def test_the_counters_of_this_machine() -> None:
    first = read_counters()
    sum(i * i for i in range(300_000))
    second = read_counters()
    assert second.at > first.at
    assert second.own > first.own
    assert second.busy >= first.busy


def test_short_prompts_are_guarded_by_what_few_rows_cost() -> None:
    """Measured were steps of one and of 16 rows and a chunk of 256; a prompt of 20 rows beside a busy core hung unguarded."""
    backend = FakeBackend(512, 2, FakeOptions(seconds_per_step=5.0))
    control = ThreadControl(
        lambda *_: None, most=(2, 2), cores=2, meter=LoadMeter(lambda: Reading(0.0, 0.0, 0.0))
    )
    compute = Compute(backend, control)
    compute.seed(
        Figures(
            rows={1: 0.005, 16: 0.02},
            decode={1: 0.008, 2: 0.005},
            prefill={1: 0.002, 2: 0.001},
            chunk=256,
        )
    )
    batch = backend.new_batch(20)
    batch.token[:20], batch.pos[:20], batch.seq[:20], batch.out[:20] = 1, range(20), 0, 0
    batch.n = 20
    assert compute.decode(batch, "prefill").status is Status.ABORTED  # after 6 x 25 ms
    assert control.threads == (2, 1)
    backend.options = FakeOptions()
    assert compute.decode(batch, "prefill").status is Status.OK
