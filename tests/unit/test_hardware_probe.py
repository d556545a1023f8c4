import os
import subprocess
import sys
import time

import pytest

from engine.hardware.probe import Memory, probe

GIB = 1 << 30
MIB = 1 << 20


@pytest.mark.parametrize(
    ("memory", "free"),
    [
        (Memory(16 * GIB, 10 * GIB), 10 * GIB),
        (Memory(16 * GIB, 10 * GIB, limit=4 * GIB, used_of_limit=GIB), 3 * GIB),
        (Memory(16 * GIB, 2 * GIB, limit=32 * GIB), 2 * GIB),
        (Memory(16 * GIB, 10 * GIB, limit=GIB, used_of_limit=2 * GIB), 0),
        (Memory(16 * GIB, 10 * GIB, address_space=GIB), 768 * MIB),
        (Memory(16 * GIB, 10 * GIB, address_space=MIB), 0),
    ],
)
def test_free_is_the_tightest_bound(memory: Memory, free: int) -> None:
    assert memory.free == free


def test_probe_is_quick_and_true() -> None:
    best = 1.0
    for _ in range(4):
        start = time.perf_counter()
        hardware = probe()
        best = min(best, time.perf_counter() - start)
    assert best < 0.1
    assert 0 < hardware.memory.available <= hardware.memory.total
    assert 1 <= hardware.cpu.usable_cores <= hardware.cpu.logical_cpus


def child(code: str, *prefix: str) -> str:
    done = subprocess.run(
        [*prefix, sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.strip()


def test_loads_neither_torch_nor_llama() -> None:
    code = (
        "import sys; from engine.hardware.probe import probe; probe();"
        "print([m for m in ('torch', 'llama_cpp', 'numpy') if m in sys.modules])"
    )
    assert child(code) == "[]"


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this system")
def test_pinned_to_one_cpu_is_one_usable_core() -> None:
    """C47: `taskset -c 0 app`."""
    code = (
        "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]);"
        "from engine.hardware.probe import probe; cpu = probe().cpu;"
        "print(cpu.allowed_cpus, cpu.usable_cores)"
    )
    assert child(code) == "1 1"


@pytest.mark.skipif(sys.platform == "win32", reason="no ulimit")
def test_address_space_limit_is_seen() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30));"
        "from engine.hardware.probe import probe; m = probe().memory;"
        "print(m.address_space, m.free <= 768 << 20)"
    )
    assert child(code) == f"{1 << 30} True"
