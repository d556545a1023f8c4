"""What all benchmarks share: paired interleaved runs, medians with intervals, one JSON line."""

import json
import math
import platform
import random
import statistics
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from engine.hub.starter import install_starter
from engine.paths import Paths

_RESAMPLES = 2000
FILE_TYPES = {"Q4_0": 2, "Q4_K_M": 15}
"""llama.cpp's `LLAMA_FTYPE_MOSTLY_*`."""


def starter_model() -> Path:
    """The 135M starter model as it ships (Q4_1), in the user's cache."""
    return install_starter(Paths.find().cache / "test-models", lambda *_: None)


def q4_0_model() -> Path:
    """The starter model requantized to Q4_0, which llama.cpp has fast kernels for."""
    source = starter_model()
    target = source.with_name("SmolLM2-135M-Instruct.Q4_0.gguf")
    if not target.exists():
        quantize(source, target, "Q4_0")
    return target


def quantize(source: Path, target: Path, kind: str) -> None:
    """Write `source` as `kind` (a key of `FILE_TYPES`) by llama.cpp; `target` appears whole or not at all.

    Raises:
        RuntimeError: llama.cpp refused the file.
    """
    import llama_cpp.llama_cpp as lib

    silence = lib.llama_log_callback(lambda *_: None)
    lib.llama_log_set(silence, None)
    params = lib.llama_model_quantize_default_params()
    params.ftype = FILE_TYPES[kind]
    params.allow_requantize = True
    partial = target.with_suffix(".part")
    failed = lib.llama_model_quantize(bytes(source), bytes(partial), params)
    lib.llama_log_set(lib.llama_log_callback(), None)  # ours ends with this function
    if failed:
        partial.unlink(missing_ok=True)
        raise RuntimeError(f"quantizing {source.name} to {kind} failed")
    partial.replace(target)


def interval(values: list[float]) -> tuple[float, float, float]:
    """(median, low, high): bootstrap 95 % interval of the median."""
    rng = random.Random(1)
    medians = sorted(
        statistics.median(rng.choices(values, k=len(values))) for _ in range(_RESAMPLES)
    )
    low, high = medians[int(0.025 * _RESAMPLES)], medians[int(0.975 * _RESAMPLES)]
    return statistics.median(values), low, high


def ratio_interval(above: list[float], below: list[float]) -> tuple[float, float, float]:
    """(ratio, low, high) of the medians of two paired lists; the bootstrap draws whole rounds."""
    rng = random.Random(1)
    rounds = list(zip(above, below, strict=True))

    def ratio(drawn: list[tuple[float, float]]) -> float:
        top = statistics.median(a for a, _ in drawn)
        bottom = statistics.median(b for _, b in drawn)
        return top / bottom if bottom else math.inf if top else 1.0

    ratios = sorted(ratio(rng.choices(rounds, k=len(rounds))) for _ in range(_RESAMPLES))
    return ratio(rounds), ratios[int(0.025 * _RESAMPLES)], ratios[int(0.975 * _RESAMPLES)]


def rounded(values: list[float], digits: int = 3) -> dict[str, float]:
    """An interval, ready for the report."""
    median, low, high = interval(values)
    return {"median": round(median, digits), "low": round(low, digits), "high": round(high, digits)}


def paired(
    run: Mapping[str, Callable[[], dict[str, float]]], *, pairs: int, settle: int = 1
) -> dict[str, list[dict[str, float]]]:
    """Run all candidates once a round, so that drift of the machine meets all alike.

    In a new order each round, as a run may profit or suffer from the one before it. The first
    `settle` rounds are thrown away.
    """
    results: dict[str, list[dict[str, float]]] = {name: [] for name in run}
    order = list(run.items())
    shuffle = random.Random(1).shuffle
    for round_number in range(pairs + settle):
        shuffle(order)
        for name, one in order:
            figures = one()
            if round_number >= settle:
                results[name].append(figures)
    return results


def report(benchmark: str, **figures: Any) -> None:
    """Print the one JSON line, with what it was measured on."""
    machine = {
        "cpu": platform.processor() or platform.machine(),
        "cores": psutil.cpu_count(logical=False),
        "load_1min": round(psutil.getloadavg()[0], 2),
        "python": platform.python_version(),
        "llama_cpp_python": version("llama-cpp-python"),
    }
    print(json.dumps({"benchmark": benchmark, **figures, "machine": machine}))
