"""File names as text that is safe to show, store and send. Pure.

A name on disk may hold line breaks, bytes that are no UTF-8, and marks that turn the reading direction.
Zone: any. Neighbours: `engine.formats.gguf` (messages), `engine.hub` (model ids and the index).
"""

import os
import unicodedata
from pathlib import Path


def portable(path: str | Path) -> str:
    """The path as text that does not depend on the locale; bytes that are no UTF-8 become surrogates."""
    return os.fsencode(path).decode("utf-8", "surrogateescape")


def from_portable(text: str) -> Path:
    """Inverse of `portable`."""
    return Path(os.fsdecode(text.encode("utf-8", "surrogateescape")))


def printable(name: str | Path) -> str:
    r"""The name in one line of valid Unicode; different names give different texts.

    A backslash is doubled, a foreign byte becomes `\xff`, a control or direction mark `\n` or `\u202e`.
    """
    return "".join(c if _shows(c) else _escaped(c) for c in portable(name))


def _shows(char: str) -> bool:
    return char != "\\" and (char.isprintable() or unicodedata.category(char) == "Zs")


def _escaped(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that `portable` could not decode
        return f"\\x{code - 0xDC00:02x}"
    if 0x7F <= code <= 0xFF:  # unicode_escape would write it like a foreign byte
        return f"\\u{code:04x}"
    return char.encode("unicode_escape").decode("ascii")
