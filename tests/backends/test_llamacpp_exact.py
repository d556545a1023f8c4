"""Exact mode of llama.cpp: a row's logits are the same in every batch, so drafts and neighbours change nothing."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from engine.backends.base import MOST_DRAFTED, SeqId
from engine.backends.llamacpp.backend import LlamaBackend
from engine.backends.llamacpp.context import EXACT_ROWS, ContextSize
from engine.backends.llamacpp.opener import EXACT_TYPES, open_llamacpp
from engine.speculative.controller import FixedLength
from engine.speculative.draft_model import DraftModelProposer
from engine.speculative.ngram import NgramProposer
from engine.types import SamplingParams
from tests.backends.conformance import BackendConformance, feed
from tests.helpers.speculating import Oracle, Random, Runner, sequence
from tests.helpers.synthetic_model import write_model

PROMPT = list(b"a rose is a rose is a rose, said she, and a rose is")


def open_exact(path: Path, *, threads: int = 1, context: int = 256) -> LlamaBackend:
    backend, _, _ = open_llamacpp(
        str(path).encode(),
        ContextSize(context, 3, exact=True),
        threads=(threads, threads),
        progress=lambda fraction: None,
    )
    return backend


def model(folder: Path, quantization: str) -> Path:
    return write_model(
        folder / f"{quantization}.gguf",
        "llama",
        quantization=quantization,
        embd=256,
        ff=512,
        n_ctx=2048,
    )


@pytest.fixture(scope="module")
def eight_bit(tmp_path_factory) -> Path:
    return model(tmp_path_factory.mktemp("exact"), "Q8_0")


class TestConformance(BackendConformance):
    tolerance = 0.0

    @pytest.fixture
    def backend(self, eight_bit: Path) -> Iterator[LlamaBackend]:
        backend = open_exact(eight_bit)
        yield backend
        backend.close()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("quantization", sorted(EXACT_TYPES))
def test_rows_of_a_long_text_do_not_depend_on_their_batch(
    tmp_path: Path, quantization: str, threads: int
) -> None:
    """Beyond 512 keys a single row would be divided among the threads."""
    backend = open_exact(model(tmp_path, quantization), threads=threads, context=2048)
    assert backend.caps.is_exact
    tokens = [int(t) for t in np.random.default_rng(2).integers(0, 250, 640)]
    rows = feed(backend, SeqId(0), tokens[:600], chunk=EXACT_ROWS)
    assert np.array_equal(feed(backend, SeqId(1), tokens[:600], chunk=17), rows)
    batch = backend.new_batch(8)
    for start in range(600, 640, 8):
        end = start + 8
        batch.token[:8], batch.pos[:8] = tokens[start:end], range(start, end)
        batch.seq[:8], batch.out[:8] = 1, 1
        batch.n = 8
        outputs = backend.decode(batch).outputs
        assert outputs is not None
        drafted = [outputs.logits(i).copy() for i in range(8)]
        for token, row in zip(tokens[start:end], drafted, strict=True):
            assert np.array_equal(feed(backend, SeqId(0), [token]), row)
    backend.close()


@pytest.mark.parametrize(
    "params",
    [
        SamplingParams(temperature=0, seed=1),
        SamplingParams(temperature=0.9, seed=4),
        SamplingParams(temperature=0.7, seed=9, presence_penalty=0.5, repetition_penalty=1.2),
    ],
    ids=["greedy", "seeded", "penalties"],
)
def test_speculation_changes_nothing(tmp_path: Path, params: SamplingParams) -> None:
    backend = open_exact(model(tmp_path, "Q4_0"))
    answers = Runner(backend).run(sequence("a", PROMPT, params))
    draft = open_exact(write_model(tmp_path / "draft.gguf", "llama", layers=1, seed=9))
    for length in range(1, MOST_DRAFTED + 1):
        for kind, proposer in {
            "right": Oracle(answers),
            "wrong": Oracle(answers, wrong_every=1),
            "third wrong": Oracle(answers, wrong_every=3),
            "random": Random(backend.caps.n_vocab),
            "ngram": NgramProposer(),
            "model": DraftModelProposer(draft),
        }.items():
            for seq in range(3):
                backend.seq_clear(SeqId(seq))
            runner = Runner(backend, proposer, FixedLength(length))
            assert runner.run(sequence("a", PROMPT, params)) == answers, (kind, length)
    draft.close()
    backend.close()


@pytest.mark.parametrize("quantization", ["Q4_0", "Q8_0"])
def test_chunks_and_neighbours_change_nothing(tmp_path: Path, quantization: str) -> None:
    params = SamplingParams(temperature=0.9, seed=4)
    prompts = {name: [*PROMPT, *range(40 + 9 * i)] for i, name in enumerate("abc")}
    path = model(tmp_path, quantization)
    alone: dict[str, list[int]] = {}
    for name, prompt in prompts.items():
        backend = open_exact(path)
        alone |= Runner(backend).run(sequence(name, prompt, params))
        backend.close()
    for chunk in (1, 7, 10_000):
        backend = open_exact(path)
        runner = Runner(backend, chunk=min(chunk, backend.caps.n_batch_max))
        together = runner.run(*(sequence(name, p, params) for name, p in prompts.items()))
        assert together == alone, chunk
        backend.close()


def test_types_that_were_not_measured_promise_nothing(tmp_path: Path) -> None:
    backend = open_exact(model(tmp_path, "Q4_K"))
    assert not backend.caps.is_exact
    assert backend.caps.n_batch_max > EXACT_ROWS
    backend.close()
