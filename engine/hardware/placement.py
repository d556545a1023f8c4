"""Where a model goes, and with how much context: on a GPU or into main memory. Pure. Neighbours: `fit`, `plan`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from engine.errors import OutOfMemory
from engine.hardware.facts import ModelFacts
from engine.hardware.fit import MemoryNeed, memory_needed
from engine.hardware.gpu import Gpu
from engine.hardware.probe import Memory
from engine.hardware.torch_fit import torch_ram_needed, vram_needed
from engine.hardware.units import gigabytes
from engine.types import KvType

BackendName = Literal["llama.cpp", "torch-cuda", "torch-cpu"]


@dataclass(frozen=True, slots=True)
class Placement:
    """A context that fits, and what it takes."""

    backend: BackendName
    gpu: Gpu | None
    """None: main memory."""
    context: int
    needed: MemoryNeed
    free: int
    """Bytes there were to choose from."""
    kv_type: KvType = "f16"


def place_on_gpu(
    facts: ModelFacts, gpu: Gpu, *, wanted: int, least: int, num_sequences: int
) -> Placement | str:
    """The largest context from `wanted` down to `least` tokens, or why none fits."""

    def need(context: int) -> MemoryNeed:
        return vram_needed(facts, context=context, num_sequences=num_sequences)

    context = _largest_context(wanted, least, lambda c: need(c).total <= gpu.vram_free)
    if context is None:
        needed, free = gigabytes(need(least).total), gigabytes(gpu.vram_free)
        return f"{gpu.name} has {free} free, {needed} are needed"
    return Placement("torch-cuda", gpu, context, need(context), gpu.vram_free)


def place_in_ram(
    facts: ModelFacts,
    memory: Memory,
    backend: Literal["llama.cpp", "torch-cpu"],
    *,
    wanted: int,
    least: int,
    num_sequences: int,
    kv_types: Sequence[KvType] = ("f16",),
) -> Placement:
    """The largest context from `wanted` down to `least` tokens.

    Args:
        facts: the model.
        memory: of the machine.
        backend: what computes.
        wanted: tokens.
        least: tokens.
        num_sequences: answers computed at the same time.
        kv_types: the cache may be of these, the first one that fits; torch keeps its own.

    Raises:
        OutOfMemory: not even `least` fits.
    """
    free = memory.free

    def need(context: int, kv_type: KvType) -> MemoryNeed:
        if backend == "torch-cpu":
            return torch_ram_needed(facts, context=context, num_sequences=num_sequences)
        return memory_needed(facts, context=context, num_sequences=num_sequences, kv_type=kv_type)

    def fitting(context: int) -> list[KvType]:
        return [kv_type for kv_type in kv_types if need(context, kv_type).total <= free]

    context = _largest_context(wanted, least, lambda c: bool(fitting(c)))
    if context is None:
        needed = need(least, kv_types[-1]).total
        limited = free < memory.available
        scope = " within the limit set for this process or container" if limited else ""
        way_out = "raise the limit" if limited else "close other programs"
        # Our own decoder unpacks all weights: another quantization of the model would take as much.
        smaller = "a smaller quantization" if backend == "llama.cpp" else "llama.cpp"
        with_backend = "" if backend == "llama.cpp" else " with torch"
        raise OutOfMemory(
            f"This model needs about {gigabytes(needed)} of memory{with_backend}, "
            f"and {gigabytes(free)} are free{scope}.",
            hint=f"Choose {smaller} or a smaller model, or {way_out}.",
            needed_bytes=needed,
            free_bytes=free,
        )
    kv_type = fitting(context)[0]
    return Placement(backend, None, context, need(context, kv_type), free, kv_type)


def _largest_context(wanted: int, least: int, fits: Callable[[int], bool]) -> int | None:
    """`wanted`, its half, its quarter, … but not under `least`; None when nothing fits."""
    context = wanted
    while not fits(context):
        if context <= least:
            return None
        context = max(least, context // 2)
    return context
