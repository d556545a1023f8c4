"""Our service against llama.cpp's own llama-server, side by side in one run. Losses are printed like the rest.

Yardstick: llama-server with its defaults (flags are named where a scenario gives some), built from the llama.cpp
tree inside the source package of the installed llama-cpp-python, with the flags of our own build:

    cmake -B build -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON -DGGML_OPENMP=ON -DGGML_LLAMAFILE=ON
        -DGGML_CPU_REPACK=ON -DLLAMA_BUILD_UI=OFF -DLLAMA_BUILD_TESTS=OFF
    cmake --build build -t llama-server

Both run all the time and are asked in turns, in changing order, with prompts that no cache knows; the first round
is thrown away. A ratio above 1 is ours, whatever is measured; it comes with a bootstrap interval of 95 %.
`python -m benchmarks.vs_llama_server --peer build/bin/llama-server [--scenarios cold,chat] [--model 135m] [--rounds N]`.
"""

import argparse
import hashlib
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks.harness import q4_0_model, report
from benchmarks.peer import peer_version
from benchmarks.synthetic_model import synthetic_1b
from benchmarks.versus import chat, idle, neighbours, repetition, schemas, single
from benchmarks.versus.duel import Outcome, Setting
from benchmarks.versus.gate import Gate

SCENARIOS: dict[str, Callable[[Setting], Outcome]] = {
    "cold": single.cold,
    "busy": single.busy,
    "chat": chat.chat,
    "hints": chat.hints,
    "reopen": chat.reopen,
    "arrival": neighbours.arrival,
    "shared_prefix": neighbours.shared_prefix,
    "schemas": schemas.schemas,
    "copy": repetition.copy,
    "prose": repetition.prose,
    "overflow": neighbours.overflow,
    "cancel": neighbours.cancel,
    "idle": idle.idle,
}
MODELS: dict[str, Callable[[], Path]] = {
    "135m": q4_0_model,
    "1b": lambda: synthetic_1b("Q4_0"),
    "1b-q4_k_m": lambda: synthetic_1b("Q4_K_M"),
}


def main() -> None:
    """Run and print one JSON line; a table of the gates goes to stderr. Exit code 1 if a scenario broke."""
    args = _arguments()
    signal.signal(signal.SIGTERM, _leave)  # as Ctrl-C: servers are ended on the way out
    setting = Setting(MODELS[args.model](), args.peer, args.rounds, args.threads)
    gates: list[Gate] = []
    figures: dict[str, Any] = {}
    try:
        for name in args.scenarios:
            outcome = _run(name, setting)
            gates += outcome.gates
            figures[name] = outcome.figures
            print(*map(_line, outcome.gates), sep="\n", file=sys.stderr, flush=True)
    finally:  # a run that is stopped reports what it has
        report(
            "vs_llama_server",
            commit=_commit(),
            model=setting.model.name,
            sha256=_sha256(setting.model),
            peer=peer_version(setting.peer_binary),
            rounds=setting.rounds or "each scenario's own",
            gates=[gate.as_json() for gate in gates],
            scenarios=figures,
        )
    sys.exit(any("broken" in found for found in figures.values()))


def _run(name: str, setting: Setting) -> Outcome:
    started = time.perf_counter()
    try:
        outcome = SCENARIOS[name](setting)
    except Exception as error:  # noqa: BLE001 - the other scenarios still count
        traceback.print_exc()
        notes = getattr(error, "__notes__", ())
        return Outcome([], {"broken": " ".join([repr(error)[:500], *notes])})
    outcome.figures["wall_s"] = round(time.perf_counter() - started)
    return outcome


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--peer",
        type=Path,
        default=os.environ.get("INGLENOOK_PEER"),
        help="the llama-server binary (or INGLENOOK_PEER)",
    )
    parser.add_argument(
        "--scenarios",
        type=lambda names: names.split(","),
        default=list(SCENARIOS),
        help=f"some of {','.join(SCENARIOS)}",
    )
    parser.add_argument("--model", choices=MODELS, default="135m")
    parser.add_argument("--rounds", type=int, default=0, help="counted rounds of each scenario")
    parser.add_argument(
        "--threads",
        type=int,
        default=0,
        help="of both (default: left to each; all cores of both in cold)",
    )
    args = parser.parse_args()
    if args.peer is None or not Path(args.peer).is_file():
        parser.error("--peer must name a llama-server binary; how to build one: see --help")
    if unknown := set(args.scenarios) - set(SCENARIOS):
        parser.error(f"no such scenario: {', '.join(sorted(unknown))}")
    args.peer = Path(args.peer)
    return args


def _leave(number: int, frame: FrameType | None) -> None:
    del frame
    sys.exit(128 + number)


def _line(gate: Gate) -> str:
    sides = f"{_number(gate.ours)} against {_number(gate.peer)} {gate.unit}"
    ratio = "" if gate.ratio is None else f"{gate.ratio:.3f}x [{gate.low:.3f}, {gate.high:.3f}]"
    verdict = "holds" if gate.holds else "LOST"
    target = f"gate {gate.gate:g}, goal {gate.goal:g}"
    return f"{gate.name:26} {verdict:6} {ratio:28} {sides}; {target} {gate.note}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _commit() -> str:
    asked = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return asked.stdout.strip()


def _sha256(model: Path) -> str:
    with model.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    main()
