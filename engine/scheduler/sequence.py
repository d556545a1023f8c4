"""The state of one answer: its tokens, how many of them the KV cache holds, and its sampler.

::

    WAITING ──admit──▶ RUNNING (prefill, then decode) ──finish──▶ gone
       ▲                   │
       └────preempt────────┘   no cells left: the youngest gives its cells back
"""

import time
from dataclasses import dataclass, field
from typing import Final, Literal

from engine.backends.base import SeqId
from engine.sampling.sampler import Sampler

MOST_FORCED: Final = 32
"""Pending tokens with which an answer still counts as answering: a grammar appends several at once."""
HINT: Final = 2
"""Priority of what nobody asked for yet; it has the machine only while nobody else wants it."""

PacedBy = Literal["", "gap", "speed"]
"""What set the size of a prompt's chunks: nothing beside it, the longest gap, or the least reading speed."""


@dataclass(slots=True, eq=False)
class Sequence:
    """One choice of one request."""

    request: str
    choice: int
    tokens: list[int]
    """Prompt, then answer. The last one may not be computed yet."""
    num_prompt: int
    sampler: Sampler
    priority: int = 0
    """Lower goes first; see `engine.ipc.messages.Generate`."""
    reads_only: bool = False
    """Nothing is sampled: its prompt is computed for a request to come."""
    cache_key: str = ""
    """Whose prompt it is."""
    slot: SeqId | None = None
    num_computed: int = 0
    """Tokens in the KV cache; the next row is tokens[num_computed]."""
    num_reused: int = 0
    """Prompt tokens that were not computed for this sequence, but found in the cache."""
    num_restored: int = 0
    """Of these, how many came from memory or disk; also when it goes on after it had to make room."""
    restore_s: float = 0.0
    """Seconds that took."""
    num_drafted: int = 0
    """Tokens that were guessed for it."""
    num_accepted: int = 0
    """Of those, the ones that were right."""
    paced_by: PacedBy = ""
    """While its prompt was read beside running answers."""
    created_at: float = field(default_factory=time.monotonic)
    admitted_at: float | None = None
    first_token_at: float | None = None

    @property
    def num_answer(self) -> int:
        """Answer tokens so far."""
        return len(self.tokens) - self.num_prompt

    @property
    def num_pending(self) -> int:
        """Rows that must be computed before the next token can be sampled."""
        return len(self.tokens) - self.num_computed

    @property
    def is_answering(self) -> bool:
        """Its next step brings a token: its rows go before those of prompts."""
        if self.reads_only:
            return False
        return self.num_pending == 1 or (
            self.first_token_at is not None and self.num_pending <= MOST_FORCED
        )
