"""What `TorchBackend` promises beyond the conformance suite: states, aborts, forks of forks, mixed batches, refusals."""

import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest.mock import DEFAULT, MagicMock

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from engine.backends.base import F32, DecodeResult, Status
from engine.backends.torch_cuda.backend import TorchBackend
from engine.backends.torch_cuda.kv_cache import KvCache
from engine.backends.torch_cuda.opener import open_torch
from engine.backends.torch_cuda.pages import PAGE
from engine.errors import UnsupportedByBackend
from tests.backends.conformance import TEXT, feed
from tests.backends.test_torch import open_backend
from tests.helpers.synthetic_model import write_model
from tests.helpers.tiny_llama import write_tiny_llama

A, B, C, D, E = range(5)
HEADER = 32  # bytes before the numbers of a state


@pytest.fixture(scope="module", params=["llama", "gemma3"])
def model(request, tmp_path_factory) -> Path:
    return write_model(tmp_path_factory.mktemp("m") / "m.gguf", request.param, layers=3)


@pytest.fixture(scope="module")
def shared_backend(model: Path) -> Iterator[TorchBackend]:
    backend = open_backend(model, context=2048, num_sequences=6)
    yield backend
    backend.close()


@pytest.fixture
def backend(shared_backend: TorchBackend) -> TorchBackend:
    for seq in range(6):
        shared_backend.seq_clear(seq)
    return shared_backend


@pytest.fixture(scope="module")
def fresh(model: Path) -> Iterator:
    """Logits of the last of some tokens, computed alone in a backend of their own."""
    other = open_backend(model, context=512, num_sequences=1)
    known: dict[tuple[int, ...], F32] = {}

    def compute(tokens: Sequence[int]) -> F32:
        key = tuple(tokens)
        if key not in known:
            other.seq_clear(A)
            known[key] = feed(other, A, tokens)
        return known[key]

    yield compute
    other.close()


def decode(backend: TorchBackend, *rows: tuple[int, Sequence[int]], start: int = 0) -> DecodeResult:
    """One batch of (sequence, its next tokens), all with outputs; `start` moves the positions."""
    batch = backend.new_batch(sum(len(tokens) for _, tokens in rows))
    for seq, tokens in rows:
        first, n = backend.seq_len(seq) + start, batch.n
        batch.n += len(tokens)
        batch.token[n : batch.n] = tokens
        batch.pos[n : batch.n] = range(first, first + len(tokens))
        batch.seq[n : batch.n] = seq
        batch.out[n : batch.n] = 1
    return backend.decode(batch)


def text(n: int, seed: int = 0) -> list[int]:
    return random.Random(seed).choices(range(256), k=n)


def test_prefills_and_single_rows_in_one_batch_are_as_alone(backend, fresh) -> None:
    held = {A: text(5, 1), B: text(33, 2), C: [], D: text(16, 3), E: text(40, 4)}
    for seq, tokens in held.items():
        if tokens:
            feed(backend, seq, tokens)
    more = {A: [7], B: text(25, 5), C: text(3, 6), D: [9], E: text(18, 7)}
    outputs = decode(backend, *more.items()).outputs
    assert outputs is not None
    row = 0
    for seq, tokens in more.items():
        for i in range(len(tokens)):
            assert np.array_equal(outputs.logits(row), fresh(held[seq] + tokens[: i + 1]))
            row += 1


@pytest.mark.parametrize("seed", range(2))
def test_forks_of_forks_write_on_all_sides(backend, fresh, seed: int) -> None:
    choose = random.Random(seed)
    truth: list[list[int]] = [[] for _ in range(6)]
    for step in range(30):
        src, dst = choose.sample(range(6), 2)
        if truth[src] and choose.random() < 0.5:
            n = choose.randrange(len(truth[src]) + 1)
            assert backend.seq_fork(src, dst, n) == n
            truth[dst] = truth[src][:n]
        if choose.random() < 0.3:
            n = choose.randrange(len(truth[src]) + 1)
            assert backend.seq_truncate(src, n) == n
            del truth[src][n:]
        written = choose.sample(range(6), 3)
        rows = {seq: text(choose.choice([1, 1, 2, 19]), 100 * step + seq) for seq in written}
        outputs = decode(backend, *rows.items()).outputs
        assert outputs is not None
        row = -1
        for seq, tokens in rows.items():
            truth[seq] += tokens
            row += len(tokens)
            if step % 3 == 2:
                assert np.array_equal(outputs.logits(row), fresh(truth[seq])), (step, seq)
    for seq, tokens in enumerate(truth):
        assert backend.seq_len(seq) == len(tokens)
        assert np.array_equal(feed(backend, seq, [7]), fresh([*tokens, 7]))


@pytest.mark.parametrize(("n", "kept"), [(0, 0), (-3, 0), (99, 12)])
def test_forks_and_cuts_beyond_the_ends(backend, n: int, kept: int) -> None:
    feed(backend, A, TEXT)
    feed(backend, B, TEXT)
    assert backend.seq_fork(A, B, n) == kept == backend.seq_len(B)
    assert backend.seq_truncate(A, n) == kept == backend.seq_len(A)
    assert backend.seq_span(A) == (0, kept)


def test_rows_that_the_protocol_forbids_are_refused_and_change_nothing(backend, fresh) -> None:
    feed(backend, A, TEXT[:5])
    for mistake in (
        lambda: decode(backend, (A, [1]), start=1),
        lambda: decode(backend, (A, [1]), start=-1),
        lambda: decode(backend, (B, [1, 2]), (A, [3]), start=5),
        lambda: decode(backend, (A, [1]), (A, [2])),  # twice the same position
        lambda: decode(backend, (A, [backend.caps.n_vocab])),
        lambda: decode(backend, (A, [1, -1])),
    ):
        with pytest.raises(ValueError, match=r"position|token"):
            mistake()
    batch = backend.new_batch(1)
    for seq in (-1, backend.caps.n_seq_max):
        batch.seq[0], batch.n = seq, 1
        with pytest.raises(ValueError, match="sequence"):
            backend.decode(batch)
    assert [backend.seq_len(seq) for seq in range(6)] == [5, 0, 0, 0, 0, 0]
    assert np.array_equal(feed(backend, A, TEXT[5:]), fresh(TEXT))


def test_a_context_smaller_than_a_page_is_a_page(tiny_llama: Path) -> None:
    backend = open_backend(tiny_llama, context=1, num_sequences=1)
    assert backend.caps.n_cells == backend.caps.n_ctx_seq == PAGE
    assert decode(backend, (A, text(PAGE))).status is Status.OK
    assert decode(backend, (A, [1])).status is Status.NO_SPACE
    assert backend.seq_len(A) == PAGE
    backend.close()


# --- aborts and failures in the middle -----------------------------------------------------------------


class Interrupted:
    """Calls something from another thread when the decoder asks for the n-th time whether to give up."""

    def __init__(self, backend: TorchBackend, n: int, action) -> None:
        self.hidden, self.left, self.action = backend._decoder.hidden, n, action

    def __call__(self, *args):
        def asked() -> bool:
            self.left -= 1
            if self.left == 0:
                thread = threading.Thread(target=self.action)
                thread.start()
                thread.join()
            return args[-1]()

        return self.hidden(*args[:-1], asked)


@pytest.mark.parametrize("n", [1, 2, 20, 33])  # 3 layers, 11 blocks
def test_an_abort_in_a_long_prefill_leaves_all_as_it_was(
    backend, fresh, monkeypatch, n: int
) -> None:
    tokens = text(21, 1)
    feed(backend, A, tokens)
    backend.seq_fork(A, B, 18)
    with monkeypatch.context() as patch:
        patch.setattr(backend._decoder, "hidden", Interrupted(backend, n, backend.request_abort))
        result = decode(backend, (A, text(150, 2)), (B, text(11, 3)))
    assert (result.status, result.outputs) == (Status.ABORTED, None)
    assert [backend.seq_len(seq) for seq in (A, B, C)] == [21, 18, 0]
    assert np.array_equal(feed(backend, B, [5, 6]), fresh([*tokens[:18], 5, 6]))
    assert np.array_equal(feed(backend, A, [4]), fresh([*tokens, 4]))


def test_an_abort_that_comes_too_late_holds_for_the_next_decode(
    backend, fresh, monkeypatch
) -> None:
    logits = backend._decoder.logits

    def last(states):
        backend.request_abort()
        return logits(states)

    with monkeypatch.context() as patch:
        patch.setattr(backend._decoder, "logits", last)
        assert decode(backend, (A, TEXT[:4])).status is Status.OK
    assert decode(backend, (A, [1])).status is Status.ABORTED
    assert np.array_equal(feed(backend, A, TEXT[4:]), fresh(TEXT))


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("full"), RuntimeError("broken")])
def test_a_failure_in_the_middle_leaves_all_as_it_was(backend, fresh, monkeypatch, error) -> None:
    feed(backend, A, TEXT)
    blocks = MagicMock(side_effect=[DEFAULT, error], wraps=backend._decoder.hidden)
    with monkeypatch.context() as patch:
        patch.setattr(backend._decoder, "hidden", blocks)
        if isinstance(error, torch.OutOfMemoryError):
            assert decode(backend, (A, text(40))).status is Status.FAILED
        else:
            with pytest.raises(RuntimeError, match="broken"):
                decode(backend, (A, text(40)))
    assert blocks.call_count == 2
    assert backend.seq_len(A) == len(TEXT)
    assert np.array_equal(feed(backend, A, [4]), fresh([*TEXT, 4]))


# --- exported states -----------------------------------------------------------------------------------


def test_a_state_continues_bit_for_bit_where_it_was_made(backend, model: Path, fresh) -> None:
    tokens = text(37)
    feed(backend, A, tokens)
    state = backend.export_state(A)
    other = open_backend(model, context=64, num_sequences=2)
    assert other.caps.state_fingerprint == backend.caps.state_fingerprint
    feed(other, B, TEXT)
    assert other.import_state(B, state) == 37 == other.seq_len(B)  # in place of what was there
    assert other.export_state(B) == state
    assert np.array_equal(feed(other, B, [9]), fresh([*tokens, 9]))
    other.close()


def test_damaged_states_are_refused_and_leave_an_empty_sequence(backend) -> None:
    feed(backend, A, TEXT)
    state = backend.export_state(A)
    nothing = backend.export_state(C)
    damaged = [state[:-1], state + b"\0", state + state[HEADER:], nothing, b"", b"x" * 99]
    flips = [(i, bit) for i in range(HEADER) for bit in (1, 128)]
    damaged += [state[:i] + bytes([state[i] ^ bit]) + state[i + 1 :] for i, bit in flips]
    for bad in damaged:
        feed(backend, B, [1, 2, 3])
        assert backend.import_state(B, bad) == 0
        assert backend.seq_len(B) == 0
    assert backend.import_state(B, state) == len(TEXT)


def test_a_state_without_room_is_refused_and_takes_nothing(model: Path, fresh) -> None:
    backend = open_backend(model, context=64, num_sequences=3)
    feed(backend, A, text(20))
    state = backend.export_state(A)
    feed(backend, B, TEXT)  # 1 of 4 pages is left, 2 are needed
    for _ in range(3):
        assert backend.import_state(C, state) == 0
    assert [backend.seq_len(seq) for seq in range(3)] == [20, 12, 0]
    assert np.array_equal(feed(backend, C, TEXT), fresh(TEXT))
    assert backend.import_state(A, state) == 20  # its own pages are free by then
    assert np.array_equal(feed(backend, A, [9]), fresh([*text(20), 9]))
    backend.close()


def test_states_of_other_shapes_and_types_are_refused() -> None:
    usual = {"n_layer": 2, "n_head_kv": 2, "head_dim": 8, "dtype": torch.float32}

    def cache(**other: object) -> KvCache:
        return KvCache(n_cells=64, n_seq_max=1, device=torch.device("cpu"), **usual | other)

    source = cache()
    assert source.extend({0: 20})
    state = source.export(0)
    assert cache().load(0, state) == 20
    others = [{"n_layer": 1}, {"n_layer": 4}, {"n_head_kv": 1}, {"dtype": torch.bfloat16}]
    others += [{"n_head_kv": 4, "head_dim": 4}, {"n_layer": 4, "n_head_kv": 1}]  # as many bytes
    others += [{"n_layer": 4, "dtype": torch.bfloat16}]
    for other in others:
        assert cache(**other).load(0, state) == 0
    wide = cache(dtype=torch.bfloat16)
    wide.keys.normal_()
    assert wide.extend({0: 20})
    again = cache(dtype=torch.bfloat16)
    assert again.load(0, wide.export(0)) == 20
    assert again.export(0) == wide.export(0)


# --- opening, closing, threads -------------------------------------------------------------------------


def test_closing_twice_is_fine(tiny_llama: Path) -> None:
    backend = open_backend(tiny_llama)
    backend.close()
    backend.close()


def open_on(path: Path, device, threads: int = 1) -> TorchBackend:
    sizes = {"context": 128, "num_sequences": 6, "threads": threads}
    return open_torch(str(path).encode(), device=device, progress=lambda done: None, **sizes)[0]


def test_a_network_that_is_not_ours_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = write_tiny_llama(tmp_path / "m.gguf", architecture="stablelm")
    with pytest.raises(UnsupportedByBackend, match="architecture stablelm is not one of ours"):
        open_on(path, "cpu")
    path = write_model(tmp_path / "m.gguf", "llama", metadata={"rope.scaling.type": "yarn"})
    with pytest.raises(UnsupportedByBackend, match="scaled by yarn"):
        open_on(path, "cpu")


def test_without_a_gpu_cuda_is_refused(tiny_llama: Path, monkeypatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UnsupportedByBackend, match="finds no GPU"):
        open_on(tiny_llama, "cuda")


def python(code: str, path: Path) -> list[str]:
    """What the code prints, in words. Threads must not spin: on a busy machine each meeting takes milliseconds."""
    run = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"OMP_WAIT_POLICY": "passive"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.split()


def check_threads(path: Path) -> None:
    backend = open_on(path, "cpu", threads=2)
    assert torch.get_num_threads() == 2
    prompts = {A: text(1, 1), B: text(17, 2), C: text(5, 3)}
    alone = {seq: feed(backend, seq, tokens) for seq, tokens in prompts.items()}
    for seq, tokens in prompts.items():
        assert np.array_equal(feed(backend, seq + 3, tokens, chunk=1), alone[seq])
        backend.seq_clear(seq)
    outputs = decode(backend, *prompts.items()).outputs
    for seq, row in enumerate((0, 17, 22)):
        assert np.array_equal(outputs.logits(row), alone[seq])
    print("same")


def test_two_threads_are_as_exact_among_themselves(tmp_path: Path) -> None:
    path = write_model(tmp_path / "m.gguf", "gemma3", embd=256, ff=1024, layers=2)
    code = "import sys; from tests.backends.test_torch_backend import check_threads as check; "
    assert python(code + "check(sys.argv[1])", path) == ["same"]


COUNT = """
import sys
import llama_cpp.llama_cpp as lib, psutil, torch

calls = []
for name in ("llama_init_from_model", "llama_new_context_with_model", "llama_decode", "llama_encode"):
    setattr(lib, name, lambda *args, name=name: calls.append(name))

from engine.backends.base import Status
from engine.backends.registry import OpenRequest, open_model

torch.set_num_threads(6)
torch.ones(500, 500) @ torch.ones(500, 500)  # starts torch's own threads
before = psutil.Process().num_threads()
opened = open_model("torch-cpu", OpenRequest(sys.argv[1].encode(), 256, 2, 6, 6), lambda done: None)
assert opened.tokenizer.encode("a b", add_special=False, parse_special=False)
batch = opened.backend.new_batch(100)
batch.token[:], batch.pos[:], batch.out[-1], batch.n = 7, range(100), 1, 100
assert opened.backend.decode(batch).status is Status.OK
print(psutil.Process().num_threads() - before, torch.get_num_threads(), *calls)
"""


def test_no_second_pool_of_threads_beside_torchs(tiny_llama: Path) -> None:
    """llama.cpp gives the vocabulary and never computes: its threads and torch's would wait for each other."""
    more, threads, *calls = python(COUNT, tiny_llama)
    assert calls == []
    assert int(threads) == 6
    assert int(more) <= 1
