"""What the container allows: CPU quota and memory limit of the control groups this process is in.

Zone: any; standard library only. Reads version 1, version 2 and both side by side, and every group up to the
top, as the tightest one counts. Missing or strange files mean "no limit". Neighbour: `probe`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from engine.hardware.sysfs import read

_UNLIMITED_BYTES = 1 << 60
"""Version 1 writes "no limit" as a number near 2^63."""
_MAX_LEVELS = 64


@dataclass(frozen=True, slots=True)
class Limits:
    """The tightest limits found; None is no limit."""

    cpu_quota: float | None = None
    """CPUs' worth of time, 1.5 for instance."""
    memory_limit: int | None = None
    """Bytes."""
    memory_used: int = 0
    """Bytes used in the group of `memory_limit`, file cache that can be dropped not counted."""


@dataclass(frozen=True, slots=True)
class _Mount:
    """One mounted hierarchy."""

    is_v2: bool
    controllers: frozenset[str]
    """Version 1: what it controls, among other mount options."""
    root: PurePosixPath
    """The group that appears at the mount point."""
    point: Path


def read_limits(root: Path = Path("/")) -> Limits:
    """The limits on the calling process.

    Args:
        root: where `proc` and `sys` are; tests bring their own.
    """
    quotas: list[float] = []
    memories: list[tuple[int, int]] = []
    for mount, group in _hierarchies(root):
        for folder in _levels(mount, group):
            if (quota := _cpu_quota(folder)) is not None:
                quotas.append(quota)
            if (memory := _memory(folder)) is not None:
                memories.append(memory)
    limit, used = min(memories, key=lambda m: m[0] - m[1], default=(None, 0))
    return Limits(min(quotas, default=None), limit, used)


def _hierarchies(root: Path) -> Iterator[tuple[_Mount, PurePosixPath]]:
    """Each hierarchy with the group of this process in it."""
    mounts = list(_mounts(root))
    for line in read(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        names, _, group = rest.partition(":")
        wanted = frozenset() if number == "0" else frozenset(names.split(","))
        for mount in mounts:
            if mount.is_v2 == (number == "0") and wanted <= mount.controllers:
                yield mount, PurePosixPath(group)
                break


def _mounts(root: Path) -> Iterator[_Mount]:
    for line in read(root / "proc/self/mountinfo").splitlines():
        place, separator, source = line.partition(" - ")
        fields, kind = place.split(), source.split()
        if not separator or len(fields) < 5 or len(kind) < 3:
            continue
        if kind[0] in ("cgroup", "cgroup2"):
            point = root / fields[4].lstrip("/")
            options = frozenset(kind[2].split(","))
            yield _Mount(kind[0] == "cgroup2", options, PurePosixPath(fields[3]), point)


def _levels(mount: _Mount, group: PurePosixPath) -> Iterator[Path]:
    """Folders from the mount point down to the group."""
    yield mount.point
    # A container often sees a path of its host, which leads nowhere inside: its own group is the mount point.
    inside = group.is_relative_to(mount.root) and ".." not in group.parts
    folder = mount.point
    for part in group.relative_to(mount.root).parts[:_MAX_LEVELS] if inside else ():
        folder /= part
        yield folder


def _cpu_quota(folder: Path) -> float | None:
    quota, _, period = read(folder / "cpu.max").partition(" ")
    if not quota:
        quota = read(folder / "cpu.cfs_quota_us")
        period = read(folder / "cpu.cfs_period_us")
    quota_us, period_us = _number(quota), _number(period)  # "max" and -1 are no quota
    return quota_us / period_us if quota_us and period_us else None


def _memory(folder: Path) -> tuple[int, int] | None:
    """(limit, used) of one group."""
    v2 = [_number(read(folder / name)) for name in ("memory.max", "memory.high")]
    limit = min((n for n in v2 if n is not None), default=None)
    used, cache = "memory.current", "inactive_file"
    if limit is None:
        limit = _number(read(folder / "memory.limit_in_bytes"))
        used, cache = "memory.usage_in_bytes", "total_inactive_file"
    if limit is None or limit >= _UNLIMITED_BYTES:
        return None
    droppable = 0
    for line in read(folder / "memory.stat").splitlines():
        name, _, value = line.partition(" ")
        if name == cache:
            droppable = _number(value) or 0
    return limit, max(0, (_number(read(folder / used)) or 0) - droppable)


def _number(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isdecimal() and len(text) < 20 else None
