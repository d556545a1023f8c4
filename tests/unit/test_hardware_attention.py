"""A plan uses what attention was measured to cost: the way it is computed, and a smaller cache before a shorter context."""

from dataclasses import replace

import pytest

from engine.errors import InvalidRequest
from engine.hardware.attention import AttentionCost, AttentionFigures, Shares
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


USUAL = Shares(1.0, 1.0, 1.0)


def figures(*, off: Shares = USUAL, small: Shares = USUAL) -> AttentionFigures:
    ways: list[tuple[bool, KvType, Shares]] = [
        (True, "f16", USUAL),
        (False, "f16", off),
        (True, "q8_0", small),
    ]
    return AttentionFigures(
        [
            AttentionCost(flash, kv_type, 0.1 * s.write, 0.01 * s.read, 0.02 * s.short)
            for flash, kv_type, s in ways
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
    made = plan(figures(small=Shares(1.1, 1.2, 1.0)))
    assert (made.context, made.kv_type) == (8192, "q8_0")
    assert "8 bits instead of 16, so that the context fits (long prompts 1.20" in reasons(made)
    assert made.needed.total < plan(None, Wishes(context=8192, kv_type="f16"), LAPTOP).needed.total


def test_not_where_it_is_slow_nor_where_there_is_room() -> None:
    assert plan(figures(small=Shares(1.0, 1.4, 1.0))).kv_type == "f16"
    assert plan(figures(), on=LAPTOP).kv_type == "f16"


def test_a_chosen_type_wins() -> None:
    made = plan(figures(small=Shares(3.0, 3.0, 3.0)), Wishes(kv_type="q8_0"))
    assert (made.kv_type, made.context) == ("q8_0", 8192)
    assert "as chosen" in reasons(made)
    assert plan(figures(), Wishes(kv_type="f16")).context == 4096
    with pytest.raises(InvalidRequest, match="q4_0"):
        plan(None, Wishes(kv_type="q4_0"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("off", "flash"),
    [
        (Shares(1.0, 1.1, 0.5), False),
        (
            Shares(1.0, 1.1, 0.9),
            None,
        ),  # what is kept of conversations would be read anew for little
        (Shares(1.3, 1.1, 0.5), None),  # answers would be slower
        (Shares(1.0, 1.5, 0.5), None),  # long prompts would be
    ],
)
def test_flash_attention_goes_where_it_loses(off: Shares, flash: bool | None) -> None:
    made = plan(figures(off=off), on=LAPTOP)
    assert made.flash_attention is flash
    assert ("without flash attention, as measured here" in reasons(made)) == (flash is False)


def test_without_flash_attention_more_memory_is_planned() -> None:
    off = figures(off=Shares(1.0, 1.0, 0.5))
    with_scores, usual = plan(off, on=LAPTOP), plan(None, on=LAPTOP)
    more = with_scores.needed.compute - usual.needed.compute
    assert more == 4 * EIGHT_B.n_head * 8192 * 512
    tight = pc(cpu(4), ram(8, usual.needed.total / GIB + 0.3))
    assert plan(off, on=tight).flash_attention is None
