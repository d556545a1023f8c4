"""llama.cpp against the conformance suite: a tiny F32 llama, where noise is small enough to see faults."""

import ctypes
from collections.abc import Iterator
from pathlib import Path

import llama_cpp
import numpy as np
import pytest

from engine.backends.base import SeqId, Status
from engine.backends.llamacpp import native
from engine.backends.llamacpp.backend import LlamaBackend
from engine.backends.llamacpp.context import ContextSize
from engine.backends.llamacpp.opener import open_llamacpp
from engine.errors import SetupError
from engine.types import KvType
from tests.backends.conformance import TEXT, BackendConformance, feed


def open_backend(
    path: Path,
    *,
    context: int = 256,
    num_sequences: int = 3,
    kv_type: KvType = "f16",
    flash: bool | None = None,
    pads_from: int = 0,
) -> LlamaBackend:
    backend, _, _ = open_llamacpp(
        str(path).encode(),
        ContextSize(
            context, num_sequences, kv_type=kv_type, flash_attention=flash, pads_from=pads_from
        ),
        threads=(1, 1),
        progress=lambda fraction: None,
        poison_outputs=True,
    )
    return backend


class TestTinyLlama(BackendConformance):
    tolerance = 2e-3  # f16 KV cache; a wrong position differs by more than 0.1 (checked below)

    @pytest.fixture
    def backend(self, tiny_llama: Path) -> Iterator[LlamaBackend]:
        backend = open_backend(tiny_llama)
        yield backend
        backend.close()

    def test_the_tolerance_would_show_a_lost_token(self, backend: LlamaBackend, fresh) -> None:
        right, wrong = fresh(TEXT), fresh([*TEXT[:3], *TEXT[4:]])
        assert np.max(np.abs(right - wrong)) > 0.1

    def test_outputs_die_with_the_next_decode(self, backend: LlamaBackend) -> None:
        batch = backend.new_batch(1)
        batch.token[0], batch.pos[0], batch.seq[0], batch.out[0], batch.n = 5, 0, 0, 1, 1
        outputs = backend.decode(batch).outputs
        assert outputs is not None
        kept = outputs.logits(0)
        assert np.isfinite(kept).all()
        feed(backend, SeqId(1), TEXT)
        assert np.isnan(kept).all()

    def test_the_state_is_tied_to_the_model(self, backend: LlamaBackend, tmp_path: Path) -> None:
        from tests.helpers.tiny_llama import write_tiny_llama

        other = open_backend(write_tiny_llama(tmp_path / "other.gguf", n_ctx=300))
        again = open_backend(write_tiny_llama(tmp_path / "again.gguf"))
        assert other.caps.state_fingerprint != backend.caps.state_fingerprint
        assert again.caps.state_fingerprint == backend.caps.state_fingerprint
        other.close()
        again.close()

    def test_memory_is_read_from_the_log(self, backend: LlamaBackend) -> None:
        report = backend.memory_report()
        # 2 layers x K and V x 2 heads x 16 values x f16 x 256 cells
        assert report.kv_cache == pytest.approx(2 * 2 * 32 * 2 * 256, rel=0.2)
        assert report.compute > 0
        assert report.weights > 300_000


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("__version__", "0.9.9", "0.9.9"),
        ("llama_batch", ctypes.c_int, "llama_batch"),
        ("llama_context_default_params", llama_cpp.llama_model_default_params, "n_ctx"),
    ],
)
def test_another_library_than_the_expected_one_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, value: object, word: str
) -> None:
    native.check_version()
    monkeypatch.setattr(llama_cpp if name == "__version__" else native.lib, name, value)
    with pytest.raises(SetupError, match=word) as caught:
        native.check_version()
    assert "installer" in caught.value.hint


def test_the_context_grows_with_what_is_in_it(tmp_path: Path) -> None:
    """Four times its first size, with a shared prefix that stays shared and answers that do not notice."""
    from engine.backends.llamacpp.context import FIRST_CELLS
    from tests.helpers.tiny_llama import write_tiny_llama

    model = write_tiny_llama(tmp_path / "long.gguf", n_ctx=4 * FIRST_CELLS)
    backend = open_backend(model, context=4 * FIRST_CELLS)
    a, b = SeqId(0), SeqId(1)
    text = [i % 251 for i in range(FIRST_CELLS - 100)]
    feed(backend, a, text)
    assert backend.seq_fork(a, b, len(text)) == len(text)
    small = backend.memory_report().kv_cache
    state = bytes(backend.export_state(a))
    after = [feed(backend, seq, [7] * 300) for seq in (a, b)]  # the second finds no room
    assert np.array_equal(*after)
    assert backend.seq_len(a) == backend.seq_len(b) == len(text) + 300
    assert backend.memory_report().kv_cache >= 2 * small > 0
    for seq in (a, b):
        backend.seq_clear(seq)
    assert backend.import_state(a, state) == len(text)
    assert backend.import_state(b, state) == len(text)  # a copy this time
    fresh = open_backend(model, context=4 * FIRST_CELLS)
    feed(fresh, a, text)
    assert np.max(np.abs(feed(fresh, a, [7]) - feed(backend, b, [7]))) < 2e-3
    fill = FIRST_CELLS - 50
    feed(fresh, b, [1] * fill)
    feed(fresh, SeqId(2), [1] * fill)
    batch = fresh.new_batch(512)
    last = None
    for _ in range(20):
        start = fresh.seq_len(a)
        batch.token[:512], batch.pos[:512], batch.seq[:512] = 1, range(start, start + 512), a
        batch.out[:512], batch.n = 0, 512
        last = fresh.decode(batch).status
        if last is not Status.OK:
            break
    assert last is Status.NO_SPACE  # the limit holds
    assert fresh.seq_len(b) == fill
    backend.close()
    fresh.close()
