"""What attention costs on this machine, computed in each way that llama.cpp has, and which way a model is loaded with.

The worker measures once for each model (`engine.scheduler.measuring`), the service plans with it. Neighbours: `plan`,
`placement`. Figures belong to one file, one build of llama.cpp and one CPU; anything else is no figure.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import msgspec
import xxhash

from engine.hardware.cpu import read_cpu
from engine.types import KvType

_SOONER: Final = 0.85
"""Another way than llama.cpp's own is taken when a turn of a conversation needs at most this share of its time: what is kept of
conversations was laid out for the old way, and is read anew."""
_TURN: Final = (50, 150)
"""Rows that are read and tokens that are written in a usual turn."""
_NOT_MUCH_SLOWER: Final = 1.25
"""And long prompts are read in this."""
_PADDED: Final = 0.97
"""Rows are added to a short message where it is then read in this share of its time."""
_VERSION: Final = 4
_BEARABLE: Final = 1.25
"""A smaller cache may cost this much before the context is cut instead."""


class AttentionCost(msgspec.Struct, frozen=True):
    """One way, measured. Seconds; but for `read_s`, the mean of a conversation's beginning and some thousand tokens later."""

    flash: bool
    kv_type: KvType
    write_s: float
    """A decode step of one row."""
    read_s: float
    """A row of a long prompt's chunk, deep."""
    short_s: float
    """A row of a short message."""
    tile_s: float
    """A step of `backends.base.TILE` rows."""


@dataclass(frozen=True, slots=True)
class Shares:
    """Times of one way by those of another."""

    write: float
    """Of a decode step."""
    read: float
    """Of a long prompt."""
    short: float
    """Of a short message."""
    turn: float
    """Of a usual turn: a short message and its answer."""

    def __str__(self) -> str:
        return f"long prompts {self.read:.2f}, short messages {self.short:.2f}, writing {self.write:.2f} times the time"


class AttentionFigures:
    """What was measured of one model; empty when nothing was."""

    def __init__(self, costs: Sequence[AttentionCost] = ()) -> None:
        """Take the figures."""
        self._costs = {(cost.flash, cost.kv_type): cost for cost in costs}

    @property
    def without_flash(self) -> Shares | None:
        """Times without flash attention by times with it; None: not measured."""
        return self._shares((False, "f16"), (True, "f16"))

    @property
    def small_cache(self) -> Shares | None:
        """Times with 8 bits in the cache by times with 16; None: not measured, or the model cannot."""
        return self._shares((True, "q8_0"), (True, "f16"))

    @property
    def told(self) -> list[str]:
        """For the user: half sentences."""
        ways = {
            "without flash attention": self.without_flash,
            "with an 8-bit KV cache": self.small_cache,
        }
        return [f"measured {way}: {shares}" for way, shares in ways.items() if shares]

    @property
    def flash(self) -> bool | None:
        """Flash attention for a 16-bit cache; None: as llama.cpp decides.

        On CPUs llama.cpp computes it row by row in steps of fewer than 64 rows: short messages may then take twice as long.
        But a token is written up to a tenth sooner with it where the conversation is short.
        """
        off = self.without_flash
        better = off is not None and off.turn <= _SOONER and off.read <= _NOT_MUCH_SLOWER
        return False if better else None

    @property
    def pads_from(self) -> int:
        """With flash attention: rows of a step that more are added to, to make it a whole tile; 0: never, or not measured."""
        usual = self._costs.get((True, "f16"))
        return math.ceil(usual.tile_s / usual.short_s / _PADDED) if usual else 0

    @property
    def small_cache_is_bearable(self) -> bool:
        """A cache of half the size was measured, and is not much slower."""
        small = self.small_cache
        return small is not None and max(small.write, small.short, small.read) <= _BEARABLE

    def _shares(self, one: tuple[bool, KvType], other: tuple[bool, KvType]) -> Shares | None:
        a, b = self._costs.get(one), self._costs.get(other)
        if a is None or b is None:
            return None
        return Shares(
            a.write_s / b.write_s, a.read_s / b.read_s, a.short_s / b.short_s, _turn(a) / _turn(b)
        )


def _turn(cost: AttentionCost) -> float:
    rows, tokens = _TURN
    return min(rows * cost.short_s, cost.tile_s) + tokens * cost.write_s


def attention_file(cache_folder: Path, model: Path) -> Path | None:
    """Where a model's figures are; None when its file cannot be looked at."""
    try:
        stat = model.stat()
        build = version("llama-cpp-python")
    except (OSError, PackageNotFoundError):
        return None
    what = (
        _VERSION,
        os.fsencode(model.resolve()),
        stat.st_size,
        stat.st_mtime_ns,
        build,
        read_cpu().name,
    )
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
    usable = all(
        math.isfinite(s) and s > 0
        for cost in costs
        for s in (cost.write_s, cost.read_s, cost.short_s, cost.tile_s)
    )
    return AttentionFigures(costs if usable else ())
