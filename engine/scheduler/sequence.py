"""The state of one answer: its tokens, how many of them the KV cache holds, and its sampler.

::

    WAITING ──admit──▶ RUNNING (prefill, then decode) ──finish──▶ gone
       ▲                   │
       └────preempt────────┘   no cells left: the youngest gives its cells back
"""

import time
from dataclasses import dataclass, field

from engine.backends.base import SeqId
from engine.sampling.sampler import Sampler


@dataclass(slots=True, eq=False)
class Sequence:
    """One choice of one request."""

    request: str
    choice: int
    tokens: list[int]
    """Prompt, then answer. The last one may not be computed yet."""
    num_prompt: int
    sampler: Sampler
    leader: "Sequence | None" = None
    """The request's first choice: its prompt is computed once and forked."""
    slot: SeqId | None = None
    num_computed: int = 0
    """Tokens in the KV cache; the next row is tokens[num_computed]."""
    num_reused: int = 0
    """Prompt tokens that were not computed for this sequence, but found in the cache."""
    num_drafted: int = 0
    """Tokens that were guessed for it."""
    num_accepted: int = 0
    """Of those, the ones that were right."""
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
