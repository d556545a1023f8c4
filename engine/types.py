"""Values that several parts of the engine share. Frozen, no behaviour beyond validation.

Neighbours: `engine.api.schemas` (the wire form of requests), `engine.ipc.messages` (between processes).
"""

from dataclasses import dataclass
from typing import Literal

FinishReason = Literal["stop", "length"]
"""Why an answer ended by itself: end token or stop string, or a limit of tokens."""

KvType = Literal["f16", "q8_0"]
"""How the numbers of the KV cache are kept: 16 bits each, or 8.5 (blocks of 32 with one scale)."""

ModelState = Literal["unloaded", "loading", "ready", "stopping", "failed"]


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How the next token is chosen. Order of the chain: see `engine.sampling.sampler`."""

    temperature: float = 0.8
    """0 is greedy. Divides the logits of what the filters left. Range [0, 10]."""
    top_k: int = 40
    """Keep the k most likely tokens; 0 keeps all."""
    top_p: float = 0.95
    """Keep the smallest set whose probability reaches p. Range (0, 1]."""
    min_p: float = 0.05
    """Drop tokens less likely than p times the most likely one. Range [0, 1]."""
    typical_p: float = 1.0
    """Locally typical sampling (arXiv:2202.00666); 1 is off. Range (0, 1]."""
    repetition_penalty: float = 1.0
    """Divides positive and multiplies negative logits of recent tokens (arXiv:1909.05858)."""
    repeat_last_n: int = 64
    """How many latest tokens of prompt and answer the repetition penalty sees."""
    presence_penalty: float = 0.0
    """Subtracted once from every token already in the answer. Range [-2, 2]."""
    frequency_penalty: float = 0.0
    """Subtracted per occurrence in the answer. Range [-2, 2]."""
    logit_bias: tuple[tuple[int, float], ...] = ()
    """(token id, added to its logit), before every filter."""
    seed: int = 0
    """Resolved by the service: always a number, fresh where the request gave none."""
    num_logprobs: int | None = None
    """None: no log probabilities; n: the chosen token's and the n most likely ones'."""


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """Log probability of one chosen token under the unfiltered distribution at temperature 1."""

    token: bytes
    logprob: float
    top: tuple[tuple[bytes, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Timings:
    """Where one answer's time went. Seconds of wall time; tokens as counted by the model."""

    queue_s: float
    prefill_s: float
    decode_s: float
    prompt_tokens: int
    reused_tokens: int
    """Prompt tokens taken from the KV cache instead of being computed."""
    completion_tokens: int
    drafted_tokens: int = 0
    """Guessed by speculation and computed on trial."""
    accepted_tokens: int = 0
    """Of those, the ones that the model itself would have said: each saved a step."""
    restored_tokens: int = 0
    """Of the reused ones: brought back from memory or disk, where a conversation was kept."""
    restore_s: float = 0.0
    """What that took; part of the prefill."""
    paced_by: Literal["", "gap", "speed"] = ""
    """What set the size of the prompt's chunks: nothing beside it, the others' longest gap, its own least speed."""
