"""What attention costs on this machine, computed in each way that llama.cpp has, and which way a model is loaded with.

The worker measures once for each model (`engine.scheduler.measuring`), the service plans with it. Neighbours: `plan`,
`placement`. Figures belong to one file, one build of llama.cpp and one CPU; anything else is no figure.
"""

import math
import os
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import msgspec
import xxhash

from engine.hardware.cpu import read_cpu
from engine.types import KvType

_WORTH_IT: Final = 0.8
"""Another way than llama.cpp's own is taken when it needs at most this share of the time: what is kept of conversations was
laid out for the old way, and is read anew."""
_BEARABLE: Final = 1.25
"""A smaller cache may cost this much before the context is cut instead."""


class AttentionCost(msgspec.Struct, frozen=True):
    """One way, measured. Seconds."""

    flash: bool
    kv_type: KvType
    write_s: float
    """A decode step of one row, some thousand tokens deep."""
    read_s: float
    """A row of a prompt, there."""


class AttentionFigures:
    """What was measured of one model; empty when nothing was."""

    def __init__(self, costs: Sequence[AttentionCost] = ()) -> None:
        """Take the figures."""
        self._costs = {(cost.flash, cost.kv_type): cost for cost in costs}

    @property
    def flash_share(self) -> float | None:
        """Time without flash attention by time with it; None: not measured."""
        return self._ratio((False, "f16"), (True, "f16"))

    @property
    def small_cache_share(self) -> float | None:
        """Time with 8 bits in the cache by time with 16; None: not measured, or the model cannot."""
        return self._ratio((True, "q8_0"), (True, "f16"))

    @property
    def flash(self) -> bool | None:
        """Flash attention for a 16-bit cache; None: as llama.cpp decides."""
        share = self.flash_share
        return False if share is not None and share <= _WORTH_IT else None

    @property
    def small_cache_is_bearable(self) -> bool:
        """A cache of half the size was measured, and is not much slower."""
        share = self.small_cache_share
        return share is not None and share <= _BEARABLE

    def _ratio(self, one: tuple[bool, KvType], other: tuple[bool, KvType]) -> float | None:
        a, b = self._costs.get(one), self._costs.get(other)
        if a is None or b is None:
            return None
        return math.sqrt(a.write_s / b.write_s * a.read_s / b.read_s)


def attention_file(cache_folder: Path, model: Path) -> Path | None:
    """Where a model's figures are; None when its file cannot be looked at."""
    try:
        stat = model.stat()
        build = version("llama-cpp-python")
    except (OSError, PackageNotFoundError):
        return None
    what = (os.fsencode(model.resolve()), stat.st_size, stat.st_mtime_ns, build, read_cpu().name)
    name = xxhash.xxh3_128_hexdigest(repr(what).encode())
    return cache_folder / "measured" / f"{name}.attention.json"


def read_attention(cache_folder: Path | None, model: Path) -> AttentionFigures:
    """What was measured of a model here; a file that cannot be read is no measurement."""
    file = attention_file(cache_folder, model) if cache_folder else None
    if file is None:
        return AttentionFigures()
    try:
        costs = msgspec.json.decode(file.read_bytes(), type=list[AttentionCost])
    except (OSError, msgspec.MsgspecError):
        return AttentionFigures()
    usable = all(math.isfinite(s) and s > 0 for cost in costs for s in (cost.write_s, cost.read_s))
    return AttentionFigures(costs if usable else ())
