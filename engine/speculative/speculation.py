"""A proposer under a controller: what the scheduler asks for drafts.

Zone: worker process, owner thread. A proposer that fails is left out from then on: guessing may never cost an answer.
"""

import itertools
import logging
from collections.abc import Hashable, Sequence

from engine.backends.base import MOST_DRAFTED
from engine.errors import EngineError
from engine.speculative.controller import Controller
from engine.speculative.proposer import Ask, Proposer

logger = logging.getLogger(__name__)


class Speculation:
    """Drafts for the answers that are being written."""

    def __init__(self, proposer: Proposer, controller: Controller, n_vocab: int) -> None:
        """Put them together.

        Args:
            proposer: guesses.
            controller: how much is guessed.
            n_vocab: of the model that verifies; a draft model may know ids beyond it.
        """
        self._n_vocab = n_vocab
        self._proposer: Proposer | None = proposer
        self._controller = controller

    def drafts(self, sequences: Sequence[tuple[Hashable, Sequence[int], int]]) -> list[list[int]]:
        """Drafts for sequences given as (key, tokens, room for a draft); most of them are often empty."""
        drafts: list[list[int]] = [[] for _ in sequences]
        asks, places = [], []
        for place, (key, tokens, room) in enumerate(sequences):
            most = min(self._controller.length(key), room, MOST_DRAFTED)
            if most > 0:
                asks.append(Ask(key, tokens, most))
                places.append(place)
        if self._proposer is None or not asks:
            return drafts
        try:
            proposed = self._proposer.propose(asks)
        except EngineError as error:
            logger.warning("speculation is off from here, error=%s", error)
            self._proposer = None
            return drafts
        for place, ask, draft in zip(places, asks, proposed, strict=True):
            drafts[place] = list(itertools.takewhile(self._exists, draft[: ask.most]))
        return drafts

    def _exists(self, token: int) -> bool:
        return 0 <= token < self._n_vocab

    def saw_draft(self, key: Hashable, drafted: int, accepted: int) -> None:
        """A draft was verified."""
        self._controller.saw_draft(key, drafted, accepted)

    def saw_step(
        self, seconds: float, num_tokens: int, num_sequences: int, *, drafted: bool
    ) -> None:
        """A step that only continued answers took so long."""
        self._controller.saw_step(seconds, num_tokens, num_sequences, drafted=drafted)

    def forget(self, key: Hashable) -> None:
        """The sequence is gone."""
        self._controller.forget(key)
        if self._proposer is not None:
            self._proposer.forget(key)
