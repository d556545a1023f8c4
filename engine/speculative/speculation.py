"""Proposers under a controller: what the scheduler asks for drafts.

Zone: worker process, owner thread. A free proposer (n-grams) guesses always, and the controller takes of it what pays; a costly one
(a small model) is asked where the free one has nothing, for as much as will pay. One that fails is left out from then on:
guessing may never cost an answer.
"""

import dataclasses
import itertools
import logging
import time
from collections.abc import Hashable, Sequence
from typing import Final

from engine.backends.base import MOST_DRAFTED
from engine.errors import EngineError
from engine.speculative.acceptance import Acceptance
from engine.speculative.controller import Controller, Guess
from engine.speculative.proposer import Ask, Proposer

logger = logging.getLogger(__name__)

_WEIGHT: Final = 0.2
_FREE, _COSTLY = "free", "costly"


class Speculation:
    """Drafts for the answers that are being written."""

    def __init__(
        self,
        proposer: Proposer | None,
        controller: Controller,
        n_vocab: int,
        *,
        costly: Proposer | None = None,
        acceptance: Acceptance | None = None,
    ) -> None:
        """Put them together.

        Args:
            proposer: guesses at no cost.
            controller: how much is computed.
            n_vocab: of the model that verifies; a draft model may know ids beyond it.
            costly: is asked where the free one has no guess.
            acceptance: that the controller reads; it is kept here.
        """
        self._n_vocab = n_vocab
        self._proposers = {_FREE: proposer, _COSTLY: costly}
        self._controller = controller
        self._acceptance = acceptance or Acceptance()
        self._token_s = 0.0
        """Seconds that the costly proposer takes for a token, measured."""

    def drafts(
        self, sequences: Sequence[tuple[Hashable, Sequence[int], int]], num_rows: int
    ) -> list[list[int]]:
        """Drafts for sequences given as (key, tokens, room for a draft); most of them are often empty.

        Args:
            sequences: that answer.
            num_rows: of their step without drafts.
        """
        for key, tokens, _ in sequences:
            self._acceptance.judge(key, tokens)
        asks = [Ask(key, tokens, min(room, MOST_DRAFTED)) for key, tokens, room in sequences]
        drafts = self._free(asks)
        guesses = [
            Guess(ask.key, len(draft), _FREE) for ask, draft in zip(asks, drafts, strict=True)
        ]
        lengths = self._controller.lengths(guesses, num_rows)
        taken = [draft[:length] for draft, length in zip(drafts, lengths, strict=True)]
        left = [place for place, draft in enumerate(drafts) if not draft]
        if self._proposers[_COSTLY] is not None and left:
            for place, draft in zip(
                left, self._costly([asks[i] for i in left], num_rows), strict=True
            ):
                taken[place] = draft
        return taken

    def _free(self, asks: Sequence[Ask]) -> list[list[int]]:
        return self._propose(asks, _FREE)

    def _costly(self, asks: Sequence[Ask], num_rows: int) -> list[list[int]]:
        guesses = [Guess(ask.key, ask.most, _COSTLY) for ask in asks]
        lengths = self._controller.lengths(guesses, num_rows, token_s=self._token_s)
        wanted = [dataclasses.replace(ask, most=n) for ask, n in zip(asks, lengths, strict=True)]
        started = time.perf_counter()
        drafts = self._propose(wanted, _COSTLY)
        if num_tokens := sum(map(len, drafts)):
            new = (time.perf_counter() - started) / num_tokens
            self._token_s += (_WEIGHT if self._token_s else 1.0) * (new - self._token_s)
        return drafts

    def _propose(self, asks: Sequence[Ask], source: str) -> list[list[int]]:
        drafts: list[list[int]] = [[] for _ in asks]
        proposer = self._proposers[source]
        places = [place for place, ask in enumerate(asks) if ask.most > 0]
        if proposer is None or not places:
            return drafts
        try:
            proposed = proposer.propose([asks[place] for place in places])
        except EngineError as error:
            logger.warning("speculation is off from here, source=%s error=%s", source, error)
            self._proposers[source] = None
            return drafts
        for place, draft in zip(places, proposed, strict=True):
            ask = asks[place]
            drafts[place] = list(itertools.takewhile(self._exists, draft[: ask.most]))
            if drafts[place]:
                self._acceptance.guessed(ask.key, len(ask.tokens), drafts[place], source)
        return drafts

    def _exists(self, token: int) -> bool:
        return 0 <= token < self._n_vocab

    def saw_step(self, num_rows: int, seconds: float) -> None:
        """A step that only continued answers took so long."""
        self._controller.saw_step(num_rows, seconds)

    def forget(self, key: Hashable) -> None:
        """The sequence is gone."""
        self._acceptance.forget(key)
        for proposer in self._proposers.values():
            if proposer is not None:
                proposer.forget(key)
