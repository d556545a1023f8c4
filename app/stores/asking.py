"""What the service is asked when an answer begins or goes on: the branch up to it, with everything attached.

A draft becomes the same request as the message that is sent, so that what was read of it holds.

Pure but for reading the history. Neighbour: `chat`.
"""

import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import takewhile
from typing import Any

from app.attachments import Attachment, with_attachments
from app.history import Conversation, History, StoredMessage
from app.history_records import storable
from engine.api.requests import ChatRequest, Message
from engine.errors import EngineError

_KEY = "cache key"
"""Under this name the history keeps what its conversations' names begin with."""


def chat_request(
    history: History,
    answer: StoredMessage,
    *,
    model: str,
    defaults: Mapping[str, Any],
    goes_on: bool,
) -> ChatRequest:
    """The request for `answer`; where it `goes_on`, its text so far is the start of the reply.

    `defaults` hold where the conversation has nothing of its own: parameters, and the model's `system` prompt.
    """
    conversation = history.conversation(answer.conversation_id)
    assert conversation is not None
    before = takewhile(lambda message: message.id != answer.id, history.path(conversation.id))
    system, parameters = _split(defaults)
    messages = _messages(history, conversation, before, system)
    if goes_on:
        thought = answer.reasoning or None
        messages.append(Message("assistant", answer.content, reasoning_content=thought))
    return ChatRequest(
        messages=messages,
        model=model or None,
        continue_final_message=goes_on or None,
        prompt_cache_key=cache_key(history, conversation.id),
        **{**parameters, **conversation.parameters},
    )


def draft_request(
    history: History,
    conversation: Conversation | None,
    text: str,
    *,
    model: str,
    defaults: Mapping[str, Any],
) -> ChatRequest:
    """The request that sending `text`, with what lies beside it, would lead to; None: in a new conversation."""
    system, parameters = _split(defaults)
    if conversation is None:
        messages = [*_instructed(system), Message("user", storable(text))]
        return ChatRequest(messages=messages, model=model or None, **parameters)
    messages = _messages(history, conversation, history.path(conversation.id), system)
    attachments = history.draft_attachments(conversation.id)
    messages.append(Message("user", _content(history, storable(text), attachments)))
    return ChatRequest(
        messages=messages,
        model=model or None,
        prompt_cache_key=cache_key(history, conversation.id),
        **{**parameters, **conversation.parameters},
    )


def cache_key(history: History, conversation_id: int) -> str:
    """The name under which the service keeps what it read of a conversation; it says nothing else."""
    own = history.value(_KEY)
    if not own:
        own = secrets.token_hex(8)
        with suppress(EngineError):  # a full disk: the next request has another name
            history.set_value(_KEY, own)
    return f"{own}-{conversation_id}"


def _messages(
    history: History, conversation: Conversation, stored: Iterable[StoredMessage], system: str
) -> list[Message]:
    own = conversation.system_prompt
    messages = _instructed(own if own.strip() else system)
    messages.extend(
        Message(message.role, content)
        for message in stored
        if (content := _content(history, message.content, message.attachments))
    )
    return messages


def _instructed(system: str) -> list[Message]:
    return [Message("system", system)] if system.strip() else []


def _split(defaults: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The system prompt, and the parameters."""
    parameters = dict(defaults)
    return parameters.pop("system", ""), parameters


def _content(history: History, text: str, attachments: Iterable[Attachment]) -> str:
    attached = [(a.name, history.attachment_text(a.id)) for a in attachments]
    return with_attachments(text, attached) if attached else text
