import os
from dataclasses import replace
from pathlib import Path

import pytest

from engine.hardware import cpu as cpu_module
from engine.hardware.cpu import Cpu, read_cpu

DESKTOP = Cpu("x", "x86_64", 16, 8, None, 16, 8, None, frozenset({"avx", "avx2", "fma"}))

INTEL = """processor\t: 0
vendor_id\t: GenuineIntel
model name\t: 12th Gen Intel(R) Core(TM) i5-1240P
flags\t\t: fpu sse2 avx avx2 fma f16c avx_vnni
bugs\t\t: spectre_v1

processor\t: 1
model name\t: second
flags\t\t: fpu amx_int8
"""
ARM = """processor\t: 0
BogoMIPS\t: 108.00
Features\t: fp asimd evtstrm aes asimdhp cpuid asimddp i8mm sve

"""


def fake(
    root: Path,
    siblings: list[str],
    *,
    cpuinfo: str = INTEL,
    capacity: list[int] | None = None,
    core_list: str = "",
) -> Path:
    """A machine with one CPU for each entry of `siblings`."""
    base = root / "sys/devices/system/cpu"
    files = {base / "online": f"0-{len(siblings) - 1}\n", root / "proc/cpuinfo": cpuinfo}
    for number, text in enumerate(siblings):
        files[base / f"cpu{number}/topology/thread_siblings_list"] = text + "\n"
    for number, value in enumerate(capacity or []):
        files[base / f"cpu{number}/cpu_capacity"] = f"{value}\n"
    if core_list:
        files[root / "sys/devices/cpu_core/cpus"] = core_list + "\n"
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


PAIRS = ["0,4", "1,5", "2,6", "3,7", "0,4", "1,5", "2,6", "3,7"]
"""4 cores, 8 threads."""
HYBRID = ["0-1", "0-1", "2-3", "2-3", "4", "5", "6", "7"]
"""2 fast cores with 2 threads each, 4 slow ones."""


def test_physical_cores_not_threads(tmp_path: Path) -> None:
    cpu = read_cpu(root=fake(tmp_path, PAIRS), allowed=range(8))
    assert (cpu.logical_cpus, cpu.physical_cores, cpu.allowed_cpus, cpu.allowed_cores) == (
        8,
        4,
        8,
        4,
    )
    assert cpu.usable_cores == 4
    assert cpu.performance_cores is None
    assert cpu.name == "12th Gen Intel(R) Core(TM) i5-1240P"


def test_features_of_the_first_block_only(tmp_path: Path) -> None:
    cpu = read_cpu(root=fake(tmp_path, ["0"]), allowed={0})
    assert cpu.features == {"avx", "avx2", "fma", "f16c", "avx_vnni"}


def test_arm(tmp_path: Path) -> None:
    root = fake(tmp_path, ["0", "1", "2", "3"], cpuinfo=ARM, capacity=[1024] * 4)
    (root / "proc/device-tree").mkdir()
    (root / "proc/device-tree/model").write_bytes(b"Raspberry Pi 5 Model B Rev 1.0\0")
    cpu = read_cpu(root=root, allowed=range(4))
    assert cpu.name == "Raspberry Pi 5 Model B Rev 1.0"
    assert cpu.features == {"neon", "dotprod", "i8mm", "sve"}
    assert (cpu.performance_cores, cpu.usable_cores) == (None, 4)


def test_affinity_of_two_threads_of_one_core_is_one_core(tmp_path: Path) -> None:
    cpu = read_cpu(root=fake(tmp_path, PAIRS), allowed={0, 4})
    assert (cpu.allowed_cpus, cpu.allowed_cores, cpu.usable_cores) == (2, 1, 1)


def test_hybrid_intel_counts_performance_cores(tmp_path: Path) -> None:
    cpu = read_cpu(root=fake(tmp_path, HYBRID, core_list="0-3"), allowed=range(8))
    assert (cpu.physical_cores, cpu.performance_cores, cpu.usable_cores) == (6, 2, 2)


def test_hybrid_pinned_to_slow_cores_uses_those(tmp_path: Path) -> None:
    cpu = read_cpu(root=fake(tmp_path, HYBRID, core_list="0-3"), allowed={5, 6, 7})
    assert cpu.usable_cores == 3


def test_hybrid_arm_by_capacity(tmp_path: Path) -> None:
    root = fake(
        tmp_path,
        [str(n) for n in range(8)],
        cpuinfo=ARM,
        capacity=[414, 414, 414, 414, 1024, 1024, 900, 900],
    )
    cpu = read_cpu(root=root, allowed=range(8))
    assert (cpu.performance_cores, cpu.usable_cores) == (4, 4)


def test_offline_and_nonsense_affinity(tmp_path: Path) -> None:
    cpu = read_cpu(root=fake(tmp_path, ["0", "1"]), allowed={7})
    assert cpu.usable_cores == 2


def test_empty_sys_is_one_core(tmp_path: Path) -> None:
    (tmp_path / "sys/devices/system/cpu").mkdir(parents=True)
    cpu = read_cpu(root=tmp_path, allowed={0})
    assert (cpu.usable_cores, cpu.features) == (1, None)
    assert cpu.name


def test_without_sys_psutil_counts(tmp_path: Path) -> None:
    cpu = read_cpu(root=tmp_path, quota=0.5)
    assert cpu.physical_cores >= 1
    assert cpu.usable_cores == 1


@pytest.mark.parametrize(
    ("quota", "usable"),
    [(None, 8), (0.2, 1), (1.0, 1), (1.5, 1), (1.999, 1), (2.0, 2), (6.7, 6), (64.0, 8)],
)
def test_quota_is_rounded_down(quota: float | None, usable: int) -> None:
    assert replace(DESKTOP, quota=quota).usable_cores == usable


@pytest.mark.parametrize(
    ("machine", "features", "part"),
    [
        ("x86_64", {"avx", "avx2", "fma", "f16c"}, ""),
        ("x86_64", {"avx"}, "no AVX2"),
        ("amd64", {"avx", "avx2"}, "no AVX2"),
        ("x86_64", set(), "no AVX "),
        ("x86_64", None, ""),
        ("aarch64", {"neon", "dotprod"}, ""),
        ("aarch64", {"neon"}, "dot-product"),
        ("riscv64", set(), ""),
    ],
)
def test_handicap(machine: str, features: set[str] | None, part: str) -> None:
    cpu = replace(
        DESKTOP, machine=machine, features=None if features is None else frozenset(features)
    )
    assert part in cpu.handicap
    assert bool(cpu.handicap) == bool(part)


def test_kernel_lists() -> None:
    assert cpu_module._cpu_list("0-2,5, 7-7") == {0, 1, 2, 5}
    assert cpu_module._cpu_list("") == frozenset()
    assert len(cpu_module._cpu_list("0-999999999")) <= 1 << 15


def test_this_machine() -> None:
    cpu = read_cpu()
    assert 1 <= cpu.usable_cores <= cpu.logical_cpus
    if hasattr(os, "sched_getaffinity"):
        assert cpu.allowed_cpus == len(os.sched_getaffinity(0))
