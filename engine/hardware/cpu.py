"""The processor: how many cores are really ours, and which instructions they have.

Zone: any; standard library and psutil. Linux is read from `/proc` and `/sys`; elsewhere psutil counts the cores
and the instructions stay unknown. Neighbours: `cgroup` (quota), `probe`.
"""

import math
import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

from engine.hardware.sysfs import read

_FEATURES = {
    "avx": "avx",
    "avx2": "avx2",
    "fma": "fma",
    "f16c": "f16c",
    "avx512f": "avx512f",
    "avx512_vnni": "avx512_vnni",
    "avx_vnni": "avx_vnni",
    "amx_int8": "amx_int8",
    "neon": "neon",
    "asimd": "neon",
    "asimddp": "dotprod",
    "i8mm": "i8mm",
    "sve": "sve",
}
"""The kernel's word → ours, for the instructions that llama.cpp has kernels for."""
_BIG_CORE = 0.6
"""Cores of less than this share of the largest one's capacity are efficiency cores."""
_CPUINFO_CHARS = 8192
"""The first processor's block; writing out all 256 of them takes the kernel a tenth of a second."""


@dataclass(frozen=True, slots=True)
class Cpu:
    """One machine's processor, as seen by this process."""

    name: str
    machine: str
    """`x86_64`, `aarch64`, …"""
    logical_cpus: int
    physical_cores: int
    performance_cores: int | None
    """None where all cores are alike."""
    allowed_cpus: int
    """Logical CPUs this process may run on (affinity, cpuset)."""
    allowed_cores: int
    """Physical cores among them; on a hybrid CPU its performance cores only."""
    quota: float | None = None
    """CPUs' worth of time the container may use; None is no limit."""
    features: frozenset[str] | None = None
    """SIMD instructions; None where they could not be read."""

    @property
    def usable_cores(self) -> int:
        """Threads that can compute at the same time without getting into each other's way; ≥ 1.

        A quota is rounded down: one thread more than it pays for, and all of them wait at every barrier.
        """
        cores = min(self.allowed_cores, self.allowed_cpus)
        if self.quota is not None:
            cores = min(cores, math.floor(self.quota))
        return max(1, cores)

    @property
    def handicap(self) -> str:
        """What is missing for full speed, in words; "" when nothing is, or when that is unknown."""
        features = self.features
        if features is None:
            return ""
        if self.machine in ("x86_64", "amd64"):
            if "avx" not in features:
                return "this processor has no AVX instructions: it runs, very slowly"
            if not {"avx2", "fma"} <= features:
                return "this processor has no AVX2 instructions: it runs, slowly"
        if self.machine in ("aarch64", "arm64") and "dotprod" not in features:
            return "this processor has no dot-product instructions: it runs, slowly"
        return ""


def read_cpu(
    *, quota: float | None = None, root: Path = Path("/"), allowed: Iterable[int] | None = None
) -> Cpu:
    """Look at the processor.

    Args:
        quota: from `cgroup.read_limits`.
        root: where `proc` and `sys` are.
        allowed: numbers of the CPUs this process may use; default: the process's affinity.
    """
    machine = platform.machine().lower()
    if not (root / "sys/devices/system/cpu").is_dir():
        return _read_elsewhere(machine, quota, allowed)
    info = _cpuinfo(root)
    online = _cpu_list(read(root / "sys/devices/system/cpu/online")) or frozenset({0})
    ours = frozenset(os.sched_getaffinity(0) if allowed is None else allowed) & online or online
    fast = _performance_cpus(root, online)
    words = info.get("flags", info.get("Features", ""))
    return Cpu(
        name=info.get("model name") or read(root / "proc/device-tree/model") or machine,
        machine=machine,
        logical_cpus=len(online),
        physical_cores=_count_cores(root, online),
        performance_cores=_count_cores(root, fast) if fast else None,
        allowed_cpus=len(ours),
        allowed_cores=_count_cores(root, ours & fast or ours),
        quota=quota,
        features=frozenset(_FEATURES[w] for w in words.split() if w in _FEATURES)
        if words
        else None,
    )


def _read_elsewhere(machine: str, quota: float | None, allowed: Iterable[int] | None) -> Cpu:
    """Without /sys: other systems, and containers that hide it."""
    logical = psutil.cpu_count(logical=True) or 1
    physical = psutil.cpu_count(logical=False) or logical
    if allowed is None and hasattr(os, "sched_getaffinity"):
        allowed = os.sched_getaffinity(0)
    ours = logical if allowed is None else min(logical, max(1, len(set(allowed))))
    # Every 64-bit ARM Mac has both; other systems do not tell without native calls.
    apple = platform.system() == "Darwin" and machine == "arm64"
    return Cpu(
        name=platform.processor() or machine,
        machine=machine,
        logical_cpus=logical,
        physical_cores=physical,
        performance_cores=None,
        allowed_cpus=ours,
        allowed_cores=min(physical, ours),
        quota=quota,
        features=frozenset({"neon", "dotprod"}) if apple else None,
    )


def _cpuinfo(root: Path) -> dict[str, str]:
    """The first processor's block of `/proc/cpuinfo`."""
    block, _, _ = read(root / "proc/cpuinfo", _CPUINFO_CHARS).partition("\n\n")
    pairs = (line.partition(":") for line in block.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _count_cores(root: Path, cpus: frozenset[int]) -> int:
    """Physical cores: CPUs that share one have the same list of siblings."""
    topology = "sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    return len({read(root / topology.format(cpu)) or str(cpu) for cpu in cpus})


def _performance_cpus(root: Path, online: frozenset[int]) -> frozenset[int]:
    """The fast CPUs of a hybrid processor; empty where all are alike."""
    fast = _cpu_list(read(root / "sys/devices/cpu_core/cpus")) & online
    if not fast:
        capacity_file = "sys/devices/system/cpu/cpu{}/cpu_capacity"
        texts = {cpu: read(root / capacity_file.format(cpu)) for cpu in online}
        capacity = {cpu: int(text) for cpu, text in texts.items() if text.isdecimal()}
        top = max(capacity.values(), default=0)
        fast = frozenset(cpu for cpu, value in capacity.items() if value >= _BIG_CORE * top)
    return frozenset() if fast == online else fast


def _cpu_list(text: str) -> frozenset[int]:
    """The kernel's list format: `0-3,8`."""
    cpus: set[int] = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            cpus.update(range(int(first), min(int(last or first), 1 << 14) + 1))
    return frozenset(cpus)
