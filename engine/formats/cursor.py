"""A forward reader for files whose every length is suspect. Neighbour: `engine.formats.gguf`.

Nothing is read or reserved on a claim: lengths are compared with the file first. Plain reads, no mmap: a file that
shrinks while it is mapped (a share that goes away) would kill the process.
"""

import struct
from io import FileIO
from typing import Final

from engine.errors import ModelFormatError

MAX_HEADER: Final = 128 << 20
"""Bytes. The largest real headers (262,144 tokens with their merges) stay below 20 MB."""
MAX_STRINGS: Final = 4_000_000
"""Strings in all arrays together. Real files stay below 800,000; more would take seconds to step over."""
_WINDOW: Final = 256 << 10

_U64: Final = struct.Struct("<Q")


class Cursor:
    """Position in one open file, with a small window of it in memory."""

    def __init__(self, file: FileIO, *, size: int, name: str) -> None:
        self._file = file
        self._size = size
        self._name = name
        self._limit = min(size, MAX_HEADER)
        self._window = b""
        self._start = 0
        self._strings_left = MAX_STRINGS
        self.position = 0

    def damaged(self, what: str) -> ModelFormatError:
        """The error to raise for contents that cannot be."""
        return ModelFormatError(
            f"{self._name} is damaged: {what} (at byte {self.position:,}).",
            hint="Download it again, or choose another file.",
            file=self._name,
            offset=self.position,
        )

    def unpack(self, form: struct.Struct) -> tuple[int | float | bool, ...]:
        """Read one packed record."""
        offset = self._ready(form.size)
        self.position += form.size
        return form.unpack_from(self._window, offset)

    def u64(self) -> int:
        """Read one length or count."""
        offset = self._ready(8)
        self.position += 8
        (value,) = _U64.unpack_from(self._window, offset)
        return int(value)

    def take(self, length: int) -> bytes:
        """Read bytes. The caller has bounded `length` by what it is willing to hold."""
        offset = self._ready(length)
        self.position += length
        return self._window[offset : offset + length]

    def skip(self, length: int) -> None:
        """Step over bytes without reading them."""
        self._require(length)
        self.position += length

    def skip_strings(self, count: int) -> None:
        """Step over `count` strings, each 8 bytes of length and its text."""
        self._require(8 * count)
        self._strings_left -= count
        if self._strings_left < 0:
            raise self.damaged("its word lists are longer than any model's")
        unpack = _U64.unpack_from
        while count:
            offset = self._ready(8)
            window = self._window
            last = len(window) - 8
            skipped = 0
            while skipped < count and offset <= last:
                offset += 8 + unpack(window, offset)[0]
                skipped += 1
            count -= skipped
            self._require(self._start + offset - self.position)
            self.position = self._start + offset

    def _require(self, length: int) -> None:
        if self.position + length <= self._limit:
            return
        if self.position + length <= self._size:
            raise self.damaged(f"its header is larger than {MAX_HEADER >> 20} MB")
        raise ModelFormatError(
            f"{self._name} is cut off or damaged: its header goes on past the end of the file "
            f"({self._size:,} bytes).",
            hint="Download it again.",
            file=self._name,
        )

    def _ready(self, length: int) -> int:
        """Have `length` bytes from the position on in the window; returns their offset in it."""
        offset = self.position - self._start
        if offset < 0 or offset + length > len(self._window):
            self._require(length)
            want = max(length, min(_WINDOW, self._limit - self.position))
            self._file.seek(self.position)
            self._start, self._window = self.position, _read_all(self._file, want)
            offset = 0
            if len(self._window) < length:
                raise self.damaged("it became shorter while it was read")
        return offset


def _read_all(file: FileIO, length: int) -> bytes:
    """Up to `length` bytes; raw reads may return less than asked."""
    parts = []
    while length and (part := file.read(length)):
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
