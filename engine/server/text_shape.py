"""Replies of /v1/completions. Pure. Neighbours: `engine.server.shape`, `engine.api.replies`."""

from collections.abc import Iterable
from typing import Any

import msgspec

from engine.api.replies import TextChoice, TextLogprobs, TextReply
from engine.ipc.messages import Delta
from engine.server.logprobs import TextLogprobWriter
from engine.server.shape import Gathered, Shape
from engine.types import FinishReason, TokenLogprob


class TextShape(Shape):
    """Raw completions; chunks and whole replies have the same form."""

    id_prefix = "cmpl-"

    def __init__(self, **common: Any) -> None:
        super().__init__(**common)
        self._writers = [TextLogprobWriter() for _ in self._choices]

    def whole(self) -> TextReply:
        """The whole reply, after everything was gathered."""
        return TextReply(
            **self._head,
            seed=self._seed,
            choices=[self._whole_choice(i, choice) for i, choice in enumerate(self._choices)],
            usage=self._tally.usage(),
            timings=self._tally.pace(),
        )

    def _whole_choice(self, index: int, choice: Gathered) -> TextChoice:
        return TextChoice(
            index=index,
            text="".join(choice.content),
            logprobs=self._logprobs(index, choice.logprobs),
            finish_reason=choice.finish,
        )

    def _beginning(self) -> Iterable[msgspec.Struct]:
        for index in range(len(self._choices)):
            yield self._chunk([TextChoice(index=index)], seed=self._seed)

    def _text_choice(self, delta: Delta) -> TextChoice:
        logprobs = self._logprobs(delta.choice, delta.logprobs)
        return TextChoice(index=delta.choice, text=delta.content, logprobs=logprobs)

    def _end_choice(self, index: int, finish: FinishReason) -> TextChoice:
        return TextChoice(index=index, finish_reason=finish)

    def _chunk(self, choices: list[TextChoice], **more: Any) -> TextReply:
        return TextReply(choices=choices, **{"usage": self._no_usage, **self._head, **more})

    def _logprobs(self, index: int, tokens: list[TokenLogprob]) -> TextLogprobs | None:
        return self._writers[index].write(tokens) if self._with_logprobs else None
