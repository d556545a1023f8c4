"""`Sampler`: picks the next token of one answer.

The chain, in llama.cpp's default order: bias and penalties → top_k → typical_p → top_p → min_p →
temperature → draw by inverse CDF over the survivors ordered by (-logit, id). Temperature 0 takes the
first after the penalties. Exact for every combination of parameters: where no top_k bounds them,
candidates are fetched until the filters are satisfied. Used by `engine.scheduler`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engine.errors import InvalidRequest
from engine.sampling import filters, rng
from engine.sampling.penalties import Penalties
from engine.types import SamplingParams

if TYPE_CHECKING:
    from engine.backends.base import F32, I32, Outputs

    Edits = tuple[I32, F32] | None
    Survivors = tuple[I32, filters.F64]

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

    def __init__(self, params: SamplingParams, choice: int, prompt: Sequence[int]) -> None:
        self._params = params
        self._choice = choice
        self._penalties = Penalties(params, prompt)
        self._num_accepted = 0

    @property
    def num_accepted(self) -> int:
        """Tokens of the answer so far."""
        return self._num_accepted

    def accept(self, token: int) -> None:
        """Append `token` to the answer: one that was sampled, or one replayed after a crash."""
        self._penalties.accept(token)
        self._num_accepted += 1

    def sample(self, outputs: Outputs, row: int) -> Sampled:
        """Pick the token that follows the accepted ones. Changes nothing: repeating repeats.

        Args:
            outputs: of the latest decode.
            row: the row of the last accepted token (of the prompt's last, if there is none).

        Raises:
            InvalidRequest: if the logit bias bans every token, or names one that does not exist.
            EngineError: if the model's numbers are invalid.
        """
        penalties = self._penalties
        edits = penalties.edits(outputs.logits(row)) if penalties.active else None
        token = self._pick(outputs, row, edits)
        num_logprobs = self._params.num_logprobs
        if num_logprobs is None:
            return Sampled(token)
        return _with_logprobs(outputs, row, token, num_logprobs)

    def _pick(self, outputs: Outputs, row: int, edits: Edits) -> int:
        params = self._params
        if params.temperature <= 0:
            return int(_fetch(outputs, row, 1, edits)[0][0])
        u = rng.uniform(params.seed, self._choice, self._num_accepted)
        if params.top_k <= 0 and params.top_p >= 1 and params.min_p <= 0 and params.typical_p >= 1:
            return _draw_from_all(outputs, row, edits, params.temperature, u)
        ids, logits = survivors(outputs, row, edits, params)
        return int(ids[filters.draw(logits, params.temperature, u)])


def survivors(outputs: Outputs, row: int, edits: Edits, params: SamplingParams) -> Survivors:
    """Ids and logits of what the filters leave, ordered by (-logit, id); at least one."""
    if params.top_k <= 0 and params.typical_p >= 1:
        return _survivors_of_all(outputs, row, edits, params)
    ids, logits, _ = _fetch(outputs, row, params.top_k if params.top_k > 0 else _ALL, edits)
    if params.typical_p < 1:
        kept = filters.typical_p(logits, params.typical_p)
        ids, logits = ids[kept], logits[kept]
    n = _front(logits, params)
    return ids[:n], logits[:n]


def _survivors_of_all(
    outputs: Outputs, row: int, edits: Edits, params: SamplingParams
) -> Survivors:
    """Fetch until top_p or min_p, which keep a front part, draw the line inside what was fetched."""
    lse = outputs.lse(row, edits) if params.top_p < 1 else None
    fetch = _FIRST_FETCH
    while True:
        ids, logits, all_there = _fetch(outputs, row, fetch, edits)
        n = _front(logits, params, None if all_there else lse)
        if all_there or n < logits.size:
            return ids[:n], logits[:n]
        fetch *= _GROWTH


def _front(logits: filters.F64, params: SamplingParams, lse: float | None = None) -> int:
    # Both keep a front part and min_p's yardstick is the first token: their order does not matter.
    return min(filters.top_p(logits, params.top_p, lse), filters.min_p(logits, params.min_p))


def _draw_from_all(outputs: Outputs, row: int, edits: Edits, temperature: float, u: float) -> int:
    """Draw from the whole vocabulary, ordering only as much of it as u needs."""
    fetch, total = _FIRST_FETCH, 0.0
    while True:
        ids, logits, all_there = _fetch(outputs, row, fetch, edits)
        if all_there:
            return int(ids[filters.draw(logits, temperature, u)])
        if not total:
            whole = outputs.logits(row)
            if edits is not None:
                whole = whole.copy()
                whole[edits[0]] = edits[1]
            total = filters.total_mass(whole, float(logits[0]), temperature)
        index = filters.draw(logits, temperature, u, total)
        if index < logits.size:
            return int(ids[index])
        fetch *= _GROWTH


def _fetch(outputs: Outputs, row: int, k: int, edits: Edits) -> tuple[I32, filters.F64, bool]:
    """Up to k most likely tokens of probability above 0, and whether there are no others."""
    found = outputs.candidates(row, k, edits)
    ids, logits = found.ids[:k], found.logits[:k].astype(np.float64)
    if logits[-1] > -np.inf:
        return ids, logits, found.complete and ids.size == found.ids.size
    n = int(np.count_nonzero(logits > -np.inf))
    if n == 0:
        raise InvalidRequest(
            "The logit bias bans every token.", hint="Allow at least one.", param="logit_bias"
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
