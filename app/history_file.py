"""The history's SQLite file: opened, checked, set aside when damaged; its errors in plain words.

Qt-free, one thread. Zone: app. Neighbours: `app.history_schema` (tables), `app.history` (the only user).
"""

import logging
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from app.history_schema import migrate
from engine.errors import EngineError, SetupError

logger = logging.getLogger(__name__)

_BUSY_S: Final = 1.0
"""Another process may hold the file this long; the window stands still meanwhile."""
_DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_FORBIDDEN: Final = (
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_AUTH,
)


class HistoryFile:
    """An open database whose every failure is an `EngineError`.

    `notice` is a sentence for the user where a damaged file was set aside, else empty.
    """

    def __init__(self, path: Path) -> None:
        self.notice = ""
        self._path = path
        with self._plain_errors():
            try:
                self._db = self._open()
            except sqlite3.DatabaseError as error:
                if _code(error) not in _DAMAGED:
                    raise
                self._set_aside()
                self._db = self._open()

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Read everything a query gives."""
        with self._plain_errors():
            return self._db.execute(sql, values).fetchall()

    def run(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Execute one writing statement; returns the id of the row it inserted, if it did."""
        with self._plain_errors():
            return self._db.execute(sql, values).lastrowid or 0

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of the block or nothing of it."""
        with self._plain_errors():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    def close(self) -> None:
        """Fold the log into the file and let go of it; harmless when done twice."""
        with self._plain_errors():
            self._db.close()

    @property
    def _marker(self) -> Path:
        return self._path.with_name(self._path.name + "-check")

    def _open(self) -> sqlite3.Connection:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A log that is still there means that the last process did not close the file.
        doubtful = self._marker.exists() or self._path.with_name(self._path.name + "-wal").exists()
        self._path.touch(mode=0o600)
        self._path.chmod(0o600)  # the log and its index take the mode of the file
        db = sqlite3.connect(self._path, timeout=_BUSY_S, isolation_level=None)
        try:
            if doubtful:
                _check(db)
            self._marker.unlink(missing_ok=True)
            db.execute("PRAGMA foreign_keys = ON")
            migrate(db)
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute("PRAGMA secure_delete = ON")
            db.create_function("casefold", 1, str.casefold, deterministic=True)
        except BaseException:
            db.close()
            raise
        return db

    def _set_aside(self) -> None:
        stamp = time.strftime("%Y%m%d-%H%M%S")
        number = 0
        aside = self._path
        while aside.exists():
            suffix = f"-{number}" if number else ""
            aside = self._path.with_name(f"{self._path.stem}-damaged-{stamp}{suffix}.db")
            number += 1
        for ending in ("-wal", "-shm", ""):
            part = self._path.with_name(self._path.name + ending)
            if part.exists():
                part.rename(aside.with_name(aside.name + ending))
        logger.warning("history was damaged, set aside, file=%s", aside)
        self.notice = (
            "The file with your conversations was damaged, so a new one was started. "
            f"The damaged file is kept as {aside}."
        )

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.ProgrammingError:
            raise
        except sqlite3.Error as error:
            if _code(error) in _DAMAGED:
                self._mark()
            raise self._explained(error) from error
        except OSError as error:
            raise SetupError(
                f"The file with your conversations could not be opened ({error.strerror}).",
                hint=f"Check that {self._path.parent} exists and that you may write there.",
            ) from error

    def _mark(self) -> None:
        # The next start looks at the whole file; failing to say so loses nothing.
        try:
            self._marker.touch()
        except OSError as error:
            logger.warning("could not mark the history for a check, error=%s", error)

    def _explained(self, error: sqlite3.Error) -> EngineError:
        code = _code(error)
        logger.warning("history failed, error=%s code=%d", error, code)
        folder = self._path.parent
        if code == sqlite3.SQLITE_FULL:
            return SetupError(
                "The disk is full, so the conversation could not be saved.",
                hint=f"Free some space where {folder} is, then try again.",
            )
        if code in _FORBIDDEN:
            return SetupError(
                "The file with your conversations cannot be written.",
                hint=f"Check that you may write in {folder}, then try again.",
            )
        if code in _DAMAGED:
            return SetupError(
                "The file with your conversations is damaged.",
                hint="Start Inglenook again: it keeps the damaged file under another name and starts a new one.",
            )
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return EngineError(
                "Another program is using the file with your conversations.",
                hint="Close other Inglenook windows and backup programs, then try again.",
            )
        return EngineError(
            f"The conversation could not be saved or read ({error}).",
            hint=f"Check the disk that holds {folder}, then try again.",
        )


def _check(db: sqlite3.Connection) -> None:
    if db.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        damage = sqlite3.DatabaseError("quick_check found damage")
        damage.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise damage


def _code(error: sqlite3.Error) -> int:
    # Extended codes carry the primary one in the low byte; errors raised by Python itself have none.
    return int(getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
