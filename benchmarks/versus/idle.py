"""`idle`: what a loaded model costs while nobody asks it."""

import time

from benchmarks.footprint import cpu_seconds
from benchmarks.versus.duel import Outcome, Setting, both, flags_of
from benchmarks.versus.exchange import answer
from benchmarks.versus.gate import at_most

_SETTLE_S = 10.0
"""Our worker measures its model once, in spare time."""
_IDLE_S = 20.0
_ALLOWED = 1.0
"""Percent of a core."""


def idle(setting: Setting) -> Outcome:
    """Processor time of all processes of a side in 20 s, both sides at once."""
    with both(setting) as sides:
        for side in sides.values():
            answer(side.base_url, {"prompt": "Hello", "max_tokens": 16})
        time.sleep(_SETTLE_S)
        before = {name: cpu_seconds(side.process.pid) for name, side in sides.items()}
        started = time.perf_counter()
        time.sleep(_IDLE_S)
        seconds = time.perf_counter() - started
        percent = {
            name: 100 * (cpu_seconds(side.process.pid) - before[name]) / seconds
            for name, side in sides.items()
        }
        flags = flags_of(sides)
    gate = at_most(
        "idle.cpu",
        "% of a core",
        {name: [value] for name, value in percent.items()},
        gate=_ALLOWED,
        goal=0.2,
        note="clock ticks of 10 ms",
    )
    return Outcome([gate], {"flags": flags})
