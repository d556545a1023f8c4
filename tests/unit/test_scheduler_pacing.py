"""The chunk follows from measured times: no number of it is a constant of the machine."""

from hypothesis import given
from hypothesis import strategies as st

from engine.scheduler.pacing import ALONE_S, GAP_S, LEAST_SPEED, Pacing


def measured(row_s: float, decode_s: float, depth: int = 0) -> Pacing:
    pacing = Pacing(4096)
    for _ in range(20):
        pacing.saw_read(depth, 64, 64 * row_s)
        pacing.saw_decode(decode_s)
    return pacing


@given(st.floats(1e-5, 0.1), st.floats(1e-4, 2.0))
def test_the_gap_rules_unless_the_prompt_would_crawl(row_s: float, decode_s: float) -> None:
    rows, ruled = measured(row_s, decode_s).chunk(0, beside=True)
    reading = rows * row_s
    share = reading / (reading + decode_s)
    slack = 16 * row_s  # chunks come in 16 rows
    if ruled == "gap":
        assert reading + decode_s <= GAP_S + slack
        assert share >= LEAST_SPEED - 0.01 - 16 * row_s / (reading + decode_s) or rows == 4096
    else:
        assert ruled == "speed"
        assert GAP_S - slack <= reading + decode_s or rows == 4096
        assert share >= LEAST_SPEED - slack / (reading + decode_s) or rows == 4096


def test_depth_makes_chunks_smaller_and_comes_back_with_the_next_prompt() -> None:
    pacing = Pacing(4096)
    for depth in range(0, 4096, 64):
        pacing.saw_read(depth, 64, 64 * (0.001 + depth * 1e-6))
    pacing.saw_decode(0.01)
    chunks = [pacing.chunk(depth, beside=True)[0] for depth in (0, 1024, 2048, 4095)]
    assert chunks == sorted(chunks, reverse=True)
    assert chunks[0] > 2 * chunks[-1]


def test_alone_a_step_is_about_a_second_and_nothing_is_assumed_before_a_measurement() -> None:
    rows, ruled = measured(0.005, 0.02).chunk(0, beside=False)
    assert (rows, ruled) == (ALONE_S / 0.005 // 16 * 16, "")
    assert Pacing(4096).chunk(0, beside=True) == (128, "gap")
    assert Pacing(32).chunk(0, beside=False) == (32, "")


def test_few_rows_tell_about_overhead_and_are_not_measured() -> None:
    pacing = Pacing(4096)
    pacing.saw_read(0, 4, 10.0)
    assert pacing.chunk(0, beside=True) == (128, "gap")
