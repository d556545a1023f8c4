"""What steps cost on this machine, measured while nobody waits, once for each model, machine and build; kept in a file.

Zone: worker process, owner thread, between requests; one small measurement a call, and a request that comes stops it. The figures
seed what then follows the load: draft lengths (`speculative.row_costs`), threads (`threads`) and chunks (`pacing`).
"""

import math
import statistics
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec

from engine.backends.base import TILE, TRIAL_DEPTH, AttentionTrial, Backend, SeqId, Status
from engine.hardware.attention import AttentionCost
from engine.types import KvType

ROWS: Final = (1, 2, 3, 4, 6, 8, 12, 16)
"""A step without a draft, and with ever longer ones."""
_DEPTH: Final = 32
_REPEATS: Final = 3
CHUNK: Final = 256
"""Rows of the prompt chunk that is measured, where the machine is fast enough."""
SHORT: Final = 48
"""Rows of a short message, with its template."""
_CHUNK_S: Final = 0.5
"""A chunk is as long as takes about so long, guessing that a prompt's row costs a quarter of a decode step."""
_PROMPT_ROW_SHARE: Final = 0.25
_WAYS: Final[tuple[tuple[bool, KvType], ...]] = (
    (True, "f16"),
    (False, "f16"),
    (True, "q8_0"),
)
"""Flash attention or not, and the cache's type; without flash attention it has 16 bits."""
_MOST_STOPPED: Final = 100
"""Attempts that requests may stop before a figure is given up."""
_ENOUGH_S: Final = 0.5
"""Steps that take so long together are not repeated: noise is a small part of them, and a large model would never be done."""
_QUIET: Final = 0.5
"""Cores that others may use while figures are taken that are to stay."""


class _NotMeasuredError(Exception):
    """Steps fail, or are always stopped: then there are no figures until the next load."""


class Figures(msgspec.Struct, frozen=True):
    """Medians. Seconds; keys are decimal numbers, as JSON wants them."""

    rows: dict[int, float]
    """Rows of one decode step → its time, with the threads that are best."""
    decode: dict[int, float]
    """Threads → time of a step of one row."""
    prefill: dict[int, float]
    """Threads → time of a prompt's row."""
    chunk: int
    """Rows of the prompt that was read for it."""

    @property
    def best_threads(self) -> tuple[int, int]:
        """For decode and for prefill."""
        decode = min(self.decode, key=self.decode.__getitem__)
        return decode, min(self.prefill, key=self.prefill.__getitem__)


class Measuring:
    """One model's measurements: read from the files, or made."""

    def __init__(
        self,
        backend: Backend,
        *,
        threads: tuple[int, ...],
        file: Path | None,
        attention: Path | None,
        others: Callable[[], float],
        done: Callable[[Figures], None],
        attention_done: Callable[[], None],
    ) -> None:
        """Look whether they are there.

        Args:
            backend: measured on.
            threads: numbers to try; empty: they cannot be chosen.
            file: where figures are kept; None: nowhere.
            attention: where those of `engine.hardware.attention` are kept, which serve the next load; None: nowhere.
            others: cores that other programs use; on a busy machine figures serve this worker only.
            done: is told new figures.
            attention_done: is told that the other file is there.
        """
        self._backend = backend
        self._threads = threads
        self._file = file
        self._others = others
        self._attention = attention
        self._done = done
        self._attention_done = attention_done
        self.figures = _read(file)
        self._work: Iterator[None] | None = self._measure_all()
        self._seq = SeqId(0)

    def step(self, empty: SeqId | None) -> bool:
        """Measure a little more.

        Args:
            empty: a sequence that nobody uses and that holds nothing; None: there is none.

        Returns:
            False when there is nothing more to do, or no sequence to do it with.
        """
        if self._work is None or empty is None:
            return False
        self._seq = empty
        try:
            next(self._work)
        except (StopIteration, _NotMeasuredError):
            self._work = None
        finally:
            self._backend.seq_clear(empty)
        return True

    def _measure_all(self) -> Iterator[None]:
        if self.figures is None:
            yield from self._measure_steps()
        if self._attention is not None and not self._attention.exists():
            yield from self._measure_attention(self._attention)

    def _measure_attention(self, file: Path) -> Iterator[None]:
        assert self.figures is not None
        most = self._backend.caps.n_batch_max
        rows = min(self.figures.chunk, most)
        costs: list[AttentionCost] = []
        for flash, kv_type in _WAYS:
            self._set(*self.figures.best_threads)
            trial = self._backend.attention_trial(flash, kv_type)
            if trial is not None:
                with closing(trial):
                    begin = yield from _try_out(trial, rows, depth=rows, most=most)
                    deep = yield from _try_out(trial, rows, depth=TRIAL_DEPTH, most=most)
                write_s, short_s, tile_s, _ = (
                    (a + b) / 2 for a, b in zip(begin, deep, strict=True)
                )
                costs.append(AttentionCost(flash, kv_type, write_s, deep[-1], short_s, tile_s))
        if self._others() <= _QUIET:
            _write(file, costs)
            self._attention_done()

    def _measure_steps(self) -> Iterator[None]:
        decode: dict[int, float] = {}
        prefill: dict[int, float] = {}
        chunk = CHUNK
        for threads in self._threads or (0,):
            self._set(threads, threads)
            decode[threads] = yield from self._median(1)
            chunk = min(
                chunk,
                self._backend.caps.n_batch_max,
                max(32, int(_CHUNK_S / (_PROMPT_ROW_SHARE * decode[threads]))),
            )
            prefill[threads] = (yield from self._median(chunk, depth=0, repeats=1)) / chunk
        rows: dict[int, float] = {}
        figures = Figures(rows, decode, prefill, chunk)
        for n in ROWS:
            if n <= self._backend.caps.n_batch_max:
                self._set(*figures.best_threads)
                rows[n] = yield from self._median(n)
        self.figures = figures
        if self._file is not None and self._others() <= _QUIET:
            _write(self._file, self.figures)
        self._done(self.figures)

    def _set(self, decode: int, prefill: int) -> None:
        if self._threads:
            self._backend.set_threads(decode, prefill)

    def _median(
        self, rows: int, *, depth: int = _DEPTH, repeats: int = _REPEATS
    ) -> Generator[None, None, float]:
        def attempt() -> list[float]:
            self._backend.seq_clear(self._seq)
            found: list[float] = []
            if depth and self._decode(depth, wants_all=False) is None:
                return found
            while len(found) < repeats:
                seconds = self._decode(rows, wants_all=depth > 0)
                if seconds is not None:
                    found.append(seconds)
                if seconds is None or self._backend.seq_truncate(self._seq, depth) != depth:
                    break  # stopped, or memory that cannot be cut: what is there counts
            return found

        return statistics.median((yield from _several(repeats, attempt)))

    def _decode(self, rows: int, *, wants_all: bool) -> float | None:
        """Seconds of a step; None where it was stopped or had no room."""
        batch = self._backend.new_batch(self._backend.caps.n_batch_max)
        rows = min(rows, batch.capacity)
        start = self._backend.seq_len(self._seq)
        batch.token[:rows] = range(rows)
        batch.pos[:rows] = range(start, start + rows)
        batch.seq[:rows] = self._seq
        batch.out[:rows] = wants_all
        batch.out[rows - 1] = 1
        batch.n = rows
        result = self._backend.decode(batch)
        return result.seconds if result.status is Status.OK else None


def _read(file: Path | None) -> Figures | None:
    if file is None:
        return None
    try:
        return msgspec.json.decode(file.read_bytes(), type=Figures, strict=False)
    except (OSError, msgspec.MsgspecError):
        return None  # measured again


def _try_out(
    trial: AttentionTrial, rows: int, depth: int, most: int
) -> Generator[None, None, tuple[float, float, float, float]]:
    """Seconds of a decode step, of a row of a short message, of a tile, and of a row of a chunk; steps have at most `most` rows.

    The shortest: ways are compared, and noise only adds.
    """

    def fill() -> list[float]:
        return [0.0] if trial.fill(rows, depth) else []

    def best(rows: int, repeats: int = _REPEATS) -> Generator[None, None, float]:
        def attempt() -> list[float]:
            seconds = trial.step(rows)
            return [] if seconds is None else [seconds]

        return min((yield from _several(repeats, attempt, enough_s=_ENOUGH_S)))

    yield from _several(1, fill)
    write_s = yield from best(1, 4 * _REPEATS)
    short, tile = min(SHORT, most), min(TILE, most)
    short_s = yield from best(short)
    tile_s = yield from best(tile)
    read_s = yield from best(rows)
    return write_s, short_s / short, tile_s / tile * TILE, read_s / rows


def _several(
    count: int, attempt: Callable[[], list[float]], *, enough_s: float = math.inf
) -> Generator[None, None, list[float]]:
    """So many results, or two that took long enough; a pause after each attempt.

    Raises:
        _NotMeasuredError: too many attempts gave nothing.
    """
    found: list[float] = []
    for _ in range(count + _MOST_STOPPED):
        found += attempt()
        yield
        if len(found) >= count or (len(found) > 1 and sum(found) >= enough_s):
            return found
    raise _NotMeasuredError


def _write(file: Path, figures: Figures | list[AttentionCost]) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(".part")
        partial.write_bytes(msgspec.json.encode(figures))
        partial.replace(file)
    except OSError:
        return  # measured again next time
