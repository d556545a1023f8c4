"""The wire form of replies, as OpenAI's clients read them, plus our own `timings`, `seed`, `inglenook`.

Zone: service (encodes) and desktop (decodes). Fields that are UNSET are left out; the defaults of the
rest let our client read other servers too.
"""

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from engine.types import FinishReason, Timings


class PromptDetails(msgspec.Struct):
    """Where the prompt's tokens came from."""

    cached_tokens: int = 0
    """Taken from the KV cache instead of being computed."""


class Usage(msgspec.Struct):
    """Tokens of one request, all choices together."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    prompt_tokens_details: PromptDetails | None = None


class Pace(msgspec.Struct):
    """Where the time went, in llama-server's names. Milliseconds, tokens, tokens per second."""

    queue_ms: float = 0.0
    cache_n: int = 0
    """Prompt tokens reused from the KV cache."""
    prompt_n: int = 0
    """Prompt tokens computed."""
    prompt_ms: float = 0.0
    prompt_per_second: float = 0.0
    predicted_n: int = 0
    predicted_ms: float = 0.0
    predicted_per_second: float = 0.0
    restored_n: int = 0
    """Of the reused ones: brought back from memory or disk."""
    restore_ms: float = 0.0
    paced_by: str = ""
    """While others were answered: `gap` (their longest gap set the chunks) or `speed` (the prompt's least speed did)."""
    draft_n: int = 0
    """Tokens guessed by speculation."""
    draft_n_accepted: int = 0
    """Of those, the ones that were right."""

    @staticmethod
    def of(timings: Timings) -> "Pace":
        """Convert the engine's measure."""
        computed = timings.prompt_tokens - timings.reused_tokens
        return Pace(
            queue_ms=_ms(timings.queue_s),
            cache_n=timings.reused_tokens,
            prompt_n=computed,
            prompt_ms=_ms(timings.prefill_s),
            prompt_per_second=_rate(computed, timings.prefill_s),
            predicted_n=timings.completion_tokens,
            predicted_ms=_ms(timings.decode_s),
            predicted_per_second=_rate(timings.completion_tokens, timings.decode_s),
            restored_n=timings.restored_tokens,
            restore_ms=_ms(timings.restore_s),
            paced_by=timings.paced_by,
            draft_n=timings.drafted_tokens,
            draft_n_accepted=timings.accepted_tokens,
        )


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)


def _rate(tokens: int, seconds: float) -> float:
    return round(tokens / seconds, 2) if seconds > 0 else 0.0


class TopToken(msgspec.Struct):
    """One likely token of a chat answer."""

    token: str
    logprob: float
    bytes: list[int]


class ChosenToken(msgspec.Struct):
    """The token that was chosen, and the most likely ones."""

    token: str
    logprob: float
    bytes: list[int]
    top_logprobs: list[TopToken]


class ChatLogprobs(msgspec.Struct):
    """Log probabilities of a chat answer's tokens."""

    content: list[ChosenToken]
    refusal: None = None


class TextLogprobs(msgspec.Struct):
    """Log probabilities of a raw completion's tokens; `text_offset` counts characters of the answer."""

    tokens: list[str] = []
    token_logprobs: list[float] = []
    top_logprobs: list[dict[str, float]] = []
    text_offset: list[int] = []


class ReadingProgress(msgspec.Struct):
    """Prompt tokens read so far."""

    done: int
    total: int
    again: bool = False
    """True when a restarted worker re-reads an answer that had begun."""


class Progress(msgspec.Struct):
    """Our own events, sent only to clients that ask for them by header."""

    loading: float | UnsetType = UNSET
    reading: ReadingProgress | UnsetType = UNSET
    tokens: int | UnsetType = UNSET
    """Beside new text: tokens of this choice so far."""


class Reply(msgspec.Struct, kw_only=True):
    """What all replies and chunks begin with."""

    id: str = ""
    object: str = ""
    created: int = 0
    model: str = ""
    system_fingerprint: str | None = None
    seed: int | UnsetType = UNSET


class ChatMessage(msgspec.Struct, kw_only=True):
    """The answer of a whole chat reply."""

    role: Literal["assistant"] = "assistant"
    content: str = ""
    reasoning_content: str | UnsetType = UNSET
    refusal: None = None


class ChatChoice(msgspec.Struct, kw_only=True):
    """One answer of a whole chat reply."""

    index: int
    message: ChatMessage
    logprobs: ChatLogprobs | None = None
    finish_reason: FinishReason | None = None


class ChatReply(Reply, kw_only=True):
    """A chat answer that is not streamed."""

    object: str = "chat.completion"
    choices: list[ChatChoice]
    usage: Usage
    timings: Pace | None = None


class ChatDelta(msgspec.Struct, kw_only=True):
    """What a chunk adds to an answer."""

    role: Literal["assistant"] | UnsetType | None = UNSET
    content: str | UnsetType | None = UNSET
    reasoning_content: str | UnsetType | None = UNSET


class ChunkChoice(msgspec.Struct, kw_only=True):
    """One choice of a chunk."""

    index: int = 0
    delta: ChatDelta = msgspec.field(default_factory=ChatDelta)
    logprobs: ChatLogprobs | None = None
    finish_reason: str | None = None


class ChatChunk(Reply, kw_only=True):
    """One event of a chat stream."""

    object: str = "chat.completion.chunk"
    choices: list[ChunkChoice] = []
    usage: Usage | UnsetType | None = UNSET
    timings: Pace | UnsetType = UNSET
    inglenook: Progress | UnsetType = UNSET
    error: dict[str, Any] | UnsetType = UNSET
    """Only ever alone: what went wrong after the stream had begun."""


class TextChoice(msgspec.Struct, kw_only=True):
    """One choice of a raw completion, whole or chunk."""

    index: int
    text: str = ""
    logprobs: TextLogprobs | None = None
    finish_reason: FinishReason | None = None


class TextReply(Reply, kw_only=True):
    """A raw completion, whole or one event of its stream."""

    object: str = "text_completion"
    choices: list[TextChoice]
    usage: Usage | UnsetType | None = UNSET
    timings: Pace | UnsetType | None = UNSET
    inglenook: Progress | UnsetType = UNSET
