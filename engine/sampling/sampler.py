"""`Sampler`: picks the next token of one answer.

The chain, in llama.cpp's default order: bias and penalties → top_k → typical_p → top_p → min_p →
temperature → draw by inverse CDF over the survivors ordered by (-logit, id). Temperature 0 takes the
first after the penalties. Exact for every combination of parameters: where no top_k bounds them,
candidates are fetched until the filters are satisfied. With a grammar the chain sees the tokens that
the grammar allows and no others. Used by `engine.scheduler`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from engine.errors import InvalidRequest
from engine.sampling import filters, rng
from engine.sampling.penalties import Penalties
from engine.types import SamplingParams

if TYPE_CHECKING:
    from engine.backends.base import F32, I32, Ids, Outputs
    from engine.sampling.grammar import Grammar

    Edits = tuple[I32, F32] | None
    Survivors = tuple[I32, filters.F64]

_MOST_AT_ONCE: Final = 15
"""Forced tokens of one step: with the one before them they fill a block of 16 rows."""

_FIRST_FETCH = 256
_GROWTH = 4
_ALL = 2**31 - 1
_LEAST_LOGPROB = -9999.0
"""Stands for log probabilities below it, -inf included, which JSON lacks; OpenAI's number."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """A picked token. Log probabilities are the model's own, before the chain, at temperature 1."""

    token: int
    logprob: float | None = None
    """Set where the request asked for log probabilities."""
    top: tuple[tuple[int, float], ...] = ()
    """The most likely tokens, most likely first."""


class Sampler:
    """The state of one choice of one request: a function of prompt and accepted tokens alone."""

    def __init__(
        self,
        params: SamplingParams,
        choice: int,
        prompt: Sequence[int],
        grammar: Grammar | None = None,
    ) -> None:
        """Begin an answer.

        Args:
            params: of the request.
            choice: which of its answers.
            prompt: its tokens.
            grammar: what the answer must match, of this answer alone; None: nothing.
        """
        self._params = params
        self._choice = choice
        self._penalties = Penalties(params, prompt)
        self._grammar = grammar
        self._num_accepted = 0

    @property
    def num_accepted(self) -> int:
        """Tokens of the answer so far."""
        return self._num_accepted

    def accept(self, token: int) -> None:
        """Append `token` to the answer: one that was sampled, or one replayed after a crash."""
        self._penalties.accept(token)
        if self._grammar is not None:
            self._grammar.accept(token)
        self._num_accepted += 1

    def take_forced(self) -> list[Sampled]:
        """Accept the next tokens if the grammar leaves no choice; they need no logits to be picked.

        Returns:
            At most 15; none where log probabilities are wanted, which only logits tell.
        """
        taken: list[Sampled] = []
        if self._params.num_logprobs is None:
            while len(taken) < _MOST_AT_ONCE and (token := self._forced()) is not None:
                self.accept(token)
                taken.append(Sampled(token))
        return taken

    def trim(self, draft: list[int]) -> list[int]:
        """The front part of a draft that the grammar allows; all of it without a grammar."""
        return draft if self._grammar is None or not draft else self._grammar.trim(draft)

    def sample(self, outputs: Outputs, row: int) -> Sampled:
        """Pick the token that follows the accepted ones. Changes nothing: repeating repeats.

        Args:
            outputs: of the latest decode.
            row: the row of the last accepted token (of the prompt's last, if there is none).

        Raises:
            InvalidRequest: if the logit bias bans every token, or names one that does not exist;
                if the grammar became too complex.
            EngineError: if the model's numbers are invalid.
        """
        token = self._forced()
        if token is None:
            penalties = self._penalties
            edits = penalties.edits(outputs.logits(row)) if penalties.active else None
            allowed = None if self._grammar is None else self._grammar.allowed()
            token = self._pick(outputs, row, edits, allowed)
        num_logprobs = self._params.num_logprobs
        if num_logprobs is None:
            return Sampled(token)
        return _with_logprobs(outputs, row, token, num_logprobs)

    def _forced(self) -> int | None:
        # with a logit bias the same text may have to be written in other tokens
        if self._grammar is None or self._params.logit_bias:
            return None
        return self._grammar.forced

    def _pick(self, outputs: Outputs, row: int, edits: Edits, allowed: Ids | None) -> int:
        params = self._params
        if params.temperature <= 0:
            return int(_fetch(outputs, row, 1, edits, allowed)[0][0])
        u = rng.uniform(params.seed, self._choice, self._num_accepted)
        if params.top_k <= 0 and params.top_p >= 1 and params.min_p <= 0 and params.typical_p >= 1:
            return _draw_from_all(outputs, row, edits, allowed, params.temperature, u)
        ids, logits = survivors(outputs, row, edits, params, allowed)
        return int(ids[filters.draw(logits, params.temperature, u)])


def survivors(
    outputs: Outputs,
    row: int,
    edits: Edits,
    params: SamplingParams,
    allowed: Ids | None = None,
) -> Survivors:
    """Ids and logits of what the filters leave, ordered by (-logit, id); at least one."""
    if params.top_k <= 0 and params.typical_p >= 1:
        return _survivors_of_all(outputs, row, edits, params, allowed)
    k = params.top_k if params.top_k > 0 else _ALL
    ids, logits, _ = _fetch(outputs, row, k, edits, allowed)
    if params.typical_p < 1:
        kept = filters.typical_p(logits, params.typical_p)
        ids, logits = ids[kept], logits[kept]
    n = _front(logits, params)
    return ids[:n], logits[:n]


def _survivors_of_all(
    outputs: Outputs, row: int, edits: Edits, params: SamplingParams, allowed: Ids | None
) -> Survivors:
    """Fetch until top_p or min_p, which keep a front part, draw the line inside what was fetched."""
    lse = outputs.lse(row, edits, allowed) if params.top_p < 1 else None
    fetch = _FIRST_FETCH
    while True:
        ids, logits, all_there = _fetch(outputs, row, fetch, edits, allowed)
        n = _front(logits, params, None if all_there else lse)
        if all_there or n < logits.size:
            return ids[:n], logits[:n]
        fetch *= _GROWTH


def _front(logits: filters.F64, params: SamplingParams, lse: float | None = None) -> int:
    # Both keep a front part and min_p's yardstick is the first token: their order does not matter.
    return min(filters.top_p(logits, params.top_p, lse), filters.min_p(logits, params.min_p))


def _draw_from_all(
    outputs: Outputs, row: int, edits: Edits, allowed: Ids | None, temperature: float, u: float
) -> int:
    """Draw from all that count, ordering only as many of them as u needs."""
    fetch, total = _FIRST_FETCH, 0.0
    while True:
        ids, logits, all_there = _fetch(outputs, row, fetch, edits, allowed)
        if all_there:
            return int(ids[filters.draw(logits, temperature, u)])
        if not total:
            whole = outputs.logits(row)
            if edits is not None:
                whole = whole.copy()
                whole[edits[0]] = edits[1]
            if allowed is not None:
                whole = whole[allowed]
            total = filters.total_mass(whole, float(logits[0]), temperature)
        index = filters.draw(logits, temperature, u, total)
        if index < logits.size:
            return int(ids[index])
        fetch *= _GROWTH


def _fetch(
    outputs: Outputs, row: int, k: int, edits: Edits, allowed: Ids | None
) -> tuple[I32, filters.F64, bool]:
    """Up to k most likely tokens of probability above 0, and whether there are no others."""
    found = outputs.candidates(row, k, edits, allowed)
    ids, logits = found.ids[:k], found.logits[:k].astype(np.float64)
    if logits[-1] > -np.inf:
        return ids, logits, found.complete and ids.size == found.ids.size
    n = int(np.count_nonzero(logits > -np.inf))
    if n == 0:
        raise InvalidRequest(
            "The logit bias bans every token that could follow.",
            hint="Allow at least one.",
            param="logit_bias",
        )
    return ids[:n], logits[:n], True


def _with_logprobs(outputs: Outputs, row: int, token: int, n: int) -> Sampled:
    lse = outputs.lse(row)
    chosen = float(outputs.logits(row)[token])
    top: list[tuple[int, float]] = []
    if n > 0:
        found = outputs.candidates(row, n)
        pairs = zip(found.ids[:n].tolist(), found.logits[:n].tolist(), strict=True)
        top = [(other, max(logit - lse, _LEAST_LOGPROB)) for other, logit in pairs]
    return Sampled(token, max(chosen - lse, _LEAST_LOGPROB), tuple(top))
