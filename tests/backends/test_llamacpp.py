"""llama.cpp against the conformance suite: a tiny F32 llama, where noise is small enough to see faults."""

import ctypes
from collections.abc import Iterator
from pathlib import Path

import llama_cpp
import numpy as np
import pytest

from engine.backends.base import SeqId
from engine.backends.llamacpp import native
from engine.backends.llamacpp.backend import LlamaBackend
from engine.backends.llamacpp.opener import open_llamacpp
from engine.errors import SetupError
from tests.backends.conformance import TEXT, BackendConformance, feed


def open_backend(path: Path, *, context: int = 256, num_sequences: int = 3) -> LlamaBackend:
    backend, _, _ = open_llamacpp(
        str(path).encode(),
        context=context,
        num_sequences=num_sequences,
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
