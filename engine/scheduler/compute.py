"""One decode with the right number of threads, given up where it hangs. Zone: worker process, owner thread."""

import time
from typing import Final

from engine.backends.base import Backend, Batch, DecodeResult, Status
from engine.scheduler.measuring import Figures
from engine.scheduler.threads import Kind, Shape, ThreadControl
from engine.scheduler.watchdog import Watchdog

_STRETCH: Final = 1024
"""Tokens of depth that count as one shape: attention costs more the deeper a row stands."""


class Compute:
    """What the stepper decodes with."""

    def __init__(self, backend: Backend, threads: ThreadControl | None = None) -> None:
        """Without thread control a decode is just the backend's."""
        self._backend = backend
        self._threads = threads
        self._watchdog = Watchdog(backend.request_abort)

    def seed(self, figures: Figures) -> None:
        """Begin with what was measured on this machine before."""
        threads = self._threads
        if threads is None:
            return
        best = figures.best_threads
        measured: tuple[tuple[Kind, dict[int, float], int, int], ...] = (
            ("decode", figures.decode, 1, best[0]),
            ("prefill", figures.prefill, figures.chunk, best[1]),
        )
        for kind, by_threads, rows, fastest in measured:
            # a prompt of a few rows costs what as many rows of a draft do; they were measured with the threads that decode best
            costs: dict[tuple[int, Shape], float] = {}
            for n, seconds in figures.rows.items():
                shape, share = _shape(kind, 0, n)
                costs[best[0], shape] = seconds / share
            shape, _ = _shape(kind, 0, rows)
            costs |= {(number, shape): cost for number, cost in by_threads.items()}
            threads.seed(kind, costs, fastest)

    def decode(self, batch: Batch, kind: Kind) -> DecodeResult:
        """See Backend.decode. A step that was given up is ABORTED, and comes again with fewer threads."""
        threads = self._threads
        if threads is None:
            return self._backend.decode(batch)
        shape, share = _shape(kind, int(batch.pos[batch.n - 1]), batch.n)
        limit_s = threads.before(kind, shape, time.monotonic(), rows=share)
        self._watchdog.guard(None if self._backend.caps.forgets_on_abort else limit_s)
        result = self._backend.decode(batch)
        given_up = self._watchdog.release()
        if result.status is Status.OK:
            threads.after(kind, shape, result.seconds, rows=share)
        elif result.status is Status.ABORTED and given_up:
            threads.gave_up(kind)
        return result


def _shape(kind: Kind, depth: int, rows: int) -> tuple[Shape, int]:
    """What takes the same time, and the rows to divide it by: chunks of prompts vary in size and are long."""
    share, size = (1, rows) if kind == "decode" else (rows, rows.bit_length())
    return Shape(depth // _STRETCH, size), share
