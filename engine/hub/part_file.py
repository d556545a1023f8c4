"""A file that arrives in any order: which blocks of it are on disk, and the SHA-256 that follows from its beginning.

Beside `<sha256>.part` lies a journal with one number a block: 0, or the checksum of the block's bytes, written behind them.
So nothing has to be flushed in any order: what a killed process or a power cut left is believed only as far as its
checksum holds, and is fetched again otherwise. Only blocks that are not there are ever written: what was hashed stays.
"""

import errno
import hashlib
import io
import os
import struct
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

import xxhash

from engine.errors import DiskFull, EngineError, ServiceUnavailable, SetupError

BLOCK: Final = 1 << 18
"""Bytes; what one connection may lose when the process is killed."""
_FLUSHED_AT_ONCE: Final = 256
"""Blocks; the connection that wrote the last of them waits for the disk, so that the end does not have to."""
_MAGIC: Final = b"INGLPART"
_HEADER: Final = struct.Struct("=8sQQ8x")
_MARK: Final = struct.Struct("=Q")
_MISSING, _TAKEN, _THERE = 0, 1, 2
_UNCHECKED: Final = 1
"""Mark of a block that was found without a journal: the file's SHA-256 decides about it."""


class PartFile:
    """Open for one process at a time; its methods may be called by any thread."""

    def __init__(self, path: Path, lock: Path, size: int) -> None:
        """Open or make it.

        Args:
            path: of the bytes; the journal lies beside it.
            lock: held as long as this is open.
            size: of the whole file, bytes.

        Raises:
            ServiceUnavailable: another download, here or in another process, holds it.
            SetupError: the folder cannot be written.
            DiskFull: not even the beginning could be.
        """
        self.path = path
        self.size = size
        self.num_blocks = -(-size // BLOCK)
        self.hashed = 0
        """Blocks from the beginning that went into the SHA-256."""
        self._digest = hashlib.sha256()
        self._buffer = memoryview(bytearray(BLOCK))
        self._guard = threading.RLock()
        self._unflushed = 0
        self._halves: dict[int, bytes] = {}
        self._open = True
        import filelock  # 40 ms: not on the way to the first answer

        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock.parent.mkdir(parents=True, exist_ok=True)
            self._lock = filelock.FileLock(lock, timeout=0)
            self._lock.acquire()
        except filelock.Timeout as error:
            raise ServiceUnavailable(
                "Another download of this file is running.", hint="It goes on when that one ends."
            ) from error
        except OSError as error:
            raise _not_written(error, path) from error
        try:
            self._marks = _read_marks(path, size, self.num_blocks)
            self._file = _opened(path)
            self._journal = _opened(_journal(path))
            self._file.truncate(min(path.stat().st_size, size))
            write_at(self._journal, 0, _HEADER.pack(_MAGIC, size, BLOCK) + self._marks)
            self._journal.truncate()
        except OSError as error:
            self._lock.release()
            raise _not_written(error, path) from error
        marks = memoryview(self._marks).cast("Q")
        self._state = bytearray(_THERE if mark else _MISSING for mark in marks)
        self._reader = path.open("rb", buffering=0)
        self.adopted = _UNCHECKED in marks
        """It was found complete and without a journal: where its SHA-256 is wrong, it is not the hub's fault."""
        self._found = sum(self._length(i) for i in range(self.num_blocks) if self._state[i])

    @property
    def done_bytes(self) -> int:
        """On disk."""
        return self._found

    @property
    def hashed_bytes(self) -> int:
        """From the beginning."""
        return min(self.hashed * BLOCK, self.size)

    @property
    def complete(self) -> bool:
        """Is every block there, and hashed?"""
        return self.hashed == self.num_blocks

    @property
    def sha256(self) -> str:
        """Of the blocks hashed so far."""
        return self._digest.hexdigest()

    def take(self, connections: int, least: int = 4, most: int = 64) -> range | None:
        """The next blocks that nobody fetches: neighbours, from the beginning on; None: there are none.

        Args:
            connections: share what is missing among so many.
            least: blocks a request is worth.
            most: blocks, so that the beginning is not far behind the end.
        """
        with self._guard:
            first = self._state.find(_MISSING)
            if first < 0:
                return None
            share = self._state.count(_MISSING) // connections
            last = first + 1
            end = min(first + max(least, min(most, share)), self.num_blocks)
            while last < end and self._state[last] == _MISSING and last not in self._halves:
                last += 1
            self._state[first:last] = bytes([_TAKEN]) * (last - first)
            return range(first, last)

    def take_all(self) -> range:
        """Everything, for a server that only sends whole files."""
        with self._guard:
            self._state = self._state.replace(bytes([_MISSING]), bytes([_TAKEN]))
            return range(self.num_blocks)

    def give_back(self, blocks: range, half: tuple[int, bytes] | None = None) -> None:
        """Somebody else is to fetch what is not there.

        Args:
            blocks: as `take` gave them.
            half: number and first bytes of a block that broke off; kept as long as this is open.
        """
        with self._guard:
            for block in blocks:
                if self._state[block] == _TAKEN:
                    self._state[block] = _MISSING
            if half is not None and self._state[half[0]] == _MISSING:
                self._halves[half[0]] = half[1]

    def half(self, block: int) -> bytes:
        """The first bytes of a block that broke off; they are no longer kept."""
        with self._guard:
            return self._halves.pop(block, b"")

    def span(self, block: int) -> tuple[int, int]:
        """Where a block begins and ends, bytes."""
        return block * BLOCK, min((block + 1) * BLOCK, self.size)

    def write(self, block: int, data: memoryview) -> None:
        """Put a block where it belongs; nothing happens to one that is there, or when this is closed.

        Raises:
            DiskFull: it did not fit.
            SetupError: it could not be written.
        """
        mark = xxhash.xxh3_64_intdigest(data) | 2  # neither "missing" nor "unchecked"
        with self._guard:
            if not self._open or self._state[block] == _THERE:
                return
            try:
                write_at(self._file, block * BLOCK, data)
                write_at(self._journal, _HEADER.size + _MARK.size * block, _MARK.pack(mark))
            except OSError as error:
                raise _not_written(error, self.path) from error
            _MARK.pack_into(self._marks, _MARK.size * block, mark)
            self._state[block] = _THERE
            self._found += len(data)
            self._unflushed += 1
            if self._unflushed < _FLUSHED_AT_ONCE:
                return
            self._unflushed = 0
        self._flush()

    def hash_on(self, most_blocks: int) -> int:
        """Hash what follows the hashed beginning; a block that is not what was written is fetched again.

        Returns:
            Blocks looked at; 0: the next one is not there.
        """
        for done in range(most_blocks):
            block = self.hashed
            if block >= self.num_blocks or self._state[block] != _THERE:
                return done
            data = self._read(block)
            (mark,) = _MARK.unpack_from(self._marks, _MARK.size * block)
            if len(data) == self._length(block) and (
                mark == _UNCHECKED or mark == xxhash.xxh3_64_intdigest(data) | 2
            ):
                self._digest.update(data)
                self.hashed += 1
            else:
                self._forget(block)
        return most_blocks

    def finish(self) -> None:
        """Nothing more will be written: the bytes survive a power cut, and can be moved; the lock stays.

        Raises:
            DiskFull: they did not fit after all.
            SetupError: they could not be written.
        """
        self._flush()
        self._close_files()

    def start_over(self) -> None:
        """Forget everything that is on disk.

        Raises:
            SetupError: the journal could not be written.
        """
        with self._guard:
            self._state = bytearray(self.num_blocks)
            self._marks[:] = bytes(len(self._marks))
            try:
                write_at(self._journal, _HEADER.size, self._marks)
            except OSError as error:
                raise _not_written(error, self.path) from error
            self._digest, self.hashed, self._found = hashlib.sha256(), 0, 0
            self._halves.clear()
            self.adopted = False

    def close(self, *, remove: bool = False) -> None:
        """Let go of it; idempotent.

        Args:
            remove: leave nothing behind.
        """
        self._close_files()
        if remove:
            remove_part(self.path)
        self._lock.release()

    def _flush(self) -> None:
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _not_written(error, self.path) from error

    def _close_files(self) -> None:
        with self._guard:
            self._open = False
            for file in (self._file, self._journal, self._reader):
                file.close()

    def _length(self, block: int) -> int:
        start, end = self.span(block)
        return end - start

    def _read(self, block: int) -> memoryview:
        self._reader.seek(block * BLOCK)
        got = 0
        while got < BLOCK and (more := self._reader.readinto(self._buffer[got:])):
            got += more
        return self._buffer[:got]

    def _forget(self, block: int) -> None:
        with self._guard:
            self._state[block] = _MISSING
            self._found -= self._length(block)
            _MARK.pack_into(self._marks, _MARK.size * block, 0)


def bytes_on_disk(path: Path, size: int) -> int:
    """How much of a file is there, without opening it for writing."""
    num_blocks = -(-size // BLOCK)
    try:
        marks = memoryview(_read_marks(path, size, num_blocks)).cast("Q")
    except OSError:
        return 0
    there = sum(1 for mark in marks if mark)
    short = (num_blocks * BLOCK - size) if there and marks[num_blocks - 1] else 0
    return there * BLOCK - short


def remove_part(path: Path) -> None:
    """Delete a part and its journal, whether they are there or not."""
    for file in (path, _journal(path)):
        with suppress(OSError):
            file.unlink()


def write_at(file: io.FileIO, offset: int, data: bytes | bytearray | memoryview) -> None:
    """Write all of it; the only place where a download's bytes go to disk.

    Raises:
        OSError: not all could be written.
    """
    file.seek(offset)
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]


def _journal(path: Path) -> Path:
    return path.with_name(f"{path.name}.journal")


def _opened(path: Path) -> io.FileIO:
    """For reading and writing, made if it is not there; a link is not followed."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    return io.FileIO(os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o644), "r+b")


def _read_marks(path: Path, size: int, num_blocks: int) -> bytearray:
    """The journal's numbers; one that is damaged or of another file counts as none."""
    marks = bytearray(_MARK.size * num_blocks)
    try:
        on_disk = path.stat().st_size
    except FileNotFoundError:
        return marks
    try:
        journal = _journal(path).read_bytes()
    except FileNotFoundError:
        journal = b""
    if journal[: _HEADER.size] == _HEADER.pack(_MAGIC, size, BLOCK):
        known = journal[_HEADER.size :][: len(marks) // _MARK.size * _MARK.size]
        marks[: len(known)] = known
        there = -(-min(on_disk, size) // BLOCK)
        marks[there * _MARK.size :] = bytes(len(marks) - there * _MARK.size)
    elif on_disk == size:
        marks[:] = _MARK.pack(_UNCHECKED) * num_blocks
    return marks


def _not_written(error: OSError, path: Path) -> EngineError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(
            "The disk is full.",
            hint="What was downloaded is kept. Make room, and the download goes on by itself.",
        )
    return SetupError(
        f"The folder for downloads cannot be written ({error.strerror or error}).",
        hint=f"Check {path.parent}, or choose another folder in the settings.",
    )
