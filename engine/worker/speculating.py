"""Which drafts a worker makes: the settings against what the loaded model's backend promises."""

import dataclasses
import os
from pathlib import Path
from typing import Final

from engine.backends.registry import OpenedModel, OpenRequest, open_model
from engine.errors import EngineError, InvalidRequest
from engine.formats.filenames import printable
from engine.ipc.messages import Load
from engine.speculative.acceptance import Acceptance
from engine.speculative.controller import MeasuringController
from engine.speculative.draft_model import DraftModelProposer, vocabulary_problem
from engine.speculative.ngram import NgramProposer
from engine.speculative.row_costs import RowCosts
from engine.speculative.speculation import Speculation

CHOICES: Final = ("", "off", "ngram")


def make_speculation(
    load: Load, opened: OpenedModel, request: OpenRequest, costs: RowCosts, notes: list[str]
) -> Speculation | None:
    """Drafts as set; the default guesses from the text itself, as far as that pays.

    Args:
        load: the settings.
        opened: the model that verifies.
        request: how it was opened; a draft model is opened alike.
        costs: what steps cost here.
        notes: where it is added why a draft model is left out, for the user.

    Raises:
        InvalidRequest: no such setting.
    """
    if load.speculation not in CHOICES:
        raise InvalidRequest(
            f"There is no way of speculation called “{load.speculation}”.",
            hint="Choose off or ngram, or leave the choice open.",
            param="speculation",
        )
    if load.speculation == "off":
        return None
    acceptance = Acceptance()
    costly = _draft_model(load, opened, request, notes) if load.draft_path else None
    return Speculation(
        NgramProposer(),
        MeasuringController(costs, acceptance),
        opened.backend.caps.n_vocab,
        costly=costly,
        acceptance=acceptance,
    )


def _draft_model(
    load: Load, opened: OpenedModel, request: OpenRequest, notes: list[str]
) -> DraftModelProposer | None:
    """The draft model, or None and a note: it may never cost an answer."""
    name = printable(Path(os.fsdecode(load.draft_path)).stem)
    smaller = dataclasses.replace(
        request, path=load.draft_path, exact=False, kv_type="f16", flash_attention=None, pads_from=0
    )
    try:
        draft = open_model(load.backend, smaller, _ignore)
    except EngineError as error:
        notes.append(f"{name} cannot guess ahead: {error.message}")
        return None
    if problem := vocabulary_problem(opened.tokenizer, draft.tokenizer):
        target = printable(Path(os.fsdecode(load.path)).stem)
        notes.append(f"{name} cannot guess ahead for {target}: {problem}")
        draft.backend.close()
        return None
    return DraftModelProposer(draft.backend)


def _ignore(fraction: float) -> None:
    """Progress of the draft model, which nobody waits for."""
