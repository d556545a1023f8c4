"""An answer that is being written, as the chat store keeps it. Neighbour: `chat`."""

import time
from dataclasses import dataclass, field

from app.history import StoredMessage
from engine.api.events import Counted, Finished


@dataclass(slots=True)
class Writing:
    """An answer that is being written."""

    message: StoredMessage
    content: str = ""
    reasoning: str = ""
    saved: bool = True
    stopped: bool = False
    status: str = ""
    sent_at: float = field(default_factory=time.monotonic)
    first_at: float | None = None
    told_at: float = 0.0
    """When the speed was last shown."""
    figures: dict[str, float | int] = field(default_factory=dict)


def take_figures(writing: Writing, event: Finished | Counted) -> None:
    """Keep what the service measured."""
    figures = writing.figures
    if isinstance(event, Counted):
        figures["tokens"] = event.usage.completion_tokens
        figures["prompt_tokens"] = event.usage.prompt_tokens
    elif event.pace is not None:
        figures["tokens_per_s"] = round(event.pace.predicted_per_second, 1)
        figures["seconds"] = round(event.pace.predicted_ms / 1000, 2)
        figures["reused"] = event.pace.cache_n
        figures["restored"] = event.pace.restored_n
        figures["restore_ms"] = round(event.pace.restore_ms)
        figures["drafted"] = event.pace.draft_n
        figures["accepted"] = event.pace.draft_n_accepted
