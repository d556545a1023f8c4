"""A plan uses what attention was measured to cost: the way it is computed, and a smaller cache before a shorter context."""

import pytest

from engine.errors import InvalidRequest
from engine.hardware.attention import AttentionCost, AttentionFigures
from engine.hardware.plan import Plan, Wishes, make_plan
from engine.types import KvType
from tests.unit.test_hardware_plan import (
    CPU_ONLY,
    EIGHT_B,
    LAPTOP,
    cpu,
    pc,
    ram,
)

TIGHT = pc(cpu(4), ram(8, 5.7))
"""Room for an 8B model with 4,096 tokens of 16 bits, or 8,192 of 8."""


def figures(*, off: float = 2.0, small: float = 1.1) -> AttentionFigures:
    ways: list[tuple[bool, KvType, float]] = [
        (True, "f16", 1.0),
        (False, "f16", off),
        (True, "q8_0", small),
    ]
    return AttentionFigures([AttentionCost(*way, 0.1 * x, 0.01 * x) for *way, x in ways])


def plan(attention: AttentionFigures | None, wishes: Wishes | None = None, on=TIGHT) -> Plan:
    return make_plan(on, EIGHT_B, CPU_ONLY, wishes or Wishes(), attention)


def reasons(made: Plan) -> str:
    return "; ".join(made.reasons)


def test_nothing_measured_changes_nothing() -> None:
    made = plan(None)
    assert (made.context, made.kv_type, made.flash_attention) == (4096, "f16", None)
    assert "cache" not in reasons(made)


def test_a_smaller_cache_comes_before_a_shorter_context() -> None:
    made = plan(figures())
    assert (made.context, made.kv_type) == (8192, "q8_0")
    assert "8 bits instead of 16, so that the context fits, measured at 1.10 times" in reasons(made)
    assert made.needed.total < plan(None, Wishes(context=8192, kv_type="f16"), LAPTOP).needed.total


def test_not_where_it_is_slow_nor_where_there_is_room() -> None:
    assert plan(figures(small=1.4)).kv_type == "f16"
    assert plan(figures(), on=LAPTOP).kv_type == "f16"


def test_a_chosen_type_wins() -> None:
    made = plan(figures(small=3.0), Wishes(kv_type="q8_0"))
    assert (made.kv_type, made.context) == ("q8_0", 8192)
    assert "as chosen" in reasons(made)
    assert plan(figures(), Wishes(kv_type="f16")).context == 4096
    with pytest.raises(InvalidRequest, match="q4_0"):
        plan(None, Wishes(kv_type="q4_0"))  # type: ignore[arg-type]


def test_flash_attention_goes_where_it_loses() -> None:
    made = plan(figures(off=0.7), on=LAPTOP)
    assert made.flash_attention is False
    assert "without flash attention: 0.70 times its time here" in reasons(made)
    assert plan(figures(off=0.9), on=LAPTOP).flash_attention is None
    assert plan(figures(off=0.7)).flash_attention is None  # a cache of 8 bits needs it
