"""Reads the metadata entries of a GGUF file, keeping what is short. Neighbour: `engine.formats.gguf`."""

import struct
from typing import Final

from engine.formats.cursor import Cursor
from engine.formats.filenames import printable
from engine.formats.gguf_header import Omitted, Value
from engine.formats.gguf_types import ARRAY, FLOAT32, INT32, SCALARS, STRING, UINT32

MAX_KEYS: Final = 16_384
"""Metadata entries; real files have under 200."""
MAX_KEY_BYTES: Final = 256
KEPT_ARRAY: Final = 1024
"""Arrays up to this length are kept whole (per-layer values), longer ones (vocabulary) are `Omitted`."""
KEPT_STRING: Final = 1 << 20
"""Bytes. Chat templates stay below 100 kB."""
KEPT_TOTAL: Final = 64 << 20
"""Bytes of Python objects that all kept values may take, roughly."""
_U32 = struct.Struct("<I")

_TOKEN_LISTS: Final = {
    "tokenizer.ggml.tokens": (STRING,),
    "tokenizer.ggml.merges": (STRING,),
    "tokenizer.ggml.scores": (FLOAT32,),
    "tokenizer.ggml.token_type": (INT32, UINT32),
}
"""llama.cpp reads these without asking for their type, past their end if need be."""


def read_metadata(cursor: Cursor, count: int) -> dict[str, Value]:
    """Read the `count` entries at the cursor.

    Raises:
        ModelFormatError: for entries that llama.cpp would refuse, or trust when it should not.
    """
    if count > MAX_KEYS:
        raise cursor.damaged(f"it claims {count:,} metadata entries")
    entries = _Entries(cursor)
    for _ in range(count):
        entries.read_one()
    _check_token_lists(cursor, entries.values)
    return entries.values


def text(raw: bytes) -> str:
    """Names and strings of the file; what is no UTF-8 is replaced."""
    return raw.decode("utf-8", "replace")


class _Entries:
    """The entries read so far, and how much more may be kept."""

    def __init__(self, cursor: Cursor) -> None:
        self.values: dict[str, Value] = {}
        self._cursor = cursor
        self._left = KEPT_TOTAL

    def read_one(self) -> None:
        cursor = self._cursor
        length = cursor.u64()
        if not 0 < length <= MAX_KEY_BYTES:
            raise cursor.damaged(f"a metadata entry has a name of {length:,} bytes")
        key = text(cursor.take(length))
        if key in self.values:
            raise cursor.damaged(f"the metadata entry {printable(key[:64])} is there twice")
        (kind,) = cursor.unpack(_U32)
        if kind == ARRAY:
            self.values[key] = self._array(key)
        elif key in _TOKEN_LISTS:
            raise cursor.damaged(f"{key} is not a list")
        elif kind == STRING:
            self.values[key] = self._string()
        elif scalar := SCALARS.get(int(kind)):
            (self.values[key],) = cursor.unpack(scalar[1])
        else:
            raise cursor.damaged(f"a metadata entry is of the unknown type {kind}")

    def _string(self) -> str | Omitted:
        length = self._cursor.u64()
        if length <= KEPT_STRING and self._keeps(4 * length + 64):
            return text(self._cursor.take(length))
        self._cursor.skip(length)
        return Omitted("string", length)

    def _array(self, key: str) -> Value:
        cursor = self._cursor
        kind, length = cursor.unpack(_U32)[0], cursor.u64()
        if kind not in _TOKEN_LISTS.get(key, (kind,)):
            raise cursor.damaged(f"{key} is a list of the wrong type")
        if kind == STRING:
            return self._strings(length)
        if (scalar := SCALARS.get(int(kind))) is None:
            raise cursor.damaged(f"a metadata list is of the unknown type {kind}")
        name, form = scalar
        if length <= KEPT_ARRAY and self._keeps(64 * length + 64):
            return cursor.unpack(struct.Struct(f"<{length}{form.format[-1]}"))
        cursor.skip(length * form.size)
        return Omitted(name, length)

    def _strings(self, length: int) -> Value:
        if length > KEPT_ARRAY:
            self._cursor.skip_strings(length)
            return Omitted("strings", length)
        items = [self._string() for _ in range(length)]
        kept = tuple(item for item in items if isinstance(item, str))
        return kept if len(kept) == length else Omitted("strings", length)

    def _keeps(self, cost: int) -> bool:
        """Is there room for `cost` more bytes of objects? Takes it, if so."""
        if cost > self._left:
            return False
        self._left -= cost
        return True


def _check_token_lists(cursor: Cursor, metadata: dict[str, Value]) -> None:
    tokens = metadata.get("tokenizer.ggml.tokens")
    for key in ("tokenizer.ggml.scores", "tokenizer.ggml.token_type"):
        values = metadata.get(key)
        if values is not None and _length(values) != _length(tokens):
            raise cursor.damaged(
                f"{key} has {_length(values):,} entries for {_length(tokens):,} tokens"
            )


def _length(value: Value | None) -> int:
    if isinstance(value, Omitted):
        return value.length
    return len(value) if isinstance(value, tuple) else 0
