"""On the torch backend the same seed gives the same text, token for token: whatever is drafted, cached or batched."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")

from engine.backends.base import MOST_DRAFTED
from engine.speculative.controller import FixedLength
from engine.speculative.draft_model import DraftModelProposer
from engine.speculative.ngram import NgramProposer
from engine.types import SamplingParams
from tests.backends.test_torch import open_backend
from tests.helpers.speculating import Oracle, Random, Runner, sequence
from tests.helpers.synthetic_model import ARCHITECTURES, write_model

PROMPT = list(b"a rose is a rose is a rose, said she, and a rose is")
PARAMS = {
    "greedy": SamplingParams(temperature=0, seed=1),
    "seeded": SamplingParams(temperature=0.8, seed=5),
    "penalties": SamplingParams(
        temperature=0.7, seed=9, presence_penalty=0.5, repetition_penalty=1.2
    ),
}


@pytest.fixture(scope="module", params=ARCHITECTURES)
def model(request, tmp_path_factory) -> Path:
    return write_model(tmp_path_factory.mktemp("m") / "m.gguf", request.param, quantization="Q8_0")


@pytest.fixture(scope="module")
def backend(model: Path) -> Iterator:
    backend = open_backend(model, context=640, num_sequences=4)
    yield backend
    backend.close()


@pytest.fixture(scope="module")
def draft(tmp_path_factory) -> Iterator:
    """Another model with the same vocabulary, mostly wrong."""
    path = write_model(tmp_path_factory.mktemp("d") / "d.gguf", "llama", layers=1, seed=9)
    backend = open_backend(path, context=640, num_sequences=4)
    yield backend
    backend.close()


def cold(backend) -> None:
    for seq in range(backend.caps.n_seq_max):
        backend.seq_clear(seq)


def alone(backend, name: str, prompt: list[int], params: SamplingParams) -> list[int]:
    cold(backend)
    return Runner(backend).run(sequence(name, prompt, params))[name]


@pytest.mark.parametrize("params", PARAMS.values(), ids=PARAMS)
def test_speculation_changes_nothing(backend, draft, params: SamplingParams) -> None:
    answers = {"a": alone(backend, "a", PROMPT, params)}
    steps = {}
    # all lengths for one architecture: the block of rows is the same for all
    is_llama = backend._spec.architecture == "llama"
    for length in range(1, MOST_DRAFTED + 1) if is_llama else (1, 2, 3, 7, MOST_DRAFTED):
        for kind, proposer in {
            "right": Oracle(answers),
            "wrong": Oracle(answers, wrong_every=1),
            "third wrong": Oracle(answers, wrong_every=3),
            "random": Random(backend.caps.n_vocab),
            "ngram": NgramProposer(),
            "model": DraftModelProposer(draft),
        }.items():
            cold(backend)
            runner = Runner(backend, proposer, FixedLength(length))
            assert runner.run(sequence("a", PROMPT, params)) == answers, (kind, length)
            steps[kind, length] = runner.num_steps
    assert steps["right", 15] < steps["right", 1] < steps["wrong", 1]


@pytest.mark.parametrize("params", PARAMS.values(), ids=PARAMS)
def test_neighbours_and_a_hot_cache_change_nothing(backend, params: SamplingParams) -> None:
    prompts = {name: PROMPT[start:] for name, start in (("a", 0), ("b", 9), ("c", 20), ("d", 3))}
    answers = {name: alone(backend, name, prompt, params) for name, prompt in prompts.items()}
    cold(backend)
    for proposer in (None, NgramProposer(), Oracle(answers, wrong_every=4)):
        together = [sequence(name, prompt, params) for name, prompt in prompts.items()]
        assert Runner(backend, proposer).run(*together) == answers  # cold at first, then hot


def test_a_resumed_answer_goes_on_as_it_would_have(backend) -> None:
    params = PARAMS["seeded"]
    answer = alone(backend, "a", PROMPT, params)
    cold(backend)
    s = sequence("a", PROMPT, params)
    for token in answer[:9]:
        s.sampler.accept(token)
    s.tokens += answer[:9]
    assert Runner(backend, NgramProposer()).run(s) == {"a": answer}


def test_a_long_prompt_crosses_spans_and_windows(backend) -> None:
    """More than one span of keys: chunks of a prefill, single rows and drafts see the same."""
    prompt = (PROMPT * 8)[:330]
    params = PARAMS["seeded"]
    answer = alone(backend, "a", prompt, params)
    cold(backend)
    runner = Runner(backend, Oracle({"a": answer}, wrong_every=5), FixedLength(15))
    assert runner.run(sequence("a", prompt, params)) == {"a": answer}
