"""What the service and a worker say to each other, grouped by receiver.

Pure values; `engine.ipc.codec` puts them into frames. Prompts and answers cross as token ids besides
their text, so that the service can continue an answer in a new worker, token for token.
"""

from typing import Any

import msgspec

from engine.types import FinishReason, KvType, SamplingParams, Timings, TokenLogprob


class Message(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Base of all frames."""


class ChatPrompt(Message, frozen=True):
    """Messages for the model's chat template."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None = None
    template_args: dict[str, Any] = {}
    continue_final: bool = False
    """The last message is an unfinished answer to go on with."""


class TextPrompt(Message, frozen=True):
    """A raw prompt, special tokens allowed."""

    text: str


class TokenPrompt(Message, frozen=True):
    """Token ids, used as they are."""

    tokens: list[int]
    reasoning_prefilled: bool = False
    """The prompt ends inside a reasoning tag (from `Accepted`, when an answer is continued)."""


# --- to the worker ---------------------------------------------------------------------------------


class Load(Message, frozen=True):
    """First frame: what to load. Answered by LoadProgress … then Loaded or Failed."""

    path: bytes
    """`os.fsencode`d: a file name need not be valid text."""
    backend: str
    context: int
    """Token capacity of the KV cache, shared by all sequences."""
    num_sequences: int
    """Answers computed at the same time."""
    decode_threads: int
    prefill_threads: int
    chat_template: str | None = None
    """Overrides the file's own."""
    speculation: str = ""
    """See `engine.config.ModelSettings`."""
    draft_path: bytes = b""
    """A small model that guesses ahead; empty: none."""
    exact: bool = False
    """llama.cpp: the same text in every batch, where the file's types allow it."""
    gpu: str = ""
    """UUID of the GPU that was planned with; empty: none."""
    options: dict[str, Any] = {}
    """For tests of the fake backend only."""
    kept_memory_bytes: int = 0
    """Most memory for what was read of conversations and has left the KV cache; 0: none is kept."""
    kept_disk_bytes: int = 0
    """Most disk space for it, all models together; 0: nothing is written."""
    cache_folder: bytes = b""
    """Where that is written, and what is measured of the model; empty: nowhere."""
    kv_type: KvType = "f16"
    flash_attention: bool | None = None
    """llama.cpp; None: as it decides itself."""
    pads_from: int = 0
    """Rows from which a short step is padded to a tile of flash attention; 0: none is."""
    measure: bool = True
    """What steps cost is measured in spare time, where it is not known."""
    follow_load: bool = False
    """The threads are the most that may be used; how many are, follows the load of the machine."""


class Generate(Message, frozen=True):
    """One request: `num_choices` answers to one prompt."""

    request: str
    prompt: ChatPrompt | TextPrompt | TokenPrompt
    sampling: SamplingParams
    max_tokens: int | None = None
    """None: until the model ends or the context is full."""
    stop: list[str] = []
    num_choices: int = 1
    ignore_end: bool = False
    """Benchmarks: end tokens do not end the answer."""
    resume: list[list[int]] = []
    """Tokens each choice already has (crash continuation): read again, not sent again."""
    finished: list[int] = []
    """Choices that ended before the crash and are not computed again."""
    schema: str = ""
    """JSON schema, as JSON, that the answer must match; empty: none."""
    reads_only: bool = False
    """Only read the prompt, as far as it cannot change when more is typed, so that the next request finds it."""
    priority: int = 0
    """Lower goes first: 0 somebody waits for it, 1 it may wait, 2 nobody asked for it yet."""
    cache_key: str = ""
    """Whose the prompt is: what is kept of it on disk is deleted by this name. Empty: nobody's."""


class Abort(Message, frozen=True):
    """Drop a request at once; no further frames follow for it."""

    request: str


class Forget(Message, frozen=True):
    """Drop what is kept of the conversations of one owner (`Generate.cache_key`); of everybody's with an empty key."""

    key: str


class Exit(Message, frozen=True):
    """Leave in order. A closed pipe means the same."""


# --- to the supervisor -----------------------------------------------------------------------------


class LoadProgress(Message, frozen=True):
    """0 … 1 of the file read."""

    fraction: float


class Loaded(Message, frozen=True):
    """The model answers from now on."""

    n_ctx: int
    n_vocab: int
    description: str
    load_seconds: float
    resident_bytes: int
    notes: list[str] = []
    """What was wished and could not be had, as half sentences beside the plan's reasons."""


class Measured(Message, frozen=True):
    """What the model does on this machine. Tokens a second, with the threads that are best."""

    writes: float
    reads: float
    attention: list[str] = []
    """What was measured of ways to compute attention, as half sentences."""


class Failed(Message, frozen=True):
    """A request (or, with request "", the load) ended with an error: `EngineError.to_wire()`."""

    request: str
    error: dict[str, Any]


class Accepted(Message, frozen=True):
    """The prompt as the model sees it."""

    request: str
    prompt: list[int]
    reasoning_prefilled: bool = False
    notice: str = ""
    """What the user should know about how the prompt came about."""


class Reading(Message, frozen=True):
    """Prefill progress of a request, counted over prompt and resumed tokens."""

    request: str
    done: int
    total: int
    reused: int


class Delta(Message, frozen=True):
    """What one step added to one choice. Tokens and the text they released travel together."""

    request: str
    choice: int
    tokens: list[int]
    content: str = ""
    reasoning: str = ""
    logprobs: list[TokenLogprob] = []
    finish: FinishReason | None = None
    timings: Timings | None = None
    """With the finish."""


def merged(first: Delta, second: Delta) -> Delta:
    """Two deltas of one choice as one."""
    return Delta(
        first.request,
        first.choice,
        [*first.tokens, *second.tokens],
        first.content + second.content,
        first.reasoning + second.reasoning,
        [*first.logprobs, *second.logprobs],
        second.finish,
        second.timings,
    )


class Step(Message, frozen=True):
    """New deltas, at most one a choice: of one decode, or of a few that followed each other fast."""

    deltas: list[Delta]


ToWorker = Load | Generate | Abort | Forget | Exit
ToSupervisor = LoadProgress | Loaded | Measured | Failed | Accepted | Reading | Step
