"""The chunk follows from measured times: no number of it is a constant of the machine."""

from hypothesis import given
from hypothesis import strategies as st

from engine.scheduler.pacing import ALONE_S, FIXED_ROWS, GAP_S, LEAST_SPEED, Pacing


def step(row_s: float, rows: int) -> float:
    return row_s * (rows + FIXED_ROWS)


def measured(row_s: float, decode_s: float, depth: int = 0) -> Pacing:
    pacing = Pacing(4096)
    for _ in range(20):
        pacing.saw_read(depth, 64, step(row_s, 64))
        pacing.saw_decode(decode_s)
    return pacing


@given(st.floats(1e-5, 0.1), st.floats(1e-4, 2.0))
def test_the_gap_rules_unless_the_prompt_would_crawl(row_s: float, decode_s: float) -> None:
    rows, ruled = measured(row_s, decode_s).chunk(0, beside=True)
    gap = decode_s + step(row_s, rows)
    alone = 4096 / step(row_s, 4096)
    share = rows / gap / alone
    slack = 16 * row_s  # chunks come in 16 rows
    assert share >= LEAST_SPEED * (1 - 16 / max(rows, 17)) or rows == 4096
    if ruled == "gap":
        assert gap <= GAP_S + slack
    else:
        assert ruled == "speed"
        assert gap >= GAP_S - slack or rows == 4096


def test_small_chunks_do_not_make_smaller_ones() -> None:
    """What they cost beyond their rows is no reason to take fewer rows."""
    pacing = measured(0.002, 0.01)
    first, _ = pacing.chunk(0, beside=True)
    for _ in range(50):
        rows, _ = pacing.chunk(0, beside=True)
        pacing.saw_read(0, rows, step(0.002, rows))
    assert pacing.chunk(0, beside=True)[0] == first


def test_depth_makes_chunks_smaller_and_comes_back_with_the_next_prompt() -> None:
    pacing = Pacing(4096)
    for depth in range(0, 4096, 64):
        pacing.saw_read(depth, 64, step(0.0005 + depth * 1e-6, 64))
    pacing.saw_decode(0.001)
    chunks = [pacing.chunk(depth, beside=True)[0] for depth in (0, 1024, 2048, 4095)]
    assert chunks == sorted(chunks, reverse=True)
    assert chunks[0] > 1.5 * chunks[-1]


def test_alone_a_step_is_about_a_second_and_nothing_is_assumed_before_a_measurement() -> None:
    rows, ruled = measured(0.005, 0.02).chunk(0, beside=False)
    assert (rows, ruled) == ((ALONE_S / 0.005 - FIXED_ROWS) // 16 * 16, "")
    assert Pacing(4096).chunk(0, beside=True) == (128, "gap")
    assert Pacing(32).chunk(0, beside=False) == (32, "")
