"""Nobody starves: under an endless stream of newcomers every request has its answer within a bound."""

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.backends.fake import FakeOptions
from engine.scheduler.queue import AGEING_ROWS_PER_S, LIFT_S
from tests.unit.test_scheduler import Engine, sequence

STEP_S = 0.5


@given(
    length=st.integers(40, 600),
    priority=st.integers(0, 1),
    newcomer=st.integers(1, 60),
    num_sequences=st.integers(1, 3),
)
@settings(max_examples=25, deadline=None)
def test_a_long_prompt_is_answered_under_a_stream_of_short_ones(
    length: int, priority: int, newcomer: int, num_sequences: int
) -> None:
    now = 0.0
    engine = Engine(num_sequences=num_sequences, prefill_chunk=16, options=FakeOptions(n_batch=64))
    engine.stepper._clock = lambda: now
    long = sequence("long", [1] * length, priority=priority, created_at=0.0)
    engine.scheduler.add(long)
    bound = LIFT_S * (priority + 1) + length / AGEING_ROWS_PER_S + 60 * STEP_S
    number = 0
    while ("long", 0) not in engine.answers:
        now += STEP_S
        assert now <= bound + STEP_S * (length / 16) * 4
        if (
            len(engine.scheduler.waiting) < 4
        ):  # as fast as they are taken, there is always one waiting
            number += 1
            tokens = [2, number % 250, *[3] * newcomer]
            engine.scheduler.add(sequence(f"n{number}", tokens, created_at=now))
        engine.step(num_tokens=2)
