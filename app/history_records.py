"""What the history hands out: conversations, messages, and how their values look in the database.

Qt-free, pure. Zone: app, beside `app.history`, which is the only writer; stores and widgets read these.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import msgspec

from app.attachments import Attachment

Role = Literal["user", "assistant"]
MessageState = Literal["complete", "streaming", "stopped", "interrupted", "failed"]

MESSAGE_STATES: Final = get_args(MessageState)
TITLE_LIMIT: Final = 60
"""Characters of a title made from a message."""
RENAME_LIMIT: Final = 200
"""Characters of a title the user types."""

_NUMBERS: Final = msgspec.json.Decoder(dict[str, int | float])
_ATTACHMENTS: Final = msgspec.json.Decoder(list[tuple[int, str, int]])
# Control characters, and the marks that turn the writing direction and so disguise a text; joiners of emoji stay.
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]"
)


@dataclass(frozen=True, slots=True)
class Conversation:
    """One entry of the list. Times are UTC epoch seconds."""

    id: int
    title: str
    """Empty until the first message."""
    created_at: float
    updated_at: float
    """When its last message was begun."""
    model: str
    system_prompt: str
    parameters: dict[str, float | int]
    draft: str
    scroll: float
    """0 (top) to 1 (bottom)."""


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """One message, as it was when read. Times are UTC epoch seconds."""

    id: int
    conversation_id: int
    """0 where the message was really deleted meanwhile (only `finish_answer` returns such a one)."""
    parent_id: int | None
    role: Role
    content: str
    reasoning: str
    state: MessageState
    error: str
    created_at: float
    figures: dict[str, float | int]
    """tokens, tokens_per_s, first_token_ms, reused, restored, restore_ms, prompt_tokens, drafted, accepted, seed: what was known at the end."""
    model: str
    attachments: tuple[Attachment, ...]
    edit: str | None
    """A changed text that was not sent yet."""
    sibling: int
    """Its place among the messages with the same parent, from 0 by age."""
    num_siblings: int
    """Itself included."""


def conversation_from(row: tuple[Any, ...]) -> Conversation:
    """A row in the order of the fields, `parameters` as JSON."""
    return Conversation(*(*row[:6], numbers_from(row[6]), *row[7:]))


def message_from(row: tuple[Any, ...]) -> StoredMessage:
    """A row in the order of the fields, `figures` and `attachments` as JSON."""
    attachments = tuple(Attachment(*a) for a in _ATTACHMENTS.decode(row[11]))
    return StoredMessage(*(*row[:9], numbers_from(row[9]), row[10], attachments, *row[12:]))


def numbers_from(text: str) -> dict[str, float | int]:
    """The dictionary in a JSON text; what a foreign hand has broken counts as empty."""
    if text == "{}":
        return {}
    try:
        return _NUMBERS.decode(text)
    except msgspec.MsgspecError:
        return {}


def numbers_to(numbers: Mapping[str, float | int]) -> str:
    """JSON text. Infinities and NaN have no place in it and are left out: a speed over 0 s must not cost the answer."""
    return msgspec.json.encode({k: v for k, v in numbers.items() if math.isfinite(v)}).decode()


def storable(text: str) -> str:
    """The same text, with halves of surrogate pairs (a cut-off emoji in a paste) joined or replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def title_from(message: str) -> str:
    """The first line that shows anything, in at most `TITLE_LIMIT` characters, cut at a word where there is one."""
    for line in message.lstrip()[:2000].splitlines():
        title = clean_title(line)
        if len(title) <= TITLE_LIMIT:
            if title:
                return title
            continue
        cut = title[: TITLE_LIMIT - 1]
        if title[len(cut)] != " " and (space := cut.rfind(" ")) >= TITLE_LIMIT // 2:
            cut = cut[:space]
        return cut.rstrip(" \u200d") + "…"
    return ""


def clean_title(text: str) -> str:
    """One line without control characters, at most `RENAME_LIMIT` characters. Never a file name, so `..` is fine."""
    return " ".join(_UNSEEN.sub("", storable(text[:2000])).split())[:RENAME_LIMIT].rstrip()
