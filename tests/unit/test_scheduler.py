"""Scheduler, slots and step on the fake backend, whose logits depend on every token before a row."""

from collections.abc import Sequence as Items

import pytest

from engine.backends.fake import FakeBackend, FakeOptions
from engine.errors import EngineError
from engine.sampling.sampler import Sampler
from engine.scheduler.kv_store import KvStore
from engine.scheduler.pacing import Pacing
from engine.scheduler.scheduler import Scheduler
from engine.scheduler.sequence import HINT, Sequence
from engine.scheduler.slots import common_prefix
from engine.scheduler.step import PrefillProgress, PromptRead, SampledTokens, SequenceFull, Stepper
from engine.types import SamplingParams

PROMPT = list(b"the quick brown fox jumps over the lazy dog")


def sequence(
    request: str,
    prompt: Items[int] = PROMPT,
    *,
    choice: int = 0,
    answer: Items[int] = (),
    **fields,
) -> Sequence:
    sampler = Sampler(SamplingParams(seed=7), choice, list(prompt))
    for token in answer:
        sampler.accept(token)
    return Sequence(request, choice, [*prompt, *answer], len(prompt), sampler, **fields)


class Engine:
    """A backend with its scheduler, run until every sequence has its tokens."""

    def __init__(
        self,
        *,
        context: int = 2000,
        num_sequences: int = 4,
        options: FakeOptions | None = None,
        prefill_chunk: int = 16,
        store: KvStore | None = None,
    ) -> None:
        self.backend = FakeBackend(context, num_sequences, options or FakeOptions())
        pacing = Pacing(self.backend.caps.n_batch_max, fixed_rows=prefill_chunk)
        self.scheduler = Scheduler(self.backend, pacing=pacing, store=store)
        self.stepper = Stepper(self.scheduler, self.backend)
        self.answers: dict[tuple[str, int], list[int]] = {}
        self.full: list[Sequence] = []

    def run(self, *sequences: Sequence, num_tokens: int = 12, max_steps: int = 2000) -> None:
        for s in sequences:
            self.scheduler.add(s)
        for _ in range(max_steps):
            if self.scheduler.idle:
                break
            self.step(num_tokens)
        assert self.scheduler.idle
        self.scheduler.slots.check()

    def step(self, num_tokens: int = 12) -> None:
        for event in self.stepper.step():
            if isinstance(event, SampledTokens):
                s = event.sequence
                self.answers[s.request, s.choice] = s.tokens[s.num_prompt :]
                if s.num_answer >= num_tokens:
                    self.scheduler.finish(s)
            elif isinstance(event, SequenceFull):
                self.full.append(event.sequence)
                self.scheduler.finish(event.sequence)
            elif isinstance(event, PromptRead):
                self.scheduler.finish(event.sequence)
            else:
                assert isinstance(event, PrefillProgress)


def alone(s: Sequence, num_tokens: int = 12) -> list[int]:
    """The truth: one sequence on an empty backend, prompt in one piece."""
    engine = Engine(num_sequences=1)
    engine.run(s, num_tokens=num_tokens)
    return engine.answers[s.request, s.choice]


def test_many_sequences_get_what_each_would_get_alone() -> None:
    prompts = [PROMPT[i : i + 5 + 7 * i] for i in range(6)]
    engine = Engine(num_sequences=3)
    engine.run(*(sequence(str(i), p) for i, p in enumerate(prompts)))
    for i, prompt in enumerate(prompts):
        assert engine.answers[str(i), 0] == alone(sequence(str(i), prompt))


@pytest.mark.parametrize("memory", ["full", "window", "recurrent"])
def test_the_next_turn_reuses_the_conversation(memory) -> None:
    engine = Engine(options=FakeOptions(memory=memory, window=8))
    first = sequence("turn 1")
    engine.run(first)
    follow_up = [*PROMPT, *engine.answers["turn 1", 0], *b" and then?"]
    second = sequence("turn 2", follow_up)
    before = engine.backend.num_rows
    engine.run(second)
    assert engine.answers["turn 2", 0] == alone(sequence("turn 2", follow_up))
    # all but the answer's last token, which was sampled and never computed
    assert second.num_reused == len(PROMPT) + 11
    assert engine.backend.num_rows - before == len(follow_up) - second.num_reused + 11


@pytest.mark.parametrize("memory", ["full", "window", "recurrent"])
def test_an_edited_turn_keeps_only_what_the_memory_really_keeps(memory) -> None:
    engine = Engine(options=FakeOptions(memory=memory, window=8))
    engine.run(sequence("original"))
    edited = [*PROMPT[:20], *b" cat sleeps"]
    engine.run(sequence("edited", edited))
    assert engine.answers["edited", 0] == alone(sequence("edited", edited))


def test_the_same_prompt_again_keeps_the_earlier_answer_in_the_cache() -> None:
    engine = Engine()
    engine.run(sequence("first"))
    again = sequence("again")
    engine.run(again)
    assert again.num_reused == len(PROMPT) - 1
    continued = sequence("first, continued", [*PROMPT, *engine.answers["first", 0], *b"!"])
    engine.run(continued)
    assert continued.num_reused == len(PROMPT) + 11


def test_choices_share_one_prefill_and_differ_only_by_their_number() -> None:
    engine = Engine()
    first, *others = [sequence("n", choice=i) for i in range(3)]
    engine.run(first, *others)
    assert [s.num_reused for s in others] == [len(PROMPT) - 1] * 2
    answers = [engine.answers["n", i] for i in range(3)]
    assert answers == [alone(sequence("n", choice=i)) for i in range(3)]
    assert len(set(map(tuple, answers))) == 3


def test_a_running_answer_is_never_without_a_row_while_a_long_prompt_is_read() -> None:
    engine = Engine(prefill_chunk=8)
    engine.scheduler.add(sequence("running"))
    while not engine.answers:
        engine.step(100)
    engine.scheduler.add(sequence("long", PROMPT * 10))
    while ("long", 0) not in engine.answers:
        before = len(engine.answers["running", 0])
        rows = engine.backend.num_rows
        engine.step(1000)
        engine.step(1000)
        assert len(engine.answers["running", 0]) == before + 1
        assert engine.backend.num_rows - rows <= 1 + 8


def test_a_short_prompt_overtakes_a_long_one_and_a_long_wait_overtakes_it() -> None:
    def first_of(*sequences: Sequence, now: float) -> str:
        engine = Engine(prefill_chunk=8)
        for s in sequences:
            engine.scheduler.add(s)
        return engine.scheduler.schedule(now)[0].sequence.request

    long = sequence("long", PROMPT * 10, created_at=0.0)
    assert first_of(long, sequence("short", created_at=0.5), now=0.5) == "short"
    long = sequence("long", PROMPT * 10, created_at=0.0)
    assert first_of(long, sequence("short", created_at=9.0), now=9.0) == "long"
    urgent, batch = sequence("urgent", PROMPT * 2), sequence("batch", priority=1)
    now = batch.created_at + 1
    assert first_of(batch, urgent, now=now) == "urgent"
    urgent, batch = sequence("urgent", created_at=31.0), sequence("batch", priority=1, created_at=0)
    assert first_of(batch, urgent, now=31.5) == "batch"


def test_prompts_with_one_long_prefix_read_it_once() -> None:
    engine = Engine(num_sequences=4)
    requests = [sequence(str(i), [*PROMPT * 4, *bytes(f" number {i}", "ascii")]) for i in range(4)]
    engine.run(*requests, num_tokens=3)
    assert engine.backend.num_rows < len(PROMPT) * 4 + 4 * 20
    for i, s in enumerate(requests):
        assert engine.answers[str(i), 0] == alone(sequence(str(i), s.tokens[: s.num_prompt]), 3)
        assert s.num_reused >= (len(PROMPT) * 4 if i else 0)


def test_a_hint_is_read_without_a_token_and_the_request_finds_it() -> None:
    engine = Engine()
    hint = sequence("hint", PROMPT, reads_only=True, priority=HINT)
    engine.run(hint)
    assert ("hint", 0) not in engine.answers
    assert engine.backend.num_rows == len(PROMPT)
    again = sequence("again", PROMPT, reads_only=True, priority=HINT)
    engine.run(again)  # nothing left to do
    assert engine.backend.num_rows == len(PROMPT)
    request = sequence("request", [*PROMPT, 33])
    engine.run(request)
    assert request.num_reused == len(PROMPT)
    assert engine.answers["request", 0] == alone(sequence("request", [*PROMPT, 33]))


def test_a_hint_gives_way_to_answers_and_gives_them_its_slot() -> None:
    engine = Engine(num_sequences=1, prefill_chunk=8)
    engine.scheduler.add(sequence("hint", PROMPT * 4, reads_only=True, priority=HINT))
    engine.step()
    request = sequence("request", [*b"something else entirely"])
    engine.scheduler.add(request)
    engine.step()
    assert engine.scheduler.running == [request]
    engine.run()
    assert engine.answers["request", 0] == alone(sequence("request", b"something else entirely"))


def test_hints_wait_while_anybody_is_answered() -> None:
    engine = Engine()
    engine.scheduler.add(sequence("running", b"once"))
    engine.step(100)
    hint = sequence("hint", PROMPT, reads_only=True, priority=HINT)
    engine.scheduler.add(hint)
    for _ in range(5):
        engine.step(100)
        assert hint.num_computed == 0
    engine.scheduler.abort("running")
    engine.run()


def test_no_cells_left_evicts_idle_tokens_then_preempts_and_every_answer_is_whole() -> None:
    engine = Engine(context=160, num_sequences=4)
    requests = [sequence(str(i), [*PROMPT, i]) for i in range(4)]
    engine.run(*requests, num_tokens=40)
    for i in range(4):
        assert engine.answers[str(i), 0] == alone(sequence(str(i), [*PROMPT, i]), 40)
    assert not engine.full


def test_one_sequence_that_fills_the_cache_ends_there() -> None:
    engine = Engine(context=60)
    engine.run(sequence("endless"), num_tokens=10_000)
    assert [s.request for s in engine.full] == ["endless"]
    assert engine.answers["endless", 0] == alone(sequence("endless"), 60)[: 60 - len(PROMPT) + 1]


def test_abort_frees_the_slot_and_keeps_the_prefix() -> None:
    engine = Engine(num_sequences=1)
    engine.scheduler.add(sequence("a", PROMPT * 3))
    engine.step()
    assert engine.scheduler.abort("a")
    assert engine.scheduler.idle
    engine.scheduler.slots.check()
    retry = sequence("b", PROMPT * 3)
    engine.run(retry)
    assert retry.num_reused > 0
    assert engine.answers["b", 0] == alone(sequence("b", PROMPT * 3))


def test_an_aborted_decode_is_repeated_without_loss() -> None:
    engine = Engine()
    engine.scheduler.add(sequence("a"))
    for _ in range(30):
        engine.backend.request_abort()
        engine.step()
        engine.step()
    assert engine.answers["a", 0] == alone(sequence("a"))


def test_resumed_tokens_are_read_again_and_the_answer_goes_on_the_same() -> None:
    whole = alone(sequence("x"), 12)
    for done in (1, 5, 11):
        engine = Engine()
        engine.run(sequence("x", answer=whole[:done]))
        assert engine.answers["x", 0] == whole


def test_a_refused_computation_fails_its_sequences_and_nothing_else(monkeypatch) -> None:
    from engine.backends.base import DecodeResult, Status

    engine = Engine()
    monkeypatch.setattr(
        engine.backend, "decode", lambda batch: DecodeResult(Status.FAILED, None, 0.0)
    )
    engine.scheduler.add(sequence("a"))
    events = [event for _ in range(3) for event in engine.stepper.step()]
    assert len(events) == 1
    assert isinstance(events[0].error, EngineError)


def test_common_prefix() -> None:
    assert common_prefix([], [1]) == 0
    assert common_prefix([1, 2, 3], [1, 2, 3]) == 3
    assert common_prefix([1, 2, 3, 4], [1, 2, 9, 4]) == 2
    assert common_prefix([1, 2], [1, 2, 3]) == 2
    assert common_prefix([9], [1]) == 0
