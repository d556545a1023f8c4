"""What runs on a GPU, computed on the CPU: bfloat16 weights and cache, candidates picked on the device."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from engine.backends.torch_cuda.backend import TorchBackend  # noqa: E402
from engine.backends.torch_cuda.kv_cache import KvCache  # noqa: E402
from engine.backends.torch_cuda.outputs import DeviceOutputs  # noqa: E402
from engine.backends.torch_cuda.weights import load_weights  # noqa: E402
from engine.formats.decoder_reader import read_decoder  # noqa: E402
from engine.formats.gguf import read_header  # noqa: E402
from tests.backends.conformance import TEXT, BackendConformance, feed  # noqa: E402
from tests.helpers import llama_oracle as oracle  # noqa: E402
from tests.helpers.synthetic_model import ARCHITECTURES, write_model  # noqa: E402


def open_half(path: Path) -> TorchBackend:
    torch.set_num_threads(1)
    header, cpu = read_header(path), torch.device("cpu")
    spec = read_decoder(header)
    assert not isinstance(spec, str)
    weights = load_weights(
        path, header, dtype=torch.bfloat16, device=cpu, progress=lambda fraction: None
    )
    kv = KvCache(
        n_layer=spec.n_layer,
        n_head_kv=spec.n_head_kv,
        head_dim=spec.head_dim,
        n_cells=96,
        n_seq_max=3,
        dtype=torch.bfloat16,
        device=cpu,
    )
    return TorchBackend(spec, weights, kv, n_seq_max=3, fingerprint="half")


class TestConformance(BackendConformance):
    tolerance = 0.0

    @pytest.fixture
    def backend(self, tiny_llama: Path) -> Iterator[TorchBackend]:
        backend = open_half(tiny_llama)
        yield backend
        backend.close()


@pytest.mark.parametrize(
    ("architecture", "variant"),
    [*((name, {}) for name in ARCHITECTURES), ("llama", {"rope_freqs": True})],
)
def test_half_precision_stays_near(tmp_path: Path, architecture: str, variant) -> None:
    path = write_model(tmp_path / "m.gguf", architecture, **variant)
    backend = open_half(path)
    n = len(TEXT)
    batch = backend.new_batch(n)
    batch.token[:n], batch.pos[:n], batch.seq[:n], batch.out[:n] = TEXT, range(n), 0, 1
    batch.n = n
    outputs = backend.decode(batch).outputs
    assert outputs is not None
    ours = np.stack([outputs.logits(i) for i in range(n)])
    assert oracle.nmse(ours, oracle.logits(path, TEXT)) < 2e-3
    assert backend.memory_report().weights < 0.6 * path.stat().st_size
    backend.close()


def test_candidates_of_the_device_are_those_of_the_host(tiny_llama: Path) -> None:
    backend = open_half(tiny_llama)
    row = feed(backend, 0, TEXT)
    on_device = DeviceOutputs(torch.from_numpy(row[None]))
    order = np.lexsort((np.arange(len(row)), -row))[:9]
    found = on_device.candidates(0, 9)
    assert found.ids.tolist() == order.tolist()
    assert np.array_equal(found.logits, row[order])
    backend.close()
