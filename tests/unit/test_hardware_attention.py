"""A plan uses what attention was measured to cost: the way it is computed, and a smaller cache before a shorter context."""

from dataclasses import replace

import pytest

from engine.errors import InvalidRequest
from engine.hardware.attention import AttentionCost, AttentionFigures
from engine.hardware.plan import Plan, Wishes, make_plan
from engine.hardware.probe import Hardware
from engine.types import KvType
from tests.unit.test_hardware_plan import (
    CPU_ONLY,
    GIB,
    LAPTOP,
    cpu,
    pc,
    ram,
)
from tests.unit.test_hardware_plan import EIGHT_B as WITHOUT_HEADS

EIGHT_B = replace(WITHOUT_HEADS, n_head=32)
TIGHT = pc(cpu(4), ram(8, 5.7))
"""Room for an 8B model with 4,096 tokens of 16 bits, or 8,192 of 8."""


Times = tuple[float, float, float]
"""Of writing, of long prompts, of short messages."""
USUAL: Times = (1.0, 1.0, 1.0)


def figures(*, off: Times = USUAL, small: Times = USUAL, tile: float = 1.0) -> AttentionFigures:
    ways: list[tuple[bool, KvType, Times]] = [
        (True, "f16", USUAL),
        (False, "f16", off),
        (True, "q8_0", small),
    ]
    return AttentionFigures(
        [
            AttentionCost(flash, kv_type, 0.1 * write, 0.01 * read, 0.1 * short, 6.4 * tile)
            for flash, kv_type, (write, read, short) in ways
        ]
    )


def plan(
    attention: AttentionFigures | None, wishes: Wishes | None = None, on: Hardware = TIGHT
) -> Plan:
    return make_plan(on, EIGHT_B, CPU_ONLY, wishes or Wishes(), attention)


def reasons(made: Plan) -> str:
    return "; ".join(made.reasons)


def test_nothing_measured_changes_nothing() -> None:
    made = plan(None)
    assert (made.context, made.kv_type, made.flash_attention) == (4096, "f16", None)
    assert "cache" not in reasons(made)


def test_a_smaller_cache_comes_before_a_shorter_context() -> None:
    made = plan(figures(small=(1.1, 1.2, 1.0)))
    assert (made.context, made.kv_type) == (8192, "q8_0")
    assert "8 bits instead of 16, so that the context fits (long prompts 1.20" in reasons(made)
    assert made.needed.total < plan(None, Wishes(context=8192, kv_type="f16"), LAPTOP).needed.total


def test_not_where_it_is_slow_nor_where_there_is_room() -> None:
    assert plan(figures(small=(1.0, 1.4, 1.0))).kv_type == "f16"
    assert plan(figures(), on=LAPTOP).kv_type == "f16"


def test_a_chosen_type_wins() -> None:
    made = plan(figures(small=(3.0, 3.0, 3.0)), Wishes(kv_type="q8_0"))
    assert (made.kv_type, made.context) == ("q8_0", 8192)
    assert "as chosen" in reasons(made)
    assert plan(figures(), Wishes(kv_type="f16")).context == 4096
    with pytest.raises(InvalidRequest, match="q4_0"):
        plan(None, Wishes(kv_type="q4_0"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("off", "flash"),
    [
        ((1.0, 1.1, 0.2), False),
        ((1.0, 1.1, 0.8), None),  # what is kept of conversations would be read anew for little
        ((1.1, 1.1, 0.5), None),  # answers would take longer
        ((0.75, 1.1, 1.0), False),
        ((1.0, 1.5, 0.2), None),  # long prompts would
    ],
)
def test_flash_attention_goes_where_it_loses(off: Times, flash: bool | None) -> None:
    made = plan(figures(off=off), on=LAPTOP)
    assert made.flash_attention is flash
    assert ("without flash attention, as measured here" in reasons(made)) == (flash is False)


@pytest.mark.parametrize(
    ("off", "tile", "pads_from"),
    [
        (
            USUAL,
            1.0,
            66,
        ),  # a whole tile costs what its rows cost: no step has so many and fewer than a tile
        (USUAL, 0.7, 47),
        ((1.0, 1.0, 0.3), 0.7, 0),  # there are no tiles without flash attention
    ],
)
def test_short_steps_are_padded_where_a_tile_costs_less(
    off: Times, tile: float, pads_from: int
) -> None:
    assert plan(figures(off=off, tile=tile), on=LAPTOP).pads_from == pads_from
    assert plan(None).pads_from == 0
    assert plan(figures(tile=tile), Wishes(kv_type="q8_0")).pads_from == 0


def test_without_flash_attention_more_memory_is_planned() -> None:
    off = figures(off=(1.0, 1.0, 0.2))
    with_scores, usual = plan(off, on=LAPTOP), plan(None, on=LAPTOP)
    more = with_scores.needed.compute - usual.needed.compute
    assert more == 4 * EIGHT_B.n_head * 8192 * 512
    tight = pc(cpu(4), ram(8, usual.needed.total / GIB + 0.3))
    assert plan(off, on=tight).flash_attention is None
