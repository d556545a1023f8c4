"""What a load really took, compared with what was predicted; the next prediction is corrected by it.

Zone: service. One small file a model, backend, build and processor, like the other measurements (`attention`). The correction is the
difference, not a ratio: weights, cache and buffers are known to the byte, so what is off is what a process takes whatever its context.
"""

import os
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import msgspec
import psutil
import xxhash

from engine.hardware.cpu import read_cpu
from engine.hardware.fit import MemoryNeed
from engine.hardware.units import gigabytes

_MOST_FILE: Final = 4096
_MOST_BYTES: Final = 1 << 50
_MOST_ERROR: Final = 0.5
"""Of the prediction: more says that something else was measured."""
_WORTH_SAYING: Final = 0.02


@dataclass(frozen=True, slots=True)
class Resident:
    """Memory of one process, in bytes."""

    private: int
    """Heap, cache, buffers, weights in another order."""
    file: int
    """Pages of mapped files: weights as they are, libraries. The system takes them back when memory gets short."""


class Outcome(msgspec.Struct, frozen=True):
    """One load, in bytes."""

    predicted: int
    """Private bytes, without an earlier correction."""
    private: int
    file: int

    @property
    def difference(self) -> int:
        """To be added to predictions; 0 where it cannot be believed."""
        bounds = all(0 < n <= _MOST_BYTES for n in (self.predicted, self.private))
        difference = self.private - self.predicted
        return difference if bounds and abs(difference) <= _MOST_ERROR * self.predicted else 0


def resident(pid: int) -> Resident | None:
    """What a process holds now; None where it has ended or may not be looked at."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
        kib = {
            name: int(rest.split()[0])
            for name, _, rest in (line.partition(":") for line in lines)
            if name.startswith("Rss")
        }
        return Resident((kib["RssAnon"] + kib["RssShmem"]) << 10, kib["RssFile"] << 10)
    except (OSError, KeyError, ValueError):
        pass
    try:
        full = psutil.Process(pid).memory_full_info()
    except psutil.Error:
        return None
    return Resident(int(full.uss), max(0, int(full.rss - full.uss)))


def outcome_file(cache_folder: Path, model: Path, backend: str) -> Path | None:
    """Where a model's outcome is; None when its file cannot be looked at."""
    try:
        stat = model.stat()
        build = version("llama-cpp-python")
    except (OSError, PackageNotFoundError):
        return None
    identity = (os.fsencode(model.resolve()), stat.st_size, stat.st_mtime_ns)
    what = (*identity, backend, build, read_cpu().name)
    name = xxhash.xxh3_128_hexdigest(repr(what).encode())
    return cache_folder / "measured" / f"{name}.memory.json"


def read_outcome(cache_folder: Path | None, model: Path, backend: str) -> Outcome | None:
    """Of the last load here; a file that cannot be read is none."""
    file = outcome_file(cache_folder, model, backend) if cache_folder else None
    if file is None:
        return None
    try:
        with file.open("rb") as opened:
            return msgspec.json.decode(opened.read(_MOST_FILE), type=Outcome)
    except (OSError, msgspec.MsgspecError):
        return None


def write_outcome(cache_folder: Path, model: Path, backend: str, outcome: Outcome) -> None:
    """Keep it; where it cannot be written, the next load tries again."""
    file = outcome_file(cache_folder, model, backend)
    if file is None:
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(".part")
        partial.write_bytes(msgspec.json.encode(outcome))
        partial.replace(file)
    except OSError:
        return


def corrected(need: MemoryNeed, outcome: Outcome | None) -> MemoryNeed:
    """A prediction with what the last load taught."""
    if outcome is None:
        return need
    return replace(need, overhead=max(0, need.overhead + outcome.difference))


def outcome_reason(outcome: Outcome) -> str:
    """Half a sentence beside the plan's reasons; empty where there is nothing worth saying."""
    error = outcome.difference / outcome.predicted if outcome.difference else 0.0
    if abs(error) < _WORTH_SAYING:
        return ""
    real, predicted = gigabytes(outcome.private), gigabytes(outcome.predicted)
    return f"the last load took {real} instead of {predicted} ({error:+.0%}): counted in"
