"""Text that goes with a message without being in it: files, and pastes too long for a text field.

Qt-free. Zone: app, beside `app.history`, which keeps them. What is no text is refused here, before anything is saved.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engine.errors import InvalidRequest

FILE_LIMIT: Final = 10_000_000
"""Bytes; far beyond what any context holds, and read in a moment."""

_BY_MARK: Final = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_FENCES: Final = re.compile("`{3,}")


class NotText(InvalidRequest):
    """A file that cannot be attached. Details: reason, one of "size", "binary", "unreadable"."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """What the window shows of one."""

    id: int
    """In the history; 0 where it is not saved yet."""
    name: str
    characters: int
    text: str | None = None
    """Only where it is not saved yet."""

    @classmethod
    def new(cls, name: str, text: str) -> "Attachment":
        """One that is not saved yet."""
        return cls(0, name, len(text), text)


def read_text_file(path: Path) -> str:
    """A file's text: UTF-8, or UTF-16 with its byte order mark.

    Raises:
        NotText: too large, not such a text, or not to be read.
    """
    try:
        with path.open("rb") as file:
            data = file.read(FILE_LIMIT + 1)
    except OSError as error:
        raise NotText(
            f"{path.name} cannot be read: {error.strerror}", reason="unreadable"
        ) from error
    if len(data) > FILE_LIMIT:
        raise NotText(f"{path.name} is larger than {FILE_LIMIT:,} bytes", reason="size")
    encoding = next((name for mark, name in _BY_MARK if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise NotText(f"{path.name} is not a text in UTF-8 or UTF-16", reason="binary")
    return text


def with_attachments(text: str, attachments: Iterable[tuple[str, str]]) -> str:
    """What the model reads: each (name, text) as a fenced block under its name, then the message.

    The fence is longer than any in the text, so that the text cannot end its block (CommonMark, fenced code blocks).
    """
    parts = []
    for name, body in attachments:
        longest = max((len(run) for run in _FENCES.findall(body)), default=2)
        fence = "`" * (longest + 1)
        parts.append(f"{name}:\n{fence}\n{body.removesuffix(chr(10))}\n{fence}")
    return "\n\n".join([*parts, text] if text.strip() else parts)
