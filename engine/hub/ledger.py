"""Every connection to another machine: host, purpose, how often, how much. Shown to the user, kept in one file.

Zone: service; any thread. Lines of one host and purpose are one line a day, so the file stays small.
"""

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from engine.api.hub import Connection

logger = logging.getLogger(__name__)

_MOST_LINES: Final = 500
_DAY_S: Final = 86_400
_SAVE_S: Final = 2.0
"""Least time between two writes; `save` writes the rest."""


class Ledger:
    """The connections, latest last."""

    def __init__(self, file: Path | None, *, clock: Callable[[], float] = time.time) -> None:
        """Read what was written before; a file that cannot be read begins anew under another name.

        Args:
            file: None: nothing is kept.
            clock: seconds since the epoch.
        """
        self._file = file
        self._clock = clock
        self._lock = threading.Lock()
        self._lines: dict[tuple[str, str, int], Connection] = {}
        self._saved_at = 0.0
        self._dirty = False
        for line in _read(file):
            self._lines[line.host, line.purpose, line.at // _DAY_S] = line

    @property
    def connections(self) -> list[Connection]:
        """Latest first."""
        with self._lock:
            return sorted(self._lines.values(), key=lambda line: -line.last)

    def note(
        self, host: str, purpose: str, *, requests: int = 0, received: int = 0, refused: int = 0
    ) -> None:
        """Count a request to a host, bytes that came from it, or an attempt that was stopped."""
        with self._lock:
            now = int(self._clock())
            key = (host, purpose, now // _DAY_S)
            old = self._lines.get(key) or Connection(now, now, host, purpose, 0, 0)
            self._lines[key] = msgspec.structs.replace(
                old,
                last=now,
                requests=old.requests + requests,
                received_bytes=old.received_bytes + received,
                refused=old.refused + refused,
            )
            self._dirty = True
            if self._clock() - self._saved_at >= _SAVE_S:
                self._save()

    def save(self) -> None:
        """Write what was noted since the last write."""
        with self._lock:
            if self._dirty:
                self._save()

    def _save(self) -> None:
        self._saved_at, self._dirty = self._clock(), False
        if len(self._lines) > _MOST_LINES:
            latest = sorted(self._lines.items(), key=lambda item: item[1].last)[-_MOST_LINES:]
            self._lines = dict(latest)
        if self._file is None:
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            partial = self._file.with_name(f".{self._file.name}.new")
            partial.write_bytes(msgspec.json.encode(list(self._lines.values())))
            partial.replace(self._file)
        except OSError as error:
            logger.warning("the ledger of connections was not written, error=%s", error.strerror)


def _read(file: Path | None) -> list[Connection]:
    if file is None:
        return []
    try:
        return msgspec.json.decode(file.read_bytes(), type=list[Connection])
    except FileNotFoundError:
        return []
    except (OSError, msgspec.MsgspecError) as error:
        logger.warning("the ledger of connections begins anew, error=%s", error)
        try:
            file.replace(file.with_suffix(".broken.json"))
        except OSError:
            logger.warning("and the old one could not be set aside")
        return []
