"""A machine, a model, what is installed and what is wished become a `Plan`, with reasons in plain words. Pure.

Zone: service. A wish wins where it can be had; one that cannot be had is an error, what had to give way is a
reason. Neighbours: `probe`, `facts`, `parts`, `cuda` (which GPU), `placement` (how much context), `reasons`.
"""

from dataclasses import dataclass, replace
from typing import get_args

from engine.errors import InvalidRequest, SetupError, UnsupportedByBackend
from engine.hardware.attention import AttentionFigures
from engine.hardware.cuda import pick_gpu
from engine.hardware.facts import ModelFacts
from engine.hardware.fit import DEFAULT_UBATCH, MemoryNeed
from engine.hardware.gpu import Gpu
from engine.hardware.parts import InstalledParts
from engine.hardware.placement import BackendName, Placement, place_in_ram, place_on_gpu
from engine.hardware.probe import Hardware
from engine.hardware.reasons import (
    attention_reasons,
    backend_reasons,
    context_reasons,
    thread_reasons,
)
from engine.types import KvType

DEFAULT_CONTEXT = 8192
"""Tokens. Models trained for 128k and more would reserve gigabytes for a short chat."""
LEAST_CONTEXT = 2048
"""Tokens. Less is planned only when asked for, or when the model was trained for less."""
MOST_CONTEXT = 1 << 24
DEFAULT_SEQUENCES = 8
MOST_SEQUENCES = 256
"""llama.cpp's limit."""
_MOST_OF_FREE = 0.8
"""Of free memory: what is only faster may not make it tight."""
_F32 = 4
MOST_THREADS = 512
"""ggml's limit."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user set; None leaves the choice to the plan."""

    backend: str | None = None
    """A `BackendName`."""
    context: int | None = None
    """Tokens in the cache, shared by all sequences."""
    num_sequences: int | None = None
    decode_threads: int | None = None
    prefill_threads: int | None = None
    kv_type: KvType | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """How to load one model on one machine."""

    backend: BackendName
    context: int
    num_sequences: int
    decode_threads: int
    prefill_threads: int
    follows_load: bool
    """The threads are the most; fewer compute while other programs want the cores."""
    needed: MemoryNeed
    """Of main memory, or of GPU memory when `gpu` is set."""
    gpu: Gpu | None
    kv_type: KvType
    """Of llama.cpp's cache."""
    flash_attention: bool | None
    """llama.cpp computes attention in one pass; None: as it decides itself."""
    pads_from: int
    """Rows from which llama.cpp's short steps are padded; 0: none is."""
    reasons: tuple[str, ...]
    """Half sentences; the first one is the choice of backend."""


def make_plan(
    hardware: Hardware,
    facts: ModelFacts,
    parts: InstalledParts,
    wishes: Wishes,
    attention: AttentionFigures | None = None,
) -> Plan:
    """Decide how to load a model.

    Args:
        hardware: as it is now.
        facts: the model.
        parts: what is installed.
        wishes: what the user set.
        attention: what was measured of it here.

    Raises:
        InvalidRequest: a wish is no possible value.
        UnsupportedByBackend: the wished backend cannot run this model here.
        OutOfMemory: the model does not fit, even with the smallest context.
        SetupError: llama.cpp is not installed.
    """
    _check(wishes)
    if not parts.llama_cpp:  # it reads the vocabulary for our own decoder too
        raise SetupError("llama.cpp is not installed.", hint="Run the installer again.")
    cpu = hardware.cpu
    wanted = wishes.context or min(facts.n_ctx_train or LEAST_CONTEXT, DEFAULT_CONTEXT)
    sequences = wishes.num_sequences or DEFAULT_SEQUENCES
    attention = attention or AttentionFigures()
    kv_types = _kv_types(wishes, attention)
    placement, why = _place(hardware, facts, parts, wishes, (wanted, sequences), kv_types)
    flash, needed = _flash(facts, placement, attention)
    chosen = bool(wishes.decode_threads or wishes.prefill_threads)
    follows_load = placement.backend == "llama.cpp" and not chosen
    # one busy core elsewhere makes a full-width step collapse: who cannot follow the load leaves one core
    default_threads = max(1, cpu.usable_cores - (not follows_load))
    decode = wishes.decode_threads or default_threads
    prefill = wishes.prefill_threads or default_threads
    return Plan(
        backend=placement.backend,
        context=placement.context,
        num_sequences=sequences,
        decode_threads=decode,
        prefill_threads=prefill,
        follows_load=follows_load,
        needed=needed,
        gpu=placement.gpu,
        kv_type=placement.kv_type,
        flash_attention=flash,
        pads_from=attention.pads_from if flash is None and placement.kv_type == "f16" else 0,
        reasons=(
            *backend_reasons(cpu, placement, why, decode, at_most=follows_load),
            *thread_reasons(cpu, max(decode, prefill), chosen=chosen, at_most=follows_load),
            *context_reasons(facts, placement, wanted),
            *attention_reasons(attention, placement, flash=flash, chosen=wishes.kv_type),
        ),
    )


def _kv_types(wishes: Wishes, attention: AttentionFigures) -> tuple[KvType, ...]:
    """Of the cache, in the order to try: a smaller one before the context is cut, where it was measured to be bearable."""
    if wishes.kv_type is not None:
        return (wishes.kv_type,)
    return ("f16", "q8_0") if attention.small_cache_is_bearable else ("f16",)


def _flash(
    facts: ModelFacts, placement: Placement, attention: AttentionFigures
) -> tuple[bool | None, MemoryNeed]:
    """Flash attention or not (None: as llama.cpp decides), and the memory with it. Without it all scores of a step are kept."""
    needed = placement.needed
    if placement.backend != "llama.cpp" or placement.kv_type != "f16" or attention.flash is None:
        return None, needed
    scores = _F32 * facts.n_head * placement.context * DEFAULT_UBATCH
    with_scores = replace(needed, compute=needed.compute + scores)
    if not facts.n_head or with_scores.total > _MOST_OF_FREE * placement.free:
        return None, needed
    return False, with_scores


def _check(wishes: Wishes) -> None:
    if wishes.backend is not None and wishes.backend not in get_args(BackendName):
        raise InvalidRequest(
            f"There is no backend “{wishes.backend}”.",
            hint="Choose llama.cpp, torch-cuda or torch-cpu.",
            param="backend",
        )
    if wishes.kv_type is not None and wishes.kv_type not in get_args(KvType):
        raise InvalidRequest(
            f"The KV cache cannot be “{wishes.kv_type}”.",
            hint="Choose f16 or q8_0.",
            param="kv_type",
        )
    for param, value, most in (
        ("context", wishes.context, MOST_CONTEXT),
        ("num_sequences", wishes.num_sequences, MOST_SEQUENCES),
        ("decode_threads", wishes.decode_threads, MOST_THREADS),
        ("prefill_threads", wishes.prefill_threads, MOST_THREADS),
    ):
        if value is not None and not 1 <= value <= most:
            raise InvalidRequest(
                f"{param} cannot be {value}.",
                hint=f"Choose a number from 1 to {most:,}.",
                param=param,
            )


def _place(
    hardware: Hardware,
    facts: ModelFacts,
    parts: InstalledParts,
    wishes: Wishes,
    size: tuple[int, int],
    kv_types: tuple[KvType, ...],
) -> tuple[Placement, str]:
    """The placement, and why it is not on a GPU. `size` is (context, sequences)."""
    wanted, sequences = size
    least = min(wanted, LEAST_CONTEXT)
    why = "as chosen"
    if wishes.backend in (None, "torch-cuda"):
        # A context that was asked for moves the model to main memory before it is cut down.
        keep = wishes.context is not None and wishes.backend is None
        found = pick_gpu(hardware, facts, parts)
        if isinstance(found, Gpu):
            least_on_gpu = wanted if keep else least
            on_gpu = place_on_gpu(
                facts, found, wanted=wanted, least=least_on_gpu, num_sequences=sequences
            )
            if isinstance(on_gpu, Placement):
                return on_gpu, ""
            found = on_gpu
        why = found
    if wishes.backend == "torch-cuda":
        raise _unsupported("The CUDA backend", facts.decoder_problem or why)
    if wishes.backend == "torch-cpu" and (facts.decoder_problem or not parts.torch):
        raise _unsupported("Torch", facts.decoder_problem or "torch is not installed")
    in_ram = place_in_ram(
        facts,
        hardware.memory,
        "torch-cpu" if wishes.backend == "torch-cpu" else "llama.cpp",
        wanted=wanted,
        least=least,
        num_sequences=sequences,
        kv_types=kv_types,
    )
    return in_ram, why


def _unsupported(backend: str, why: str) -> UnsupportedByBackend:
    return UnsupportedByBackend(
        f"{backend} cannot run this model: {why}.",
        hint="Choose llama.cpp, or leave the choice to the app.",
    )
