"""llama.cpp's other memories against the conformance suite: sliding window, recurrent, hybrid. Tiny random models.

The canary of each: whatever was truncated, forked, exported or brought back, the next logits are those of a fresh prefill.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from engine.backends.base import SeqId
from engine.backends.llamacpp.backend import LlamaBackend
from engine.scheduler.kv_folder import KvFolder
from engine.scheduler.kv_store import KvStore
from engine.scheduler.prefix_cache import PrefixCache
from tests.backends.conformance import BackendConformance, feed
from tests.backends.test_llamacpp import open_backend
from tests.helpers.memory_models import write_hybrid, write_recurrent
from tests.helpers.synthetic_model import write_model

KINDS = ("full", "window", "recurrent", "hybrid")


def model_of(kind: str, folder: Path) -> Path:
    path = folder / f"{kind}.gguf"
    if path.exists():
        return path
    match kind:
        case "recurrent":
            return write_recurrent(path)
        case "hybrid":
            return write_hybrid(path)
        case _:
            return write_model(path, "gemma3" if kind == "window" else "llama")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("memories")


class _Memory(BackendConformance):
    tolerance = 5e-3
    removes_suffix = False
    forks_prefix = False
    kind = ""

    @pytest.fixture
    def backend(self, models: Path) -> Iterator[LlamaBackend]:
        backend = open_backend(model_of(self.kind, models))
        yield backend
        backend.close()


class TestWindow(_Memory):
    kind = "window"


class TestRecurrent(_Memory):
    kind = "recurrent"

    def test_no_space_leaves_everything_as_it_was(self, backend: LlamaBackend, fresh) -> None:
        """There is always room: a state takes the same, however long its text."""
        text = list(range(200)) * 3
        assert len(text) > backend.caps.n_cells
        assert self.same(feed(backend, SeqId(0), text), fresh(text))


class TestHybrid(_Memory):
    kind = "hybrid"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [40, 150])
def test_a_conversation_comes_back_from_disk(
    models: Path, tmp_path: Path, kind: str, length: int
) -> None:
    text = [(i * 37 + 11) % 250 for i in range(length)]
    further = [*text, 5, 6, 7]

    def cache(backend: LlamaBackend) -> PrefixCache:
        print_ = backend.caps.state_fingerprint
        return PrefixCache(
            backend, KvStore(print_, memory_bytes=0, folder=KvFolder(tmp_path, print_, 1 << 30))
        )

    first = open_backend(model_of(kind, models))
    expected = feed(first, SeqId(2), further)
    first.seq_clear(SeqId(2))
    kept = cache(first)
    found = kept.find(text, {}, needs_logits=True, key="k")
    assert found is not None
    feed(first, found.seq, text)
    kept.slots.release(found.seq, text, key="k")
    kept.close(10)
    first.close()

    second = open_backend(model_of(kind, models))
    feed(second, SeqId(1), [9] * 20)  # other cells than before
    found = cache(second).find(further, {}, needs_logits=True, key="k")
    assert found is not None
    assert found.num_restored == len(text)
    logits = feed(second, found.seq, further[found.num_held :])
    assert np.max(np.abs(logits - expected)) < 5e-3
    second.close()
