"""The wire form of requests: what clients may send, with types and ranges.

Zone: service and desktop. `engine.api.validate` checks what types cannot say. Fields that are not named
here are ignored. `None` means "not given" everywhere. Ranges: see `engine.types.SamplingParams`.
"""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

Role = Literal["system", "developer", "user", "assistant", "tool"]
TokenId = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Bias = Annotated[float, Meta(ge=-100, le=100)]
StopString = Annotated[str, Meta(min_length=1, max_length=1024)]
Limit = Annotated[int, Meta(ge=-1, le=2**53)]
MOST_KEY_CHARACTERS: Final = 512


class Part(msgspec.Struct, omit_defaults=True):
    """One part of a message's content. Only text is understood so far."""

    type: str
    text: str | None = None


class Message(msgspec.Struct, omit_defaults=True):
    """One message of a conversation."""

    role: Role
    content: str | list[Part] | None = None
    name: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None


class StreamOptions(msgspec.Struct, omit_defaults=True):
    """How a stream is written."""

    include_usage: bool | None = None


class NamedSchema(msgspec.Struct, omit_defaults=True):
    """A JSON schema in OpenAI's wrapping. Name and `strict` change nothing: every answer matches the schema."""

    schema: dict[str, Any]
    name: str | None = None
    description: str | None = None
    strict: bool | None = None


class ResponseFormat(msgspec.Struct, omit_defaults=True):
    """What an answer must be."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: NamedSchema | None = None
    schema: dict[str, Any] | None = None
    """llama-server's place for the schema, with either JSON type."""


class Generation(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What both kinds of request share."""

    model: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Annotated[int, Meta(ge=1, le=8)] | None = None
    seed: Annotated[int, Meta(ge=-1, le=2**63 - 1)] | None = None
    """-1, like none: a fresh one, which the reply tells."""
    max_tokens: Limit | None = None
    """-1, like none: until the model ends or the context is full."""
    max_completion_tokens: Limit | None = None
    """The newer name of `max_tokens`."""
    stop: StopString | Annotated[list[StopString], Meta(max_length=16)] | None = None
    ignore_eos: bool | None = None
    prompt_cache_key: Annotated[str, Meta(max_length=MOST_KEY_CHARACTERS)] | None = None
    """Whose the prompt is: what is kept of it can be deleted by this name."""
    priority: Annotated[int, Meta(ge=0, le=1)] | None = None
    """0, like none: somebody waits for the answer. 1: it may wait for those. (vLLM's name.)"""
    service_tier: Any = None
    """`flex` is OpenAI's name of `priority` 1, where that is not given; all else changes nothing."""

    temperature: Annotated[float, Meta(ge=0, le=10)] | None = None
    top_k: Annotated[int, Meta(ge=-1, le=2**31 - 1)] | None = None
    """-1 and 0 keep all."""
    top_p: Annotated[float, Meta(gt=0, le=1)] | None = None
    min_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    typical_p: Annotated[float, Meta(gt=0, le=1)] | None = None
    repetition_penalty: Annotated[float, Meta(gt=0, le=10)] | None = None
    repeat_penalty: Annotated[float, Meta(gt=0, le=10)] | None = None
    """The other name of `repetition_penalty`."""
    repeat_last_n: Annotated[int, Meta(ge=-1, le=2**31 - 1)] | None = None
    """-1 sees everything."""
    presence_penalty: Annotated[float, Meta(ge=-2, le=2)] | None = None
    frequency_penalty: Annotated[float, Meta(ge=-2, le=2)] | None = None
    logit_bias: dict[TokenId, Bias] | None = None

    response_format: ResponseFormat | None = None
    json_schema: dict[str, Any] | None = None
    """llama-server's short form of a `response_format` with a schema."""

    # A legal wish we cannot fulfil yet: named here to be refused, since ignoring it changes the answer.
    grammar: Any = None


class ChatRequest(Generation, kw_only=True, omit_defaults=True):
    """POST /v1/chat/completions."""

    messages: Annotated[list[Message], Meta(min_length=1)]
    tools: list[dict[str, Any]] | None = None
    tool_choice: Any = None
    chat_template_kwargs: dict[str, Any] | None = None
    """Variables for the model's chat template, such as `enable_thinking`."""
    continue_final_message: bool | None = None
    """The last message is the assistant's and unfinished: go on with it."""
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None

    functions: Any = None
    function_call: Any = None
    audio: Any = None


class CompletionRequest(Generation, kw_only=True, omit_defaults=True):
    """POST /v1/completions."""

    prompt: str | list[str | TokenId]
    """Text, token ids, or a list with one text."""
    logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None

    echo: bool | None = None
    best_of: int | None = None
    suffix: str | None = None


class ModelName(msgspec.Struct):
    """POST /api/models/load and /api/models/unload."""

    model: Annotated[str, Meta(min_length=1)]
