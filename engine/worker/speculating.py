"""Which drafts a worker makes: the settings against what the loaded model's backend promises."""

import dataclasses
import logging
import os
from typing import Final

from engine.backends.registry import OpenedModel, OpenRequest, open_model
from engine.errors import EngineError, InvalidRequest
from engine.ipc.messages import Load
from engine.speculative.controller import MeasuringController
from engine.speculative.draft_model import DraftModelProposer, vocabulary_problem
from engine.speculative.ngram import NgramProposer
from engine.speculative.proposer import InTurn, Proposer
from engine.speculative.speculation import Speculation

logger = logging.getLogger(__name__)

CHOICES: Final = ("", "off", "ngram")


def make_speculation(load: Load, opened: OpenedModel, request: OpenRequest) -> Speculation | None:
    """Drafts as set; the setting "" drafts where that cannot change the text.

    Args:
        load: the settings.
        opened: the model that verifies.
        request: how it was opened; a draft model is opened alike.

    Raises:
        InvalidRequest: no such setting.
    """
    if load.speculation not in CHOICES:
        raise InvalidRequest(
            f"There is no way of speculation called “{load.speculation}”.",
            hint="Choose off or ngram, or leave the choice open.",
            param="speculation",
        )
    caps = opened.backend.caps
    if load.speculation == "off" or (load.speculation == "" and not caps.is_exact):
        return None
    proposer: Proposer = NgramProposer()
    if load.draft_path and (drafting := _draft_model(load, opened, request)):
        proposer = InTurn(proposer, drafting)
    return Speculation(proposer, MeasuringController(), caps.n_vocab)


def _draft_model(
    load: Load, opened: OpenedModel, request: OpenRequest
) -> DraftModelProposer | None:
    """The draft model; None, with the reason in the log, where it cannot be had: it may never cost an answer."""
    smaller = dataclasses.replace(request, path=load.draft_path, exact=False)
    try:
        draft = open_model(load.backend, smaller, _ignore)
    except EngineError as error:
        logger.warning("no draft model: %s", error)
        return None
    if problem := vocabulary_problem(opened.tokenizer, draft.tokenizer):
        names = os.fsdecode(load.draft_path), os.fsdecode(load.path)
        logger.warning("no draft model: %s cannot guess for %s: %s", *names, problem)
        draft.backend.close()
        return None
    return DraftModelProposer(draft.backend)


def _ignore(fraction: float) -> None:
    """Progress of the draft model, which nobody waits for."""
