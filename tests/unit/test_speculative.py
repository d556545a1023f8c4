"""Speculation changes the number of steps and nothing else: fake backend, every kind of proposer and sampling."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.backends.base import MOST_DRAFTED
from engine.backends.fake import FakeBackend, FakeOptions, FakeTokenizer
from engine.errors import EngineError
from engine.speculative.acceptance import Acceptance
from engine.speculative.controller import FixedLength, Guess, MeasuringController
from engine.speculative.draft_model import DraftModelProposer, vocabulary_problem
from engine.speculative.ngram import LENGTHS, NgramProposer
from engine.speculative.proposer import Ask
from engine.speculative.row_costs import RowCosts
from engine.types import SamplingParams
from tests.helpers.speculating import Oracle, Random, Runner, sequence

PROMPT = list(b"the quick brown fox jumps over the lazy dog, the quick brown fox")
PARAMS = {
    "greedy": SamplingParams(temperature=0, seed=1),
    "seeded": SamplingParams(temperature=0.9, seed=5),
    "penalties": SamplingParams(
        temperature=0.7, seed=9, repetition_penalty=1.3, presence_penalty=0.5, frequency_penalty=0.4
    ),
    "everything": SamplingParams(temperature=1.2, seed=2, top_k=0, top_p=1.0, min_p=0.0),
    "logprobs": SamplingParams(temperature=0.8, seed=3, num_logprobs=2),
}


def fake(context: int = 2000, num_sequences: int = 3, **options) -> FakeBackend:
    return FakeBackend(context, num_sequences, FakeOptions(**options))


def three(params: SamplingParams):
    return [sequence(name, PROMPT[i:], params) for i, name in enumerate("abc")]


def proposers(answers):
    return {
        "right": Oracle(answers),
        "wrong": Oracle(answers, wrong_every=1),
        "third wrong": Oracle(answers, wrong_every=3),
        "random": Random(200),
        "ngram": NgramProposer(),
        "model": DraftModelProposer(fake(context=400)),  # the same model: always right, greedily
        "forgetful model": DraftModelProposer(fake(context=150)),  # too small for all three
    }


@pytest.mark.parametrize("params", PARAMS.values(), ids=PARAMS)
@pytest.mark.parametrize("length", range(1, MOST_DRAFTED + 1))
@pytest.mark.parametrize(
    "kind", ["right", "wrong", "third wrong", "random", "ngram", "model", "forgetful model"]
)
def test_the_text_is_the_same(kind: str, length: int, params: SamplingParams) -> None:
    plain = Runner(fake())
    answers = plain.run(*three(params))
    speculating = Runner(fake(), proposers(answers)[kind], FixedLength(length))
    assert speculating.run(*three(params)) == answers
    if kind == "right":
        assert speculating.num_steps < plain.num_steps


@pytest.mark.parametrize("memory", ["window", "recurrent"])
def test_memory_that_cannot_be_cut_is_read_again(memory) -> None:
    params = PARAMS["seeded"]
    answers = Runner(fake(memory=memory)).run(*three(params))
    for kind, proposer in proposers(answers).items():
        assert Runner(fake(memory=memory), proposer).run(*three(params)) == answers, kind


def test_drafts_give_way_before_an_answer_does() -> None:
    """The cells hold the answer, but not the answer and a draft."""
    params = PARAMS["greedy"]
    context = len(PROMPT) + 24
    answers = Runner(fake(context)).run(sequence("a", PROMPT, params))
    runner = Runner(fake(context), Oracle(answers), FixedLength(MOST_DRAFTED))
    assert runner.run(sequence("a", PROMPT, params)) == answers


def test_counts_and_forgetting() -> None:
    params = PARAMS["greedy"]
    answers = Runner(fake()).run(sequence("a", PROMPT, params))
    oracle = Oracle(answers, wrong_every=4)
    s = sequence("a", PROMPT, params)
    Runner(fake(), oracle, FixedLength(6)).run(s)
    assert 0 < s.num_accepted < s.num_drafted
    assert oracle.forgotten == [s]


def test_a_proposer_that_fails_is_left_out() -> None:
    class Broken(Random):
        def propose(self, asks):
            raise EngineError("no")

    params = PARAMS["seeded"]
    answers = Runner(fake()).run(*three(params))
    assert Runner(fake(), Broken(200)).run(*three(params)) == answers


def test_what_cannot_be_sampled_later_does_not_cost_what_came_before() -> None:
    """An error behind a drafted token appears when that token has been told."""
    params = SamplingParams(temperature=0, seed=1)
    answers = Runner(fake()).run(sequence("a", PROMPT, params))

    class Trap(FakeBackend):
        def _logits(self, tokens):
            logits = super()._logits(tokens)
            if len(tokens) >= len(PROMPT) + 5:
                logits[:] = float("nan")
            return logits

    def told(proposer) -> list[int]:
        runner = Runner(Trap(2000, 1, FakeOptions()), proposer, FixedLength(8))
        s = sequence("a", PROMPT, params)
        runner.scheduler.add(s)
        for _ in range(40):
            for event in runner.stepper.step():
                if hasattr(event, "error"):
                    return s.tokens[s.num_prompt :]
        raise AssertionError("no error came")

    assert told(Oracle(answers)) == told(None) == answers["a"][:5]


# --- n-grams --------------------------------------------------------------------------------------------


def by_hand(tokens: list[int], most: int) -> list[int]:
    for n in LENGTHS:
        for end in range(len(tokens) - 1, n - 1, -1):
            if len(tokens) > n and tokens[end - n : end] == tokens[-n:]:
                return tokens[end : end + most]
    return []


@given(st.lists(st.integers(0, 2), max_size=60), st.integers(1, 15), st.integers(1, 7))
def test_ngrams_find_the_latest_repetition(tokens: list[int], most: int, stride: int) -> None:
    proposer = NgramProposer()
    for end in [*range(0, len(tokens), stride), len(tokens)]:
        (draft,) = proposer.propose([Ask("key", tokens[:end], most)])
        assert draft == by_hand(tokens[:end], most)
    proposer.forget("key")
    assert proposer.propose([Ask("key", tokens, most)]) == [by_hand(tokens, most)]


# --- the controller ---------------------------------------------------------------------------------------


class Machine:
    """Steps that cost what a curve says, and text that repeats itself with some chance a token."""

    def __init__(self, acceptance: float, row_cost: float, seed: int = 3) -> None:
        self.chance = random.Random(seed)
        self.p, self.row_cost = acceptance, row_cost
        self.acceptance = Acceptance()
        self.controller = MeasuringController(RowCosts(), self.acceptance)
        self.seconds, self.tokens, self.drafted = 0.0, [0] * 10, 0

    def run(self, tokens: int) -> "Machine":
        end = len(self.tokens) + tokens
        while len(self.tokens) < end:
            self.acceptance.judge("s", self.tokens)
            right = 0
            while right < MOST_DRAFTED and self.chance.random() < self.p:
                right += 1
            draft = [0] * MOST_DRAFTED
            self.acceptance.guessed("s", len(self.tokens), draft, "free")
            (length,) = self.controller.lengths([Guess("s", MOST_DRAFTED, "free")], 1)
            took = 1 + self.row_cost * length
            self.controller.saw_step(1 + length, took)
            self.seconds += took
            self.drafted += length
            # a wrong guess is a token of another kind; beyond the computed ones nothing is known yet
            said = [0] * min(right, length)
            self.tokens += [*said, 0 if right > length else 1]
        return self

    def time_per_token(self, tokens: int = 3000) -> float:
        """Against 1 without speculation."""
        before, length = self.seconds, len(self.tokens)
        self.run(tokens)
        return (self.seconds - before) / (len(self.tokens) - length)


@pytest.mark.parametrize("acceptance", [0.0, 0.3, 0.6, 0.9, 0.99])
@pytest.mark.parametrize("row_cost", [0.0, 0.05, 0.3, 1.0])
def test_the_controller_never_loses_much(acceptance: float, row_cost: float) -> None:
    assert Machine(acceptance, row_cost).time_per_token() <= 1.02


@pytest.mark.parametrize(
    ("acceptance", "row_cost", "most"), [(0.9, 0.05, 0.25), (0.9, 0.3, 0.6), (0.6, 0.05, 0.6)]
)
def test_the_controller_wins_where_there_is_something_to_win(
    acceptance: float, row_cost: float, most: float
) -> None:
    assert Machine(acceptance, row_cost).time_per_token() < most


def test_a_text_that_begins_to_repeat_itself_is_noticed_while_speculation_is_off() -> None:
    machine = Machine(0.0, 0.3).run(2000)
    drafted = machine.drafted
    machine.run(500)
    assert machine.drafted == drafted  # off: no row is spent to find out
    machine.p = 0.95
    machine.run(300)
    assert machine.time_per_token(1000) < 0.55


def test_two_answers_share_the_rows_by_their_chances() -> None:
    acceptance = Acceptance()
    for key, right in (("good", 0), ("bad", 1)):
        for n in range(200):
            acceptance.guessed(key, n, [right], "free")
            acceptance.judge(key, [0] * (n + 1))
    controller = MeasuringController(RowCosts({1: 1.0, 32: 4.1}), acceptance)
    good, bad = controller.lengths([Guess("good", 15, "free"), Guess("bad", 15, "free")], 2)
    assert good > 5
    assert bad == 0


def test_making_a_guess_may_cost_more_than_it_brings() -> None:
    controller = MeasuringController(RowCosts({1: 1.0, 16: 1.5}), Acceptance())
    guess = [Guess("s", 15, "costly")]
    assert controller.lengths(guess, 1, token_s=0.01)[0] > 0
    assert controller.lengths(guess, 1, token_s=0.6) == [0]


@given(st.lists(st.tuples(st.integers(1, 32), st.floats(1e-4, 10)), min_size=1, max_size=40))
def test_costs_stay_what_they_are_asked_for(steps: list[tuple[int, float]]) -> None:
    costs = RowCosts()
    for rows, seconds in steps:
        costs.saw(rows, seconds)
    assert all(costs.of(n) > 0 for n in range(1, 40))
    costs = RowCosts()
    for _ in range(60):
        for rows in (1, 4, 16):
            costs.saw(rows, 0.01 * (1 + rows))
    assert [round(costs.of(n), 3) for n in (1, 4, 16)] == [0.02, 0.05, 0.17]
    assert costs.of(4) < costs.of(10) < costs.of(16) < costs.of(31)


# --- the draft model -----------------------------------------------------------------------------------


def test_a_model_that_drafts_for_itself_is_always_right() -> None:
    params = PARAMS["greedy"]
    s = sequence("a", PROMPT, params)
    plain = Runner(fake())
    answers = plain.run(sequence("a", PROMPT, params))
    draft = fake(context=300)
    runner = Runner(fake(), DraftModelProposer(draft), FixedLength(5))
    assert runner.run(s) == answers
    assert s.num_accepted == s.num_drafted > 0
    assert runner.num_steps < plain.num_steps / 3
    assert [draft.seq_len(i) for i in range(3)] == [0, 0, 0]  # forgotten with its sequence


def test_vocabularies_must_mean_the_same() -> None:
    class Other(FakeTokenizer):
        pass

    assert vocabulary_problem(FakeTokenizer(), Other()) is None
    Other.pieces = [*FakeTokenizer.pieces[:65], b"B", *FakeTokenizer.pieces[66:]]
    assert "token 65" in str(vocabulary_problem(FakeTokenizer(), Other()))
    Other.pieces = FakeTokenizer.pieces
    Other.eos = 1
    assert "end" in str(vocabulary_problem(FakeTokenizer(), Other()))
    Other.eos, Other.n_vocab = FakeTokenizer.eos, 10_000
    assert "10,000" in str(vocabulary_problem(FakeTokenizer(), Other()))
