"""One decode with the right number of threads, given up where it hangs. Zone: worker process, owner thread."""

import time
from typing import Final

from engine.backends.base import Backend, Batch, DecodeResult, Status
from engine.scheduler.threads import Kind, ThreadControl
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

    def decode(self, batch: Batch, kind: Kind) -> DecodeResult:
        """See Backend.decode. A step that was given up is ABORTED, and comes again with fewer threads."""
        threads = self._threads
        if threads is None:
            return self._backend.decode(batch)
        rows = batch.n
        stretch = int(batch.pos[rows - 1]) // _STRETCH
        # prompt chunks vary in size and are long: their time is kept by the row
        share, size = (1, rows) if kind == "decode" else (rows, rows.bit_length())
        shape = stretch << 16 | size
        limit_s = threads.before(kind, shape, time.monotonic(), rows=share)
        self._watchdog.guard(limit_s)
        result = self._backend.decode(batch)
        given_up = self._watchdog.release()
        if result.status is Status.OK:
            threads.after(kind, shape, result.seconds, rows=share)
        elif result.status is Status.ABORTED and given_up:
            threads.gave_up(kind)
        return result
