"""What a process and its children take: memory by kind, and processor time. Linux's /proc."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import psutil


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident memory of a process and its children, in MB (10^6 bytes)."""

    private: float
    """Anonymous pages: heap, KV cache, repacked weights."""
    file: float
    """Pages of mapped files: the model and the libraries. What two of the processes map counts twice."""

    @staticmethod
    def of(pid: int) -> "Memory":
        """Now. A process that ends meanwhile counts as nothing."""
        total: Counter[str] = Counter()
        for process in _family(pid):
            total.update(_resident(process.pid))
        return Memory(
            private=(total["RssAnon"] + total["RssShmem"]) * 1024 / 1e6,
            file=total["RssFile"] * 1024 / 1e6,
        )


def cpu_seconds(pid: int) -> float:
    """User and system time of the process and its living children so far."""
    total = 0.0
    for process in _family(pid):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += float(times.user + times.system)
    return total


def _family(pid: int) -> list[psutil.Process]:
    parent = psutil.Process(pid)
    return [parent, *parent.children(recursive=True)]


def _resident(pid: int) -> Counter[str]:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return Counter()
    fields = (line.split() for line in lines if line.startswith("Rss"))
    return Counter({name.rstrip(":"): int(kibibytes) for name, kibibytes, _ in fields})
