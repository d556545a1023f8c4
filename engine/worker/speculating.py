"""Which drafts a worker makes: the setting against what the loaded model's backend promises."""

from typing import Final

from engine.backends.base import Capabilities
from engine.errors import InvalidRequest
from engine.speculative.controller import MeasuringController
from engine.speculative.ngram import NgramProposer
from engine.speculative.speculation import Speculation

CHOICES: Final = ("", "off", "ngram")


def make_speculation(setting: str, caps: Capabilities) -> Speculation | None:
    """Drafts as set; "" drafts where they cannot change the text.

    Raises:
        InvalidRequest: no such setting.
    """
    if setting not in CHOICES:
        raise InvalidRequest(
            f"There is no way of speculation called “{setting}”.",
            hint="Choose off or ngram, or leave the choice open.",
            param="speculation",
        )
    if setting == "off" or (setting == "" and not caps.is_exact):
        return None
    return Speculation(NgramProposer(), MeasuringController(), caps.n_vocab)
