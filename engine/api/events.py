"""What a streamed answer tells its reader, in order of appearance. Frozen values, safe across threads.

Zone: desktop. Made by `engine.client.stream` out of the chunks of `engine.api.replies`.
"""

from dataclasses import dataclass

from engine.api.replies import Pace, Usage


@dataclass(frozen=True, slots=True)
class Loading:
    """The model is being loaded for this request; 0 … 1."""

    fraction: float


@dataclass(frozen=True, slots=True)
class Started:
    """The prompt was accepted. Comes once."""

    request_id: str
    model: str
    """The model that really answers."""
    seed: int | None
    """Repeats the answer when sent again."""
    notice: str = ""
    """What the user should know about how the prompt came about."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Tokens of the prompt (with `again`: and of the answer so far) read."""

    done: int
    total: int
    again: bool


@dataclass(frozen=True, slots=True)
class TextDelta:
    """New text of one choice; either may be empty."""

    choice: int
    content: str
    reasoning: str
    tokens: int = 0
    """Of this choice so far; 0 where the service does not tell."""


@dataclass(frozen=True, slots=True)
class Finished:
    """One choice is complete."""

    choice: int
    reason: str
    """"stop" or "length"; other servers know more."""
    pace: Pace | None


@dataclass(frozen=True, slots=True)
class Counted:
    """Tokens of the whole request. Comes last."""

    usage: Usage


ChatEvent = Loading | Started | Reading | TextDelta | Finished | Counted
