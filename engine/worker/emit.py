"""From sampled tokens to what the reader gets: bytes, text, stop strings, reasoning, log probabilities.

Zone: worker process. One emitter per answer; a pure function of the tokens pushed so far, so that
replaying an answer's tokens after a crash brings it into the same state.
"""

from collections import deque
from dataclasses import dataclass

from engine.sampling.sampler import Sampled
from engine.text.detokenizer import Detokenizer
from engine.text.reasoning import ReasoningSplitter
from engine.text.stops import StopMatcher
from engine.text.tokenizer import Tokenizer
from engine.types import FinishReason, TokenLogprob


@dataclass(frozen=True, slots=True)
class Limits:
    """When an answer ends."""

    max_tokens: int
    """Answer tokens, already cut to the room in the context."""
    stop: tuple[str, ...] = ()
    ignore_end: bool = False


@dataclass(slots=True)
class Emission:
    """What one token released. Reader's text only grows: content and reasoning are never taken back."""

    content: str = ""
    reasoning: str = ""
    logprobs: tuple[TokenLogprob, ...] = ()
    finish: FinishReason | None = None


class Emitter:
    """The text pipeline of one answer."""

    def __init__(self, tokenizer: Tokenizer, limits: Limits, *, reasoning_prefilled: bool) -> None:
        self._tokenizer = tokenizer
        self._limits = limits
        self._detokenizer = Detokenizer()
        self._stops = StopMatcher(limits.stop)
        self._reasoning = ReasoningSplitter(prefilled=reasoning_prefilled)
        self._num_tokens = 0
        self._num_decoded = 0
        """Characters that left the detokenizer."""
        self._num_released = 0
        """Characters that left the stop matcher."""
        self._held_logprobs: deque[tuple[int, TokenLogprob]] = deque()

    def push(self, sampled: Sampled) -> Emission:
        """Take the next token of the answer."""
        self._num_tokens += 1
        ended = sampled.token in self._tokenizer.end_ids and not self._limits.ignore_end
        text = self._detokenizer.push(b"" if ended else self._tokenizer.pieces[sampled.token])
        self._num_decoded += len(text)
        if sampled.logprob is not None and not ended:
            self._held_logprobs.append((self._num_decoded, self._logprob(sampled)))
        emission = Emission()
        released = self._stops.push(text)
        if self._stops.matched is not None:
            emission.finish = "stop"
        elif ended or self._num_tokens >= self._limits.max_tokens:
            emission.finish = "stop" if ended else "length"
            released += self._last_text()
            if self._stops.matched is not None:
                emission.finish = "stop"
        return self._release(emission, released)

    def end(self) -> Emission:
        """The answer ends without another token, for lack of room."""
        return self._release(Emission(finish="length"), self._last_text())

    def _last_text(self) -> str:
        rest = self._detokenizer.flush()
        self._num_decoded += len(rest)
        return self._stops.push(rest) + self._stops.flush()

    def _release(self, emission: Emission, text: str) -> Emission:
        self._num_released += len(text)
        emission.reasoning, emission.content = self._reasoning.push(text)
        if emission.finish is not None:
            reasoning, content = self._reasoning.flush()
            emission.reasoning += reasoning
            emission.content += content
        if self._held_logprobs:
            emission.logprobs = tuple(self._released_logprobs())
        return emission

    def _released_logprobs(self) -> list[TokenLogprob]:
        released: list[TokenLogprob] = []
        while self._held_logprobs and self._held_logprobs[0][0] <= self._num_released:
            released.append(self._held_logprobs.popleft()[1])
        return released

    def _logprob(self, sampled: Sampled) -> TokenLogprob:
        assert sampled.logprob is not None
        return TokenLogprob(
            self._bytes_of(sampled.token),
            sampled.logprob,
            tuple((self._bytes_of(token), value) for token, value in sampled.top),
        )

    def _bytes_of(self, token: int) -> bytes:
        return self._tokenizer.pieces[token] or self._tokenizer.token_text(token).encode()
