"""A plan's reasons in plain words: half sentences without a full stop, shown as a list. Pure. Neighbour: `plan`."""

from engine.hardware.attention import AttentionFigures
from engine.hardware.cpu import Cpu
from engine.hardware.facts import ModelFacts
from engine.hardware.placement import Placement
from engine.hardware.units import gigabytes


def backend_reasons(
    cpu: Cpu, placement: Placement, why: str, threads: int, *, at_most: bool = False
) -> list[str]:
    """Which backend, and why.

    Args:
        cpu: the processor.
        placement: what was chosen.
        why: it is on no GPU; what is said of a GPU needs no more.
        threads: that decode.
        at_most: fewer while other programs want the cores.
    """
    if placement.gpu is not None:
        size = round(placement.gpu.vram_total / 2**30)
        return [f"{placement.gpu.name}, {size} GB: CUDA backend"]
    if placement.backend == "torch-cpu":
        choice = f"torch on the CPU, {why}: exact, and slower than llama.cpp"
    else:
        mark = ";" if ": " in why else ":"
        cores = f"{threads} of {_counted(cpu.physical_cores, 'core')}"
        choice = f"{why}{mark} llama.cpp on {'up to ' if at_most and threads > 1 else ''}{cores}"
    return [choice, cpu.handicap] if cpu.handicap else [choice]


def thread_reasons(cpu: Cpu, threads: int, *, chosen: bool, at_most: bool = False) -> list[str]:
    """Why not all cores compute.

    Args:
        cpu: the processor.
        threads: the larger of both numbers of threads.
        chosen: the user set it.
        at_most: fewer while other programs want the cores.
    """
    text = ("up to " if at_most and threads > 1 else "") + _counted(threads, "thread")
    if chosen and threads > cpu.usable_cores:
        return [
            f"{text}, as chosen, on {_counted(cpu.usable_cores, 'usable core')}: expect it slow"
        ]
    if chosen:
        return [f"{text}, as chosen"]
    if cpu.quota is not None and cpu.quota < min(cpu.allowed_cores, cpu.allowed_cpus):
        return [f"CPU quota {cpu.quota:.3g}: {text}"]
    if cpu.allowed_cpus < cpu.logical_cpus:
        return [f"limited to {cpu.allowed_cpus} of {cpu.logical_cpus} CPUs: {text}"]
    if cpu.performance_cores is not None:
        return [f"{cpu.performance_cores} of {cpu.physical_cores} cores are fast ones: {text}"]
    return []


def context_reasons(facts: ModelFacts, placement: Placement, wanted: int) -> list[str]:
    """What is special about the context and the estimate behind it."""
    context, trained = placement.context, facts.n_ctx_train
    reasons: list[str] = []
    if context < wanted:
        kind = "GPU memory " if placement.gpu else ""
        free = gigabytes(placement.free)
        reasons.append(f"context {context:,} instead of {wanted:,}: {free} {kind}free")
    if trained is None:
        reasons.append("the file does not say for which context the model was trained")
    elif context > trained:
        reasons.append(
            f"context {context:,} is more than the {trained:,} tokens the model was trained for: "
            "long chats may go astray"
        )
    # The notes are about llama.cpp's cache; our own decoder keeps everything, as the file says exactly.
    return [*reasons, *facts.notes] if placement.backend == "llama.cpp" else reasons


def attention_reasons(
    attention: AttentionFigures, placement: Placement, *, flash: bool | None, chosen: str | None
) -> list[str]:
    """What of attention is not as usual.

    Args:
        attention: what was measured.
        placement: what was chosen.
        flash: flash attention, if it was chosen by measurement.
        chosen: the cache's type as the user set it; None: it was left open.
    """
    reasons: list[str] = []
    if placement.backend != "llama.cpp":
        return reasons
    if placement.kv_type != "f16":
        small = attention.small_cache
        measured = "" if small is None else f" ({small})"
        why = "as chosen" if chosen else "so that the context fits"
        reasons.append(f"KV cache with 8 bits instead of 16, {why}{measured}")
    if flash is False:
        reasons.append(f"without flash attention, as measured here ({attention.without_flash})")
    return reasons


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
