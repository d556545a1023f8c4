"""From messages or raw text to the tokens a model reads.

Pure. Two promises: exactly one begin token where the model wants one, whoever else wrote it; and
control markers inside messages, tools and arguments are plain text, only the template's own are special.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from engine.errors import InvalidRequest
from engine.text import conversation
from engine.text.markers import ControlTexts, Hiding
from engine.text.template import RESERVED, ChatTemplate
from engine.text.tokenizer import Tokenizer

_THINK = "<think>"
_THOUGHT_END = "</think>"
_LONGEST_WORD = 16
"""Characters without a space in which more at the end can plausibly change how the first are divided."""


@dataclass(frozen=True, slots=True)
class ChatPromptTokens:
    """A prompt as the model sees it."""

    tokens: list[int]
    reasoning_prefilled: bool
    """The template opened the thinking tag itself, so that the answer begins inside thought."""
    notice: str | None
    """What the user should know about how it came about."""


def encode_chat(
    tokenizer: Tokenizer,
    template: ChatTemplate,
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]] | None = None,
    template_args: Mapping[str, Any] | None = None,
    *,
    continue_final: bool = False,
) -> ChatPromptTokens:
    """Render messages and tokenize them.

    With `continue_final` the last message is an unfinished answer: it follows the opened turn as
    plain text, so that the model goes on where it stopped.

    Raises:
        InvalidRequest: the template refuses the messages, or an argument has a name of its own.
        ModelFormatError: the template is broken.
    """
    if continue_final:
        begun = encode_chat(tokenizer, template, messages[:-1], tools, template_args)
        return _continued(tokenizer, begun, messages[-1])
    args = dict(template_args or {})
    for name in args:
        if name in RESERVED:
            raise InvalidRequest(
                f"“{name}” cannot be given as a template argument.",
                hint="It is filled in from the request and the model.",
                param=f"chat_template_kwargs.{name}",
            )
    try:
        prepared = conversation.prepare(messages)
        controls = ControlTexts(tokenizer.control_texts)
        hiding = Hiding(controls, prepared, tools, args, template.source)
        # Roles are plain words (`prepare` saw to that), and templates compare them.
        hidden = [hiding.hide(message) | {"role": message["role"]} for message in prepared]
        rendered = template.render(hidden, tools=hiding.hide(tools), **hiding.hide(args))
    except RecursionError as error:
        raise InvalidRequest(
            "The messages or tools are nested too deeply.", hint="Send flatter data."
        ) from error
    tokens = _encode_rendered(tokenizer, controls, hiding, rendered.text)
    return ChatPromptTokens(
        _with_one_bos(tokenizer, tokens),
        reasoning_prefilled=_opens_thought(rendered.text, prepared),
        notice=rendered.notice,
    )


def encode_beginning(
    tokenizer: Tokenizer,
    template: ChatTemplate,
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]] | None = None,
    template_args: Mapping[str, Any] | None = None,
) -> list[int]:
    """The tokens that messages will begin with however their last one, still being written, goes on.

    Where its text stops, tokens are in flux: a word that grows is divided anew. What several endings
    agree on counts as settled: more letters behind the text as it is, and a space, a mark or a line
    behind the text without its last word. Without spaces (Chinese, an address) its last characters
    stand for that word. Should a tokenizer differ after all, its tokens are computed again.

    Raises:
        As `encode_chat`; InvalidRequest also where the last message has no text to go on with.
    """
    prepared = conversation.prepare(messages)
    last = prepared[-1] if prepared else {}
    text = last.get("content")
    if not isinstance(text, str):
        raise InvalidRequest(
            "The last message has no text that could go on.",
            hint="Send what is written so far as the last message.",
            param="messages",
        )
    stem = _without_last_word(text)
    endings = (text + "a", stem + " b", stem + ":", stem + "\n\nb")
    prompts = [
        encode_chat(
            tokenizer, template, [*prepared[:-1], last | {"content": end}], tools, template_args
        ).tokens
        for end in endings
    ]
    agreed = takewhile(lambda row: len(set(row)) == 1, zip(*prompts, strict=False))
    return [row[0] for row in agreed]


def _without_last_word(text: str) -> str:
    stem = text.rstrip()
    start = max((stem.rfind(space) for space in " \t\r\n\u3000"), default=-1)
    return stem[: max(start, len(stem) - _LONGEST_WORD, 0)].rstrip()


def _continued(
    tokenizer: Tokenizer, begun: ChatPromptTokens, answer: Mapping[str, Any]
) -> ChatPromptTokens:
    """The opened turn with what was already thought and said."""
    content = str(answer.get("content") or "")
    thought = str(answer.get("reasoning_content") or "")
    text = content
    if thought:
        opening = "" if begun.reasoning_prefilled else _THINK + "\n"
        text = opening + thought + (f"\n{_THOUGHT_END}\n\n{content}" if content else "")
    elif begun.reasoning_prefilled and content:
        text = f"{_THOUGHT_END}\n\n{content}"
    more = tokenizer.encode(text, add_special=False, parse_special=False) if text else []
    inside = not content and (bool(thought) or begun.reasoning_prefilled)
    return ChatPromptTokens([*begun.tokens, *more], inside, begun.notice)


def encode_text(tokenizer: Tokenizer, text: str) -> list[int]:
    """Tokenize a raw prompt; control texts in it are control tokens, the caller wrote them all."""
    return _with_one_bos(tokenizer, tokenizer.encode(text, add_special=False, parse_special=True))


def _encode_rendered(
    tokenizer: Tokenizer, controls: ControlTexts, hiding: Hiding, text: str
) -> list[int]:
    if not hiding.texts:
        return tokenizer.encode(text, add_special=False, parse_special=True)
    # Calls are divided only next to a control token, where a tokenizer begins anew anyway (it may put
    # a space in front of a text): the tokens are those of one call that knows who wrote what.
    hidden = re.compile(f"[{''.join(hiding.texts)}]")
    tokens: list[int] = []
    done = run_start = 0
    for start, end in [*controls.spans(text), (len(text), len(text))]:
        if hidden.search(text, run_start, start):
            run = hiding.reveal(text[run_start:start])
            tokens += _encode_around(tokenizer, text[done:run_start], run)
            done = start
        run_start = end
    return tokens + tokenizer.encode(text[done:], add_special=False, parse_special=True)


def _encode_around(tokenizer: Tokenizer, before: str, run: str) -> list[int]:
    """`before` ends with a control text (or is empty), `run` is plain text."""
    tokens = tokenizer.encode(before, add_special=False, parse_special=True)
    stem = run.lstrip(" \t\n\v\f\r")
    space = run[: len(run) - len(stem)]
    # The control tokens of some models (Phi-3) swallow the white space behind them.
    if space and tokens == tokenizer.encode(before + space, add_special=False, parse_special=True):
        run = stem
    return tokens + tokenizer.encode(run, add_special=False, parse_special=False)


def _with_one_bos(tokenizer: Tokenizer, tokens: list[int]) -> list[int]:
    """Begin tokens that a template or a user wrote count, where the model wants one at all."""
    if not tokenizer.adds_bos or tokenizer.bos is None:
        return tokens
    first = next((i for i, token in enumerate(tokens) if token != tokenizer.bos), len(tokens))
    return [tokenizer.bos, *tokens[first:]]


def _opens_thought(text: str, messages: Sequence[conversation.Message]) -> bool:
    text = text.rstrip()
    last = str(messages[-1]["content"]).rstrip() if messages else ""
    # A template that adds nothing after the messages leaves the tag to whoever typed it.
    return text.endswith(_THINK) and not (last.endswith(_THINK) and text.endswith(last))
