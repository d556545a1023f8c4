"""Is a model's file what it was made to be? Its SHA-256 against the one its name carries, or the one seen before.

Zone: service; blocking and long, in a thread (hashing lets go of Python's lock). Neighbours: `library`, `json_file`.
"""

import hashlib
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import msgspec

from engine.errors import ModelFormatError
from engine.formats.filenames import from_portable, portable, printable
from engine.hub.json_file import JsonFile

State = Literal["ok", "damaged", "unknown"]
"""`unknown`: nobody says what it should be; its hash is kept, so that the next time can tell."""
Progress = Callable[[int, int], None]
"""Called with bytes read and bytes in all, from the thread that verifies."""

_VERSION: Final = 1
_MOST_RECORDS: Final = 2_000
_BUFFER_BYTES: Final = 1 << 20
_MOST_LINKS: Final = 8
_BLOB: Final = re.compile(r"(?:sha256-)?([0-9a-f]{64})")


class Record(msgspec.Struct, frozen=True):
    """What one file was when it was read."""

    size: int
    mtime_ns: int
    sha256: str
    state: State


@dataclass(frozen=True, slots=True)
class Verification:
    """Of all files of a model."""

    state: State
    """`damaged` if one file is, `ok` if all are."""
    sha256: tuple[str, ...]
    """Of each file, in their order; 64 hexadecimal digits."""
    damaged: tuple[Path, ...] = ()


def named_sha256(file: Path) -> str:
    """The SHA-256 that its name carries, or a link's on the way to it, in caches that name by content; empty: none."""
    for _ in range(_MOST_LINKS):
        match = _BLOB.fullmatch(file.name)
        if match and file.parent.name == "blobs":
            return match[1]
        if not file.is_symlink():
            break
        file = Path(os.path.normpath(file.parent.resolve() / file.readlink()))
    return ""


class Verifier:
    """Reads files whole, and keeps what they were."""

    def __init__(self, file: Path) -> None:
        """Look at nothing yet.

        Args:
            file: where the records are.
        """
        self._file = JsonFile[dict[str, Record]](
            file,
            what="list of checksums",
            loss="Verify your models again.",
            parse=_parse,
            build=_build,
            empty={},
        )

    def known(self, files: Sequence[Path]) -> Verification | None:
        """What the last verification said, if no file changed size or time since; reads none of them.

        Raises:
            SetupError: as `JsonFile.read`.
        """
        records = self._file.read()
        current = []
        for file in files:
            record = records.get(_key(file))
            if record is None or not _is_of(record, file):
                return None
            current.append(record)
        return _summary(files, current) if current else None

    def verify(
        self,
        files: Sequence[Path],
        *,
        progress: Progress = lambda _done, _total: None,
        cancelled: threading.Event | None = None,
    ) -> Verification | None:
        """Read all files of a model; None: it was cancelled, and nothing was kept.

        Raises:
            ModelFormatError: a file is not there, cannot be read, or was written to meanwhile.
            SetupError: the records cannot be read or written.
        """
        known = self._file.read()
        records = {}
        reading = _Reading(files, progress, cancelled or threading.Event())
        for file in files:
            with _in_words(file):
                status = file.stat()
                digest = reading.sha256(file)
            if digest is None:
                return None
            state = _judged(digest, named_sha256(file), known.get(_key(file)), file)
            record = Record(status.st_size, status.st_mtime_ns, digest, state)
            if not _is_of(record, file):
                raise ModelFormatError(
                    f"{printable(file.name)} was written to while it was read.",
                    hint="Wait until that has ended, then verify it again.",
                    file=printable(file.name),
                )
            records[_key(file)] = record
        self._file.change(lambda old: _bounded(old, records))
        return _summary(files, list(records.values()))


class _Reading:
    """One pass over files, counted and cancellable."""

    def __init__(
        self, files: Sequence[Path], progress: Progress, cancelled: threading.Event
    ) -> None:
        self._progress = progress
        self._cancelled = cancelled
        self._buffer = memoryview(bytearray(_BUFFER_BYTES))
        self._done = self._total = 0
        for file in files:
            with _in_words(file):
                self._total += file.stat().st_size

    def sha256(self, file: Path) -> str | None:
        """None: cancelled."""
        digest = hashlib.sha256()
        with file.open("rb", buffering=0) as opened:
            while count := opened.readinto(self._buffer):
                if self._cancelled.is_set():
                    return None
                digest.update(self._buffer[:count])
                self._done += count
                self._progress(self._done, self._total)
        return digest.hexdigest()


def _judged(digest: str, expected: str, earlier: Record | None, file: Path) -> State:
    if expected:
        return "ok" if digest == expected else "damaged"
    if earlier is None or not _is_of(earlier, file):
        return "unknown"
    if digest != earlier.sha256:  # nobody wrote to it, and yet it is another: its disk lost it
        return "damaged"
    return "damaged" if earlier.state == "damaged" else "ok"


def _is_of(record: Record, file: Path) -> bool:
    try:
        status = file.stat()
    except OSError:
        return False
    return (record.size, record.mtime_ns) == (status.st_size, status.st_mtime_ns)


def _summary(files: Sequence[Path], records: Sequence[Record]) -> Verification:
    states = [record.state for record in records]
    worst: State = "damaged" if "damaged" in states else "unknown" if "unknown" in states else "ok"
    return Verification(
        worst,
        tuple(record.sha256 for record in records),
        tuple(file for file, state in zip(files, states, strict=True) if state == "damaged"),
    )


def _bounded(old: dict[str, Record], new: dict[str, Record]) -> dict[str, Record]:
    """Latest last; the oldest are dropped."""
    others = {key: record for key, record in old.items() if key not in new}
    return dict([*others.items(), *new.items()][-_MOST_RECORDS:])


def _key(file: Path) -> str:
    return portable(os.path.realpath(file))


def _parse(data: object) -> dict[str, Record]:
    files = data.get("files") if isinstance(data, dict) and data.get("version") == _VERSION else 0
    known = msgspec.convert(files, dict[str, Record])  # its error is a ValueError
    for key in known:
        from_portable(key)
    return known


def _build(records: dict[str, Record]) -> object:
    return {"version": _VERSION, "files": msgspec.to_builtins(records)}


@contextmanager
def _in_words(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ModelFormatError(
            f"{printable(file.name)} could not be read ({error.strerror}).",
            hint="Check that its disk is there and sound, then try again.",
            file=printable(file.name),
        ) from error
