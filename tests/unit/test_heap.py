"""The heap is limited where it can be, and nothing happens elsewhere."""

import subprocess
import sys

import pytest


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc only")
def test_threads_share_arenas() -> None:
    """Eight threads that allocate at the same time: a new arena reserves 64 MB of addresses."""
    code = """
import sys, threading
if {limit}:
    from engine.heap import limit_arenas
    assert limit_arenas()
together = threading.Barrier(8)
def work():
    together.wait(); held = [bytes(3000) for _ in range(2000)]; together.wait()
threads = [threading.Thread(target=work) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print(next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("VmPeak")))
"""
    usual, limited = (int(run(code.format(limit=limit))) for limit in (False, True))
    assert limited < usual - (100 << 10)  # KiB


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.heap import limit_arenas

    monkeypatch.setattr(sys, "platform", "darwin")
    assert not limit_arenas()


def test_what_start_up_made_is_not_collected_again() -> None:
    """The oldest generation is collected when it has grown by a quarter: of what came later, not of everything."""
    code = """
import gc, sys
kept = [[i] for i in range(400_000)]
gc.collect()
if {settle}:
    from engine.heap import settle
    settle()
full = lambda: gc.get_stats()[2]["collections"]
before = full()
for _ in range(30_000):
    a, b = [], []; a.append(b); b.append(a)
    held = [[] for _ in range(2)]
    kept.append(held)
print(full() - before)
"""
    usual, settled = (int(run(code.format(settle=settle))) for settle in (False, True))
    assert settled > usual
