"""Penalties and bias of one answer as sparse edits of the logits.

A function of the prompt's and the answer's tokens alone, kept up to date token by token, so that a
continuation after a crash rebuilds it by replay. Used by `engine.sampling.sampler`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from engine.errors import InvalidRequest
from engine.types import SamplingParams

if TYPE_CHECKING:
    from engine.backends.base import F32, I32

BAN = -100.0
"""A bias of this or less bans the token, whatever the temperature; as OpenAI's API describes it."""

_BIAS, _RECENT, _COUNT = range(3)
"""Rows of the table: added to the logit; occurrences in the window; occurrences in the answer."""


class Penalties:
    """The tokens whose logits change, in arrays that grow with the *distinct* tokens only.

    In llama.cpp's order: the bias is added; tokens among the last `repeat_last_n` of prompt and answer
    take the repetition penalty (CTRL, arXiv:1909.05858); tokens of the answer lose presence penalty
    plus occurrences x frequency penalty (OpenAI's formula).
    """

    def __init__(self, params: SamplingParams, prompt: Sequence[int]) -> None:
        self._params = params
        self._has_counts = params.presence_penalty != 0 or params.frequency_penalty != 0
        self._window: deque[int] = deque()
        self._window_size = max(0, params.repeat_last_n) if params.repetition_penalty != 1 else 0
        self._biased = frozenset(token for token, _ in params.logit_bias)
        self._slots: dict[int, int] = {}
        self._ids: I32 = np.zeros(64, np.int32)
        self._values: F32 = np.zeros((3, 64), np.float32)
        for token, bias in params.logit_bias:
            slot = self._slot(token)
            self._values[_BIAS, slot] = bias if bias > BAN else -np.inf
        for token in prompt[max(0, len(prompt) - self._window_size) :]:
            self._enter_window(token)

    @property
    def active(self) -> bool:
        """Are there any edits?"""
        return bool(self._slots)

    def accept(self, token: int) -> None:
        """Append `token` to the answer."""
        if self._window_size:
            self._enter_window(token)
        if self._has_counts:
            slot = self._slot(token)  # first: it may replace the arrays
            self._values[_COUNT, slot] += 1

    def edits(self, logits: F32) -> tuple[I32, F32]:
        """Ids and new logits as `Outputs` takes them; valid until the next `accept`.

        Args:
            logits: [n_vocab] as the model gave them; only read.

        Raises:
            InvalidRequest: if the bias names a token that the model does not have.
        """
        n = len(self._slots)
        ids = self._ids[:n]
        try:
            new = logits[ids]
        except IndexError:
            raise InvalidRequest(
                "The logit bias names a token that this model does not have.",
                hint=f"Token ids of this model are 0 to {logits.size - 1}.",
                param="logit_bias",
            ) from None
        bias, recent, count = self._values[:, :n]
        params = self._params
        if self._biased:
            new += bias
        if self._window_size:
            penalty = np.float32(params.repetition_penalty)
            new = np.where(recent > 0, np.where(new > 0, new / penalty, new * penalty), new)
        if params.frequency_penalty:
            new -= np.float32(params.frequency_penalty) * count
        if params.presence_penalty:
            new -= np.float32(params.presence_penalty) * (count > 0)
        return ids, new

    def _enter_window(self, token: int) -> None:
        slot = self._slot(token)
        self._values[_RECENT, slot] += 1
        self._window.append(token)
        if len(self._window) <= self._window_size:
            return
        gone = self._window.popleft()
        slot = self._slots[gone]
        self._values[_RECENT, slot] -= 1
        if gone not in self._biased and not self._values[_RECENT:, slot].any():
            self._release(gone)

    def _slot(self, token: int) -> int:
        slot = self._slots.get(token)
        if slot is not None:
            return slot
        if token < 0:
            raise ValueError(f"token id {token}")
        slot = len(self._slots)
        if slot == self._ids.size:
            self._ids = np.concatenate((self._ids, np.zeros_like(self._ids)))
            self._values = np.hstack((self._values, np.zeros_like(self._values)))
        self._ids[slot] = token
        self._slots[token] = slot
        return slot

    def _release(self, token: int) -> None:
        slot = self._slots.pop(token)
        last = len(self._slots)
        if slot != last:
            self._ids[slot] = self._ids[last]
            self._values[:, slot] = self._values[:, last]
            self._slots[int(self._ids[slot])] = slot
        self._values[:, last] = 0
