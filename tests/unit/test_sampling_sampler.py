"""`Sampler`: greedy, seeds and choices, log probabilities, bans, candidates without a top_k."""

import math
from dataclasses import replace

import numpy as np
import pytest

from engine.backends.host_logits import HostOutputs
from engine.errors import EngineError, InvalidRequest
from engine.sampling.sampler import Sampler, survivors
from engine.types import SamplingParams

ALL = SamplingParams(temperature=1, top_k=0, top_p=1, min_p=0)
GREEDY = SamplingParams(temperature=0)
ROW = np.array([1.0, 3.0, 3.0, 2.0], np.float32)


def outputs(*rows: np.ndarray) -> HostOutputs:
    return HostOutputs(len(rows), rows.__getitem__)


def answer(params: SamplingParams, row: np.ndarray, *, choice: int = 0, n: int = 20) -> list[int]:
    sampler, handle, tokens = Sampler(params, choice, [0]), outputs(row), []
    for _ in range(n):
        tokens.append(sampler.sample(handle, 0).token)
        sampler.accept(tokens[-1])
    return tokens


def test_greedy_takes_the_lowest_id_of_the_most_likely():
    assert answer(GREEDY, ROW, n=3) == [1, 1, 1]


def test_greedy_acts_after_the_penalties_and_ignores_the_filters():
    assert answer(replace(GREEDY, presence_penalty=2), ROW, n=4) == [1, 2, 3, 0]
    assert answer(replace(GREEDY, typical_p=0.1), np.array([9, 1, 1, 1], np.float32), n=1) == [0]


def test_a_seed_repeats_and_another_differs():
    flat = np.zeros(1000, np.float32)
    texts = {seed: answer(replace(ALL, seed=seed), flat) for seed in (0, 7, 2**31 - 1)}
    assert len({tuple(text) for text in texts.values()}) == 3
    for seed, text in texts.items():
        assert answer(replace(ALL, seed=seed), flat) == text


def test_choices_of_one_request_differ():
    flat = np.zeros(1000, np.float32)
    assert len({tuple(answer(ALL, flat, choice=choice)) for choice in range(4)}) == 4


def test_replaying_an_answer_continues_it():
    params = SamplingParams(
        seed=3, temperature=2, repetition_penalty=1.3, frequency_penalty=0.3, repeat_last_n=5
    )
    row = np.random.default_rng(0).normal(0, 1, 300).astype(np.float32)
    whole = answer(params, row, n=30)
    resumed = Sampler(params, 0, [0])
    for token in whole[:11]:
        resumed.accept(token)
    assert resumed.num_accepted == 11
    rest = []
    for _ in range(19):
        rest.append(resumed.sample(outputs(row), 0).token)
        resumed.accept(rest[-1])
    assert whole[:11] + rest == whole


def test_sampling_changes_nothing():
    row = np.random.default_rng(0).normal(0, 1, 300).astype(np.float32)
    params = SamplingParams(num_logprobs=2, presence_penalty=1)
    sampler = Sampler(params, 0, [0])
    sampler.accept(5)
    first = sampler.sample(outputs(row), 0)
    assert [sampler.sample(outputs(row), 0) for _ in range(3)] == [first] * 3
    assert sampler.num_accepted == 1


def test_each_row_has_its_own_logits():
    handle = outputs(np.array([0, 5, 0], np.float32), np.array([0, 0, 5], np.float32))
    assert [Sampler(GREEDY, 0, []).sample(handle, row).token for row in (0, 1)] == [1, 2]
    logprobs = SamplingParams(temperature=0, num_logprobs=1, logit_bias=((0, 9.0),))
    sampled = [Sampler(logprobs, 0, []).sample(handle, row) for row in (0, 1)]
    assert [one.token for one in sampled] == [0, 0]
    assert [one.top[0][0] for one in sampled] == [1, 2]


def test_log_probabilities_are_the_models_own():
    bias = ((0, 100.0), (1, -100.0))
    params = SamplingParams(temperature=0.1, top_k=1, num_logprobs=3, logit_bias=bias)
    sampled = Sampler(params, 0, []).sample(outputs(ROW), 0)
    lse = math.log(sum(math.exp(x) for x in ROW))
    assert sampled.token == 0
    assert sampled.logprob == pytest.approx(1 - lse)
    assert [token for token, _ in sampled.top] == [1, 2, 3]
    assert [value for _, value in sampled.top] == pytest.approx([3 - lse, 3 - lse, 2 - lse])


def test_log_probabilities_only_when_asked_and_as_many_as_asked():
    handle = outputs(ROW)
    assert Sampler(SamplingParams(), 0, []).sample(handle, 0).logprob is None
    none = Sampler(SamplingParams(num_logprobs=0), 0, []).sample(handle, 0)
    assert none.logprob is not None
    assert none.top == ()
    every = Sampler(SamplingParams(num_logprobs=20), 0, []).sample(handle, 0)
    assert len(every.top) == 4


def test_log_probabilities_are_finite():
    row = np.array([0.0, -np.inf], np.float32)
    assert Sampler(SamplingParams(num_logprobs=2), 0, []).sample(outputs(row), 0).top == (
        (0, 0.0),
        (1, -9999.0),
    )


@pytest.mark.parametrize("top_k", [0, 2, 40])
@pytest.mark.parametrize("temperature", [0, 1, 10])
def test_only_what_is_not_banned_is_picked(temperature, top_k):
    bias = tuple((token, -100.0) for token in range(4) if token != 3)
    params = replace(ALL, temperature=temperature, top_k=top_k, logit_bias=bias)
    assert answer(params, ROW) == [3] * 20


@pytest.mark.parametrize("temperature", [0, 1])
def test_banning_everything_is_the_requests_fault(temperature):
    bias = tuple((token, -100.0) for token in range(4))
    params = replace(ALL, temperature=temperature, logit_bias=bias)
    with pytest.raises(InvalidRequest, match="every token"):
        Sampler(params, 0, []).sample(outputs(ROW), 0)


def test_what_the_model_rules_out_is_never_picked():
    row = np.full(5000, -np.inf, np.float32)
    row[[70, 4000]] = (1.0, 2.0)
    params = replace(ALL, temperature=10)
    for changed in (params, replace(params, top_p=0.9999), replace(params, typical_p=0.99)):
        assert set(answer(changed, row)) == {70, 4000}


@pytest.mark.parametrize("temperature", [0, 1])
def test_invalid_numbers_are_an_error(temperature):
    row = ROW.copy()
    row[3] = np.nan
    with pytest.raises(EngineError, match="invalid numbers"):
        Sampler(replace(ALL, temperature=temperature), 0, []).sample(outputs(row), 0)


@pytest.mark.parametrize(
    ("params", "kept"),
    [
        (replace(ALL, top_p=0.49999), 10_000),
        (replace(ALL, min_p=0.5), 20_000),
        (replace(ALL, top_p=0.49999, min_p=0.5), 10_000),
        (replace(ALL, top_p=0.00001), 1),
    ],
)
def test_without_top_k_the_filters_see_the_whole_vocabulary(params, kept):
    row = np.zeros(30_000, np.float32)
    row[20_000:] = -50
    ids, _ = survivors(outputs(row), 0, None, params)
    assert ids.tolist() == list(range(kept))


def test_drawing_from_all_reaches_every_part_of_the_vocabulary():
    tokens = answer(replace(ALL, temperature=0.7, seed=4), np.zeros(4000, np.float32), n=60)
    assert min(tokens) < 256
    assert max(tokens) > 3000
