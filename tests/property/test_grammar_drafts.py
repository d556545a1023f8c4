"""Under a JSON schema, too, an answer is the same with drafts, in small batches, and continued after a crash."""

import json
from dataclasses import replace

import jsonschema
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.backends.base import MOST_DRAFTED
from engine.backends.fake import FakeBackend, FakeOptions, FakeTokenizer
from engine.sampling.grammar import Grammars
from engine.sampling.sampler import Sampler
from engine.scheduler.sequence import Sequence
from engine.speculative.controller import FixedLength
from engine.speculative.draft_model import DraftModelProposer
from engine.speculative.ngram import NgramProposer
from engine.types import SamplingParams
from tests.helpers.speculating import Oracle, Random, Runner

GRAMMARS = Grammars(FakeTokenizer())
SCHEMAS = [
    {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 6},
            "mood": {"enum": ["gay", "grave"]},
            "numbers": {"type": "array", "items": {"enum": [1, 22, 333]}, "maxItems": 4},
        },
        "required": ["name", "mood", "numbers"],
        "additionalProperties": False,
    },
    {
        "$defs": {
            "node": {
                "type": "object",
                "properties": {
                    "left": {"anyOf": [{"$ref": "#/$defs/node"}, {"enum": ["leaf", "é"]}]},
                    "right": {"type": ["boolean", "null"]},
                },
                "required": ["left"],
                "additionalProperties": False,
            }
        },
        "$ref": "#/$defs/node",
    },
    {"const": {"nothing": ["to", "choose", {"at": "all, in a text of more than fifteen tokens"}]}},
]
NUM_TOKENS = 150
PROMPT = list(b"a prompt")

chains = st.sampled_from(
    [
        SamplingParams(temperature=0),
        SamplingParams(temperature=0.9),
        SamplingParams(temperature=1.2, top_k=0, top_p=1, min_p=0),
        SamplingParams(temperature=0.8, repetition_penalty=1.3, frequency_penalty=0.5),
        SamplingParams(temperature=0.8, logit_bias=((ord("e"), 3.0),)),
        SamplingParams(temperature=0.8, num_logprobs=1),
    ]
)


def sequence(schema: object, params: SamplingParams, done: list[int], name: str) -> Sequence:
    """An answer, perhaps one that has begun."""
    sampler = Sampler(params, 0, PROMPT, GRAMMARS.start(json.dumps(schema)))
    for token in done:
        sampler.accept(token)
    return Sequence(name, 0, [*PROMPT, *done], len(PROMPT), sampler)


def run(sequences: list[Sequence], n_batch: int = 512, proposer=None, length: int = 4) -> Runner:
    backend = FakeBackend(4000, len(sequences), FakeOptions(n_batch=n_batch))
    runner = Runner(backend, proposer, FixedLength(length))
    runner.answers = runner.run(*sequences, num_tokens=NUM_TOKENS)
    return runner


@given(
    schema=st.sampled_from(SCHEMAS),
    params=chains,
    seed=st.integers(0, 99),
    kind=st.sampled_from(["right", "wrong", "third wrong", "random", "ngram", "model"]),
    length=st.integers(1, MOST_DRAFTED),
    n_batch=st.sampled_from([16, 512]),
    cuts=st.lists(st.floats(0, 1), min_size=3, max_size=3),
)
@settings(max_examples=40, deadline=None)
def test_the_answer_is_the_same(schema, params, seed, kind, length, n_batch, cuts) -> None:
    params = replace(params, seed=seed)
    alone = run([sequence(schema, params, [], "0")]).answers["0"]
    answer = alone[: alone.index(FakeTokenizer.eos)] if FakeTokenizer.eos in alone else alone
    if len(answer) < len(alone):
        text = bytes(answer).decode()
        jsonschema.validate(json.loads(text), schema)
    answers = {str(i): alone for i in range(3)}
    proposer = {
        "right": Oracle(answers),
        "wrong": Oracle(answers, wrong_every=1),
        "third wrong": Oracle(answers, wrong_every=3),
        "random": Random(250),
        "ngram": NgramProposer(),
        "model": DraftModelProposer(FakeBackend(1000, 3, FakeOptions())),
    }[kind]
    begun = [
        sequence(schema, params, alone[: int(cut * len(answer))], str(i))
        for i, cut in enumerate(cuts)
    ]
    assert run(begun, n_batch, proposer, length).answers == answers


def test_what_is_forced_costs_no_steps() -> None:
    params = SamplingParams(temperature=0.9, seed=1)
    forced = run([sequence(SCHEMAS[0], params, [], "a")])
    one_by_one = run([sequence(SCHEMAS[0], replace(params, num_logprobs=0), [], "a")])
    assert forced.answers == one_by_one.answers
    answer = forced.answers["a"]
    padding = NUM_TOKENS - answer.index(FakeTokenizer.eos)
    assert forced.num_steps - padding < (one_by_one.num_steps - padding) / 2


def test_drafts_that_leave_the_schema_cost_no_rows() -> None:
    params = SamplingParams(temperature=0.9, seed=1)
    one = sequence(SCHEMAS[0], params, [], "a")
    right = run([one]).answers
    wrong = sequence(SCHEMAS[0], params, [], "a")
    run([wrong], proposer=Random(32), length=8)  # control characters, never in JSON
    assert wrong.num_drafted == 0
    good = sequence(SCHEMAS[0], params, [], "a")
    run([good], proposer=Oracle(right), length=8)
    assert good.num_accepted == good.num_drafted > 0
