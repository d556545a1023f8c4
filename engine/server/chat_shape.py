"""Replies of /v1/chat/completions. Pure. Neighbours: `engine.server.shape`, `engine.api.replies`."""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import UNSET

from engine.api.replies import (
    ChatChoice,
    ChatChunk,
    ChatDelta,
    ChatMessage,
    ChatReply,
    ChunkChoice,
)
from engine.ipc.messages import Delta
from engine.server.logprobs import chat_logprobs
from engine.server.shape import Gathered, Shape
from engine.types import FinishReason


class ChatShape(Shape):
    """Chat chunks and chat replies; thoughts go to `reasoning_content`."""

    id_prefix = "chatcmpl-"

    def whole(self) -> ChatReply:
        """The whole reply, after everything was gathered."""
        return ChatReply(
            **self._head,
            seed=self._seed,
            choices=[self._whole_choice(i, choice) for i, choice in enumerate(self._choices)],
            usage=self._tally.usage(),
            timings=self._tally.pace(),
        )

    def _whole_choice(self, index: int, choice: Gathered) -> ChatChoice:
        message = ChatMessage(
            content="".join(choice.content),
            reasoning_content="".join(choice.reasoning) or UNSET,
        )
        return ChatChoice(
            index=index,
            message=message,
            logprobs=chat_logprobs(choice.logprobs) if self._with_logprobs else None,
            finish_reason=choice.finish,
        )

    def _beginning(self) -> Iterable[msgspec.Struct]:
        for index in range(len(self._choices)):
            delta = ChatDelta(role="assistant", content="")
            yield self._chunk([ChunkChoice(index=index, delta=delta)], seed=self._seed)

    def _text_choice(self, delta: Delta) -> ChunkChoice:
        return ChunkChoice(
            index=delta.choice,
            delta=ChatDelta(
                content=delta.content or UNSET, reasoning_content=delta.reasoning or UNSET
            ),
            logprobs=chat_logprobs(delta.logprobs) if self._with_logprobs else None,
        )

    def _end_choice(self, index: int, finish: FinishReason) -> ChunkChoice:
        return ChunkChoice(index=index, finish_reason=finish)

    def _chunk(self, choices: list[ChunkChoice], **more: Any) -> ChatChunk:
        return ChatChunk(choices=choices, **{"usage": self._no_usage, **self._head, **more})
