"""Counting one request's tokens and times, the same way for streams and whole replies. Pure."""

from engine.api.replies import Pace, PromptDetails, Usage
from engine.ipc.messages import Delta
from engine.types import Timings


class Tally:
    """What has been computed for one request so far."""

    def __init__(self) -> None:
        self.prompt_tokens = 0
        self._streamed: dict[int, int] = {}
        self._timings: dict[int, Timings] = {}

    def add(self, delta: Delta) -> None:
        """Count a delta; with the finish, the worker's own measure replaces the count."""
        self._streamed[delta.choice] = self._streamed.get(delta.choice, 0) + len(delta.tokens)
        if delta.timings is not None:
            self._timings[delta.choice] = delta.timings
            self._streamed[delta.choice] = delta.timings.completion_tokens

    def tokens_of(self, choice: int) -> int:
        """Of one choice so far."""
        return self._streamed.get(choice, 0)

    def usage(self) -> Usage:
        """Tokens of all choices. The prompt counts once, however many choices share it."""
        completion = sum(self._streamed.values())
        cached = min((t.reused_tokens for t in self._timings.values()), default=0)
        return Usage(
            prompt_tokens=self.prompt_tokens,
            completion_tokens=completion,
            total_tokens=self.prompt_tokens + completion,
            prompt_tokens_details=PromptDetails(cached_tokens=cached),
        )

    def timings(self) -> Timings | None:
        """Times of the request: choices run side by side, so the longest counts, and tokens add up."""
        if not self._timings:
            return None
        parts = self._timings.values()
        return Timings(
            queue_s=max(t.queue_s for t in parts),
            prefill_s=max(t.prefill_s for t in parts),
            decode_s=max(t.decode_s for t in parts),
            prompt_tokens=max(t.prompt_tokens for t in parts),
            reused_tokens=min(t.reused_tokens for t in parts),
            completion_tokens=sum(t.completion_tokens for t in parts),
            drafted_tokens=sum(t.drafted_tokens for t in parts),
            accepted_tokens=sum(t.accepted_tokens for t in parts),
            restored_tokens=min(t.restored_tokens for t in parts),
            restore_s=max(t.restore_s for t in parts),
            paced_by=next((t.paced_by for t in parts if t.paced_by), ""),
        )

    def pace(self) -> Pace | None:
        """The same as the wire has it."""
        timings = self.timings()
        return Pace.of(timings) if timings else None
