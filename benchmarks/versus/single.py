"""One stream alone: `cold` with equal threads and an unknown prompt, `busy` beside a loop that takes a core."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psutil

from benchmarks.footprint import Memory
from benchmarks.versus.duel import Outcome, Setting, Side, both, duel, flags_of, last
from benchmarks.versus.exchange import answer
from benchmarks.versus.gate import DURATION, SPEED, Gate, Kind, compare, failed
from benchmarks.versus.texts import words

_LIMIT_S = 20.0
"""`busy`: a stream that stalls is left after this time."""
_OUTRANKS = -5
"""Niceness of a program that goes before others, such as what the user has in front."""
_SMALL_BYTES = 300 << 20
_LOOP = """import os
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(1000000): pass
"""


def cold(setting: Setting) -> Outcome:
    """128 tokens after an unknown prompt of 500, equal threads, no guessing: identical kernels."""
    threads = setting.threads or psutil.cpu_count(logical=False) or 1
    with both(replace(setting, threads=threads), ours=("--speculation", "off")) as sides:

        def measure(side: Side, number: int) -> dict[str, float]:
            body = {"prompt": words(500, number), "max_tokens": 128, "ignore_eos": True}
            exchange = answer(side.base_url, body)
            memory = Memory.of(side.process.pid)
            return {
                "rate": exchange.rate,
                "worker_rate": exchange.worker_rate,
                "first_s": exchange.first_s,
                "prompt_n": exchange.timings["prompt_n"],
                "private_mb": memory.private,
                "file_mb": memory.file,
            }

        found = duel(sides, measure, rounds=setting.rounds or 12)
        flags = flags_of(sides)
    # a token of a small model takes 5 ms, of which HTTP and a client on the same two cores are more
    end_to_end = 0.90 if setting.model.stat().st_size < _SMALL_BYTES else 0.97
    peak = {name: [max(values)] for name, values in found["private_mb"].items()}
    return Outcome(
        [
            compare("cold.end_to_end", SPEED, found["rate"], gate=end_to_end, goal=0.98),
            compare("cold.inside", SPEED, found["worker_rate"], gate=0.95, goal=0.98),
            compare("cold.first_token", DURATION, found["first_s"], gate=0.9, goal=1.0),
            compare(
                "cold.private_memory",
                Kind("MB", "less"),
                peak,
                gate=0.8,
                goal=1.0,
                note="peak of all processes of a side",
            ),
        ],
        {"flags": flags} | {key: last(found[key]) for key in ("file_mb", "prompt_n")},
    )


def busy(setting: Setting) -> Outcome:
    """64 tokens with the defaults of both, while another process computes: of the same priority, and of a higher one."""
    gates: list[Gate] = []
    figures: dict[str, Any] = {}
    with both(setting) as sides:
        for (
            side
        ) in sides.values():  # our model loads with the first request, and not beside the loop
            answer(side.base_url, {"prompt": "Hello", "max_tokens": 2})
        for name, niceness in (("end_to_end", 0), ("outranked", _OUTRANKS)):
            gates.append(_busy(setting, sides, f"busy.{name}", niceness, figures))
        figures["flags"] = flags_of(sides)
    return Outcome(gates, figures)


def _busy(
    setting: Setting, sides: Mapping[str, Side], name: str, niceness: int, figures: dict[str, Any]
) -> Gate:
    def measure(side: Side, number: int) -> dict[str, float]:
        body = {"prompt": words(20, number), "max_tokens": 64, "ignore_eos": True}
        with _busy_core(niceness):
            exchange = answer(side.base_url, body, limit_s=_LIMIT_S)
        return {"rate": exchange.rate, "first_s": exchange.first_s}

    try:
        found = duel(sides, measure, rounds=setting.rounds or 3)
    except PermissionError:
        return failed(name, SPEED, "needs the right to raise a priority", gate=20.0, goal=100.0)
    figures[f"{name}.first_s"] = found["first_s"]
    note = f"niceness {niceness}; a stream is left after {_LIMIT_S:.0f} s"
    return compare(name, SPEED, found["rate"], gate=20.0, goal=100.0, note=note)


@contextmanager
def _busy_core(niceness: int) -> Iterator[None]:
    loop = subprocess.Popen([sys.executable, "-c", _LOOP])
    try:
        os.setpriority(os.PRIO_PROCESS, loop.pid, niceness)
        yield
    finally:
        loop.kill()
        loop.wait()
