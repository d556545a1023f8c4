"""What the service is asked when an answer begins or goes on: the branch up to it, with everything attached.

Pure but for reading the history. Neighbour: `chat`.
"""

from collections.abc import Mapping
from typing import Any

from app.attachments import with_attachments
from app.history import History, StoredMessage
from engine.api.requests import ChatRequest, Message


def chat_request(
    history: History,
    answer: StoredMessage,
    *,
    model: str,
    defaults: Mapping[str, Any],
    goes_on: bool,
) -> ChatRequest:
    """The request for `answer`; where it `goes_on`, its text so far is the start of the reply."""
    conversation = history.conversation(answer.conversation_id)
    assert conversation is not None
    messages: list[Message] = []
    if conversation.system_prompt.strip():
        messages.append(Message("system", conversation.system_prompt))
    for message in history.path(conversation.id):
        if message.id == answer.id:
            break
        attached = [(a.name, history.attachment_text(a.id)) for a in message.attachments]
        if content := with_attachments(message.content, attached) if attached else message.content:
            messages.append(Message(message.role, content))
    if goes_on:
        thought = answer.reasoning or None
        messages.append(Message("assistant", answer.content, reasoning_content=thought))
    return ChatRequest(
        messages=messages,
        model=model or None,
        continue_final_message=goes_on or None,
        **{**defaults, **conversation.parameters},
    )
