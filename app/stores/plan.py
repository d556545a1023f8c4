"""How a model would run here, out of the service's JSON. Pure. Neighbours: `models`, `engine.api.models`."""

from collections.abc import Mapping
from typing import Any

import msgspec


class PlanMemory(msgspec.Struct, frozen=True):
    """Bytes."""

    total: int


class PlanGpu(msgspec.Struct, frozen=True):
    """The GPU that was chosen. Bytes."""

    name: str
    vram_free: int


class RunPlan(msgspec.Struct, frozen=True):
    """The part of a plan that is shown."""

    backend: str
    context: int
    decode_threads: int
    needed: PlanMemory
    reasons: tuple[str, ...] = ()
    gpu: PlanGpu | None = None


def read_plan(wire: Mapping[str, Any] | None) -> RunPlan | None:
    """The plan, or None where there is none or it is not understood."""
    try:
        return msgspec.convert(wire, RunPlan | None)
    except msgspec.ValidationError:
        return None
