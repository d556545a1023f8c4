"""The torch backend on its CPU reference path: the conformance suite, bit for bit."""

from collections.abc import Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from engine.backends.torch_cuda.backend import TorchBackend  # noqa: E402
from engine.backends.torch_cuda.opener import open_torch  # noqa: E402
from tests.backends.conformance import BackendConformance  # noqa: E402


def open_backend(path: Path, *, context: int = 96, num_sequences: int = 3) -> TorchBackend:
    backend, _ = open_torch(
        str(path).encode(),
        device="cpu",
        context=context,
        num_sequences=num_sequences,
        threads=1,
        progress=lambda fraction: None,
    )
    return backend


class TestTinyLlama(BackendConformance):
    tolerance = 0.0  # by construction

    @pytest.fixture
    def backend(self, tiny_llama: Path) -> Iterator[TorchBackend]:
        backend = open_backend(tiny_llama)
        yield backend
        backend.close()
