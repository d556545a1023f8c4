"""Interim."""

from dataclasses import dataclass
from typing import Any

from engine.text.template import ChatTemplate
from engine.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class ChatPromptTokens:
    """Result."""

    tokens: list[int]
    reasoning_prefilled: bool
    notice: str | None


def encode_chat(
    tokenizer: Tokenizer,
    template: ChatTemplate,
    messages: Any,
    tools: Any = None,
    template_args: Any = None,
) -> ChatPromptTokens:
    """Interim."""
    rendered = template.render(messages, tools=tools, **(template_args or {}))
    return ChatPromptTokens(
        tokenizer.encode(rendered.text, add_special=False, parse_special=True),
        False,
        rendered.notice,
    )


def encode_text(tokenizer: Tokenizer, text: str) -> list[int]:
    """Interim."""
    return tokenizer.encode(text, add_special=True, parse_special=True)
