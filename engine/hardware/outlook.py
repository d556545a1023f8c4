"""What a model would cost and do on this machine, told before it is downloaded: `Fit`; and which of several files to take. Pure.

Speeds are never guessed from a table: they follow from what models did here. Neighbours: `fit` (bytes), `engine.supervisor`
(who knows what was measured and who would leave memory).
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from engine.api.hub import Fit, HubChoice, Verdict
from engine.formats.gguf_header import GgufHeader, TensorInfo
from engine.hardware.facts import ModelFacts
from engine.hardware.fit import MemoryNeed, memory_needed
from engine.hardware.units import gigabytes

TYPICAL_DEPTH: Final = 1024
"""Tokens of a chat whose cache is read for each new one."""
USABLE_SPEED: Final = 8.0
"""Tokens a second: about as fast as people read."""
_MOST_BITS: Final = 8
"""More bits for a number make files larger and answers no better."""
_USUAL_BITS: Final = 4
"""Taken where nothing was measured."""
_NEARLY: Final = 0.6
"""A file of a fast type is taken before one of a slow type that is not much larger than it."""
_AVX2: Final = frozenset({"Q4_0", "Q4_K", "IQ4_NL", "MXFP4", "Q8_0"})
_AVX512: Final = frozenset({"Q2_K"})
_DOTPROD: Final = _AVX2 | {"Q5_K", "Q6_K"}
"""Types with kernels for several rows at once. Source: llama.cpp, `repack.cpp`, and `llamafile/sgemm.cpp` for Q8_0 on x86."""
_LABEL: Final = re.compile(r"(?:UD-|i1-)?((?:IQ|TQ|Q|MXFP|NVFP|BF|F)(\d+)(?:_(?:K|NL|XS|[01]))?)")


@dataclass(frozen=True, slots=True)
class Work:
    """What one token costs a model."""

    bytes_read: int
    """Weights, of the experts that compute."""
    numbers: int
    """Parameters that compute."""
    kv_bytes: int
    """Cache that is read for each token before."""
    fast: bool
    """Most of the weights are of types that this processor has fast kernels for."""


@dataclass(frozen=True, slots=True)
class Speed:
    """What a model did here. Tokens a second."""

    work: Work
    writes: float
    reads: float


def is_fast(type_name: str, features: frozenset[str] | None) -> bool:
    """Has the processor fast kernels for a ggml type or a quantization label, `Q4_K` or `Q4_K_M`?"""
    features = features or frozenset({"avx2"})
    match = _LABEL.match(type_name)
    name = match[1] if match else type_name
    if "dotprod" in features:
        return name in _DOTPROD
    return ("avx2" in features and name in _AVX2) or ("avx512f" in features and name in _AVX512)


def work_of(header: GgufHeader, facts: ModelFacts, features: frozenset[str] | None) -> Work:
    """What a token costs, from the tensors; of a split model, all parts are taken to be like the first.

    Args:
        header: of the file.
        facts: of the whole model.
        features: of the processor.
    """
    prefix = facts.architecture
    used = _count(header, f"{prefix}.expert_used_count")
    experts = _count(header, f"{prefix}.expert_count")
    share = min(1.0, used / experts) if used and experts else 1.0
    tied = all(tensor.name != "output.weight" for tensor in header.tensors)
    active = numbers = fast = total = 0.0
    for tensor in header.tensors:
        size, count = tensor.num_bytes or 0, math.prod(tensor.shape)
        total += size
        part = _active_share(tensor, share, tied=tied)
        active += part * size
        numbers += part * count
        fast += part * size * is_fast(tensor.type, features)
    scale = facts.weights_bytes / total if total else 1.0
    return Work(
        bytes_read=max(1, int(active * scale)),
        numbers=max(1, int(numbers * scale)),
        kv_bytes=facts.kv_bytes_per_token + facts.window_bytes_per_token,
        fast=fast > active / 2,
    )


def in_other_quantization(
    work: Work, share: float, label: str, features: frozenset[str] | None
) -> Work:
    """The same model in a file of another size.

    Args:
        work: of the file that is known.
        share: the other file's size by its size.
        label: quantization of the other one.
        features: of the processor.
    """
    return replace(
        work, bytes_read=max(1, int(work.bytes_read * share)), fast=is_fast(label, features)
    )


def expected_speed(work: Work, measured: Sequence[Speed]) -> tuple[float, float] | None:
    """(writes, reads) in tokens a second, from the model measured here that is most like it; None: there is none."""
    alike = [speed for speed in measured if speed.work.fast == work.fast] or list(measured)
    if not alike:
        return None
    near = min(alike, key=lambda s: abs(math.log(s.work.bytes_read / work.bytes_read)))
    bandwidth = near.writes * near.work.bytes_read
    writes = bandwidth / (work.bytes_read + TYPICAL_DEPTH * work.kv_bytes)
    return writes, near.reads * near.work.numbers / work.numbers


def contexts_to_try(usual: int, least: int) -> tuple[int, ...]:
    """The usual context, its half, … down to the least, as `placement` tries them."""
    contexts = [usual]
    while contexts[-1] > least:
        contexts.append(max(least, contexts[-1] // 2))
    return tuple(contexts)


def needs_by_formula(
    facts: ModelFacts, contexts: Sequence[int], num_sequences: int
) -> dict[int, MemoryNeed]:
    """Context → bytes, without asking llama.cpp."""
    return {c: memory_needed(facts, context=c, num_sequences=num_sequences) for c in contexts}


def outlook(
    needs: Mapping[int, MemoryNeed],
    free_bytes: int,
    *,
    exact: bool,
    speed: tuple[float, float] | None = None,
    notes: Sequence[str] = (),
) -> Fit:
    """What a model would cost and do.

    Args:
        needs: context → bytes; the largest context is the usual one.
        free_bytes: free memory, with what models hold that would leave.
        exact: `needs` are llama.cpp's own figures.
        speed: (writes, reads), expected.
        notes: more reasons.
    """
    usual = max(needs)
    fitting = [context for context, need in needs.items() if need.total <= free_bytes]
    context = max(fitting, default=min(needs))
    need = needs[context]
    verdict: Verdict = "no" if not fitting else "fits" if context == usual else "shorter"
    reasons = []
    if verdict == "no":
        reasons.append(
            f"{gigabytes(need.total)} are needed with the shortest context, "
            f"{gigabytes(free_bytes)} are free"
        )
    elif verdict == "shorter":
        reasons.append(
            f"context {context:,} instead of {usual:,}: {gigabytes(free_bytes)} free, "
            f"{gigabytes(needs[usual].total)} would be needed"
        )
    if speed is None:
        reasons.append("no model was measured here yet: its speed is not known")
    writes, reads = speed or (None, None)
    return Fit(
        verdict=verdict,
        exact=exact,
        needed_bytes=need.total,
        weights_bytes=need.weights,
        kv_cache_bytes=need.kv_cache,
        compute_bytes=need.compute,
        free_bytes=free_bytes,
        context=context,
        writes=writes,
        reads=reads,
        reasons=(*reasons, *notes),
    )


def recommend(
    choices: Sequence[HubChoice], features: frozenset[str] | None
) -> tuple[int, str] | None:
    """Which file of a card to take, and why, as half a sentence; None where none fits.

    The best quality that fits with the usual context and is fast enough to read along; a file of a type that this processor has
    fast kernels for goes before a slow one that is hardly better.
    """
    fitting = [
        (index, choice, choice.fit)
        for index, choice in enumerate(choices)
        if choice.kind == "model" and not choice.missing_parts and choice.fit
    ]
    pool = [c for c in fitting if c[2].verdict == "fits"]
    pool = pool or [c for c in fitting if c[2].verdict == "shorter"]
    if not pool:
        return None
    known = [c for c in pool if c[2].writes is not None]
    usable = [c for c in known if (c[2].writes or 0) >= USABLE_SPEED]
    if known and not usable:
        index, _, fit = max(known, key=lambda c: c[2].writes or 0)
        return index, f"the fastest that fits: about {fit.writes:.1f} tokens a second"
    most = _MOST_BITS if known else _USUAL_BITS
    pool = usable or pool
    enough = [c for c in pool if _bits(c[1].quantization) <= most] or pool
    best = max(enough, key=lambda c: c[1].size_bytes)
    fast = [
        c
        for c in enough
        if is_fast(c[1].quantization, features) and c[1].size_bytes >= _NEARLY * best[1].size_bytes
    ]
    if fast and not is_fast(best[1].quantization, features):
        best = max(fast, key=lambda c: c[1].size_bytes)
    return best[0], _why(best[2], fast=best in fast)


def _why(fit: Fit, *, fast: bool) -> str:
    quality = "the best quality that fits" if fit.writes is not None else "a usual choice that fits"
    length = f" with a context of {fit.context:,}"
    kind = ", of a type that is fast on this processor" if fast else ""
    speed = "" if fit.writes is None else f": about {fit.writes:.0f} tokens a second"
    return quality + length + kind + speed


def _bits(label: str) -> int:
    match = _LABEL.match(label)
    return int(match[2]) if match else _USUAL_BITS


def _active_share(tensor: TensorInfo, expert_share: float, *, tied: bool) -> float:
    if tensor.name.endswith("_exps.weight"):
        return expert_share
    if tensor.name == "per_layer_token_embd.weight":
        return 0.0
    return float(tied) if tensor.name == "token_embd.weight" else 1.0


def _count(header: GgufHeader, key: str) -> int:
    value = header.metadata.get(key)
    return value if type(value) is int and 0 < value < 1 << 20 else 0
