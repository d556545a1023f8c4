"""Chat messages as templates expect them: one text each, tool arguments as mappings.

Pure. Used by `engine.text.template` and `engine.text.prompt`. Messages are in the OpenAI form;
the functions return new ones and change none.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from engine.errors import InvalidRequest

Message = dict[str, Any]

_ROLE = re.compile(r"[\w.-]{1,64}")


class ToolArguments(dict[str, Any]):
    """Arguments of a tool call: a mapping that prints, and adds to a text, as its JSON text.

    Some templates walk arguments as a mapping, others write them out as the string they are on the
    wire; this serves both.
    """

    def __init__(self, values: Mapping[str, Any], text: str) -> None:
        super().__init__(values)
        self._text = text

    def __str__(self) -> str:
        return self._text

    def __add__(self, other: str) -> str:
        return self._text + other

    def __radd__(self, other: str) -> str:
        return other + self._text


def prepare(messages: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Join text parts, parse tool arguments, give every message a content.

    The content of a message with tool calls may stay None (templates ask for that).

    Raises:
        InvalidRequest: a role or a part no template could use.
    """
    return [_prepare_one(index, message) for index, message in enumerate(messages)]


def _prepare_one(index: int, message: Mapping[str, Any]) -> Message:
    where = f"messages[{index}]"
    role = message.get("role")
    # Templates build turn markers from the role: it must be a word, never a marker of its own.
    if not isinstance(role, str) or not _ROLE.fullmatch(role):
        raise InvalidRequest(
            "A message has no usable role.",
            hint="Use system, user, assistant or tool.",
            param=f"{where}.role",
        )
    prepared = dict(message)
    content = message.get("content")
    calls = message.get("tool_calls")
    if isinstance(content, Sequence) and not isinstance(content, str):
        content = "\n".join(_text_of(part, f"{where}.content") for part in content)
    prepared["content"] = "" if content is None and not calls else content
    if calls:
        prepared["tool_calls"] = [_parse_call(call) for call in calls]
    return prepared


def _text_of(part: object, where: str) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping) and isinstance(part.get("text"), str):
        return str(part["text"])
    kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
    raise InvalidRequest(
        f"This model reads only text, not '{kind}'.",
        hint="Send text parts only.",
        param=where,
    )


def _parse_call(call: Any) -> Any:
    if not isinstance(call, Mapping):
        return call
    parsed = dict(call)
    if "function" in parsed:
        parsed["function"] = _parse_call(parsed["function"])
    if isinstance(parsed.get("arguments"), str):
        parsed["arguments"] = _parse_arguments(parsed["arguments"])
    return parsed


def _parse_arguments(text: str) -> str | ToolArguments:
    """A mapping if the text is a JSON object (or empty), else the text as it is."""
    if not text.strip():
        return ToolArguments({}, "{}")
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return ToolArguments(values, text) if isinstance(values, dict) else text


def has_unparsed_arguments(messages: Sequence[Message]) -> bool:
    """Did a client send tool arguments that are not a JSON object?"""
    calls = [call for message in messages for call in message.get("tool_calls") or ()]
    calls = [call.get("function", call) for call in calls if isinstance(call, Mapping)]
    return any(isinstance(call.get("arguments"), str) for call in calls)


def without_none(messages: Sequence[Message]) -> list[Message]:
    """The same messages with empty texts for contents that are None."""
    return [message | {"content": message["content"] or ""} for message in messages]


def fold_system(messages: Sequence[Message]) -> list[Message] | None:
    """System texts moved in front of the first user turn, for templates without a system role.

    Without a user turn they become one. None if there is no system message.
    """
    texts = [m["content"] or "" for m in messages if m["role"] in ("system", "developer")]
    if not texts:
        return None
    rest = [dict(m) for m in messages if m["role"] not in ("system", "developer")]
    system = "\n\n".join(texts)
    for message in rest:
        if message["role"] == "user":
            message["content"] = f"{system}\n\n{message['content']}"
            return rest
    return [{"role": "user", "content": system}, *rest]
