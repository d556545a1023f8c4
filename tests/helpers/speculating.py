"""Proposers that are right, wrong or lucky on purpose, and an engine that runs with them to the end."""

import random
from collections.abc import Hashable
from collections.abc import Sequence as Items

from engine.backends.base import Backend
from engine.sampling.sampler import Sampler
from engine.scheduler.pacing import Pacing
from engine.scheduler.scheduler import Scheduler
from engine.scheduler.sequence import Sequence
from engine.scheduler.step import PrefillProgress, SampledTokens, SequenceFull, Stepper
from engine.speculative.controller import Controller, FixedLength
from engine.speculative.proposer import Ask, Proposer
from engine.speculative.speculation import Speculation
from engine.types import SamplingParams


class Oracle:
    """Knows the answer (found out without speculation) and tells it, or tells something else."""

    def __init__(self, answers: dict[str, list[int]], *, wrong_every: int = 0) -> None:
        self.answers = answers
        self.wrong_every = wrong_every
        self.forgotten: list[Hashable] = []

    def propose(self, asks: Items[Ask]) -> list[list[int]]:
        return [self._draft(ask) for ask in asks]

    def _draft(self, ask: Ask) -> list[int]:
        sequence = ask.key
        assert isinstance(sequence, Sequence)
        right = self.answers[sequence.request][sequence.num_answer :][: ask.most]
        if not self.wrong_every:
            return right
        return [
            token ^ 1 if (sequence.num_answer + i + 1) % self.wrong_every == 0 else token
            for i, token in enumerate(right)
        ]

    def forget(self, key: Hashable) -> None:
        self.forgotten.append(key)


class Random:
    """Guesses blindly, sometimes nothing, seldom right."""

    def __init__(self, n_vocab: int, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self._n_vocab = n_vocab

    def propose(self, asks: Items[Ask]) -> list[list[int]]:
        choose = self._random.randrange
        return [[choose(self._n_vocab) for _ in range(choose(ask.most + 1))] for ask in asks]

    def forget(self, key: Hashable) -> None:
        pass


def sequence(
    request: str, prompt: Items[int], params: SamplingParams, *, choice: int = 0
) -> Sequence:
    return Sequence(request, choice, list(prompt), len(prompt), Sampler(params, choice, prompt))


class Runner:
    """A backend with scheduler and stepper."""

    def __init__(
        self,
        backend: Backend,
        proposer: Proposer | None = None,
        controller: Controller | None = None,
        *,
        chunk: int = 16,
    ) -> None:
        speculation = None
        if proposer is not None:
            speculation = Speculation(proposer, controller or FixedLength(4), backend.caps.n_vocab)
        pacing = Pacing(backend.caps.n_batch_max, fixed_rows=chunk)
        self.scheduler = Scheduler(backend, pacing=pacing, speculation=speculation)
        self.stepper = Stepper(self.scheduler, backend, speculation=speculation)
        self.num_steps = 0

    def run(self, *sequences: Sequence, num_tokens: int = 24) -> dict[str, list[int]]:
        """Answers by request, each cut to `num_tokens`."""
        answers: dict[str, list[int]] = {}
        for s in sequences:
            self.scheduler.add(s)
        for _ in range(5000):
            if self.scheduler.idle:
                break
            self.num_steps += 1
            for event in self.stepper.step():
                s = event.sequence
                if isinstance(event, SampledTokens):
                    answers[s.request] = s.tokens[s.num_prompt :][:num_tokens]
                    if (extra := s.num_answer - num_tokens) >= 0:
                        self.scheduler.cut(s, extra)
                        self.scheduler.finish(s)
                elif isinstance(event, SequenceFull):
                    self.scheduler.finish(s)
                else:
                    assert isinstance(event, PrefillProgress)
        assert self.scheduler.idle
        self.scheduler.slots.check()
        return answers
