"""The bare loop on llama.cpp's C API in pages of 4 kB, as every program gets them, and in huge pages, as our workers ask for.

One process each, side by side, asked in turns. Ratios above 1: huge pages are faster.
`python -m benchmarks.huge_pages [--model 135m|1b|1b-q4_k_m] [--rounds N]`.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

import psutil

from benchmarks.footprint import Memory
from benchmarks.harness import paired, ratio_interval, report
from benchmarks.vs_llama_server import MODELS
from engine.heap import for_weights

_PROMPT = [(7919 * i) % 40_000 + 10 for i in range(512)]
_TOKENS = 96


def main() -> None:
    """Run and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=MODELS, default="135m")
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    model = MODELS[args.model]()
    usual = {k: v for k, v in os.environ.items() if k != "GLIBC_TUNABLES"}
    with ExitStack() as stack:
        run = {
            name: _loop(stack, model, environment)
            for name, environment in (("usual", usual), ("huge", for_weights(usual)))
        }
        rows = paired(run, pairs=args.rounds)
    ratios = {
        name: ratio_interval(
            [row[name] for row in rows["usual"]], [row[name] for row in rows["huge"]]
        )
        for name in ("decode_s", "first_s")
    }
    report(
        "huge_pages",
        model=model.name,
        rounds=args.rounds,
        decode_speed=[round(value, 3) for value in ratios["decode_s"]],
        prefill_speed=[round(value, 3) for value in ratios["first_s"]],
        private_mb={name: round(mine[-1]["private_mb"]) for name, mine in rows.items()},
        available=Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text().strip(),
    )


def _loop(
    stack: ExitStack, model: Path, environment: Mapping[str, str]
) -> Callable[[], dict[str, float]]:
    threads = str(psutil.cpu_count(logical=False) or 1)
    process = stack.enter_context(
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.raw_loop", str(model), threads],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
    )
    assert process.stdin is not None
    assert process.stdout is not None
    asks, answers = process.stdin, process.stdout
    stack.callback(asks.close)  # which ends it
    answers.readline()

    def once() -> dict[str, float]:
        asks.write(json.dumps({"prompt": _PROMPT, "tokens": _TOKENS}) + "\n")
        asks.flush()
        return json.loads(answers.readline()) | {"private_mb": Memory.of(process.pid).private}

    return once


if __name__ == "__main__":
    main()
