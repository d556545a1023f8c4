"""Looks at this machine: processor, memory, GPUs. Under 0.1 s, changes nothing, fails never.

Zone: any; no torch, no child process. The result is a value that `plan` decides on and `report` shows, so that
tests make up machines. Neighbours: `cpu`, `cgroup`, `gpu`.
"""

import platform
from dataclasses import dataclass
from pathlib import Path

import psutil

from engine.hardware.cgroup import read_limits
from engine.hardware.cpu import Cpu, read_cpu
from engine.hardware.gpu import Gpu, read_gpus

_ADDRESS_SPACE_BESIDE = 256 << 20
"""Address space that a worker takes and never fills: libraries, thread stacks, arenas (measured: 236 MB)."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Main memory. All in bytes."""

    total: int
    available: int
    """What programs can still take without swapping."""
    limit: int | None = None
    """The container's limit."""
    used_of_limit: int = 0
    address_space: int | None = None
    """The process's limit (`ulimit -v`)."""

    @property
    def free(self) -> int:
        """What a new worker may take; ≥ 0."""
        bounds = [self.available]
        if self.limit is not None:
            bounds.append(self.limit - self.used_of_limit)
        if self.address_space is not None:
            bounds.append(self.address_space - _ADDRESS_SPACE_BESIDE)
        return max(0, min(bounds))


@dataclass(frozen=True, slots=True)
class Hardware:
    """One machine, as this process may use it."""

    system: str
    cpu: Cpu
    memory: Memory
    gpus: tuple[Gpu, ...] = ()
    gpu_note: str = ""
    """Why a GPU that may be there is not listed."""


def probe(root: Path = Path("/")) -> Hardware:
    """What is here now; free memory changes, so ask again before each plan."""
    limits = read_limits(root)
    ram = psutil.virtual_memory()
    found = read_gpus()
    return Hardware(
        system=f"{platform.system()} {platform.release()}",
        cpu=read_cpu(quota=limits.cpu_quota, root=root),
        memory=Memory(
            total=ram.total,
            available=ram.available,
            limit=limits.memory_limit,
            used_of_limit=limits.memory_used,
            address_space=_address_space_limit(),
        ),
        gpus=found.gpus,
        gpu_note=found.note,
    )


def _address_space_limit() -> int | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY or soft < 0 else soft
