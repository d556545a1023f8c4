"""Ways of computing attention: a cache of 8 bits behaves like any other, and what a way costs can be tried out."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from engine.backends.base import TILE, TRIAL_DEPTH, SeqId
from engine.backends.llamacpp.backend import LlamaBackend
from engine.backends.llamacpp.batch import LlamaBatch
from engine.errors import UnsupportedByBackend
from engine.hardware.attention import read_attention
from engine.scheduler.measuring import Measuring
from engine.types import KvType
from tests.backends.conformance import TEXT, BackendConformance, feed
from tests.backends.test_llamacpp import open_backend
from tests.helpers.memory_models import write_recurrent
from tests.helpers.synthetic_model import write_model


def write(folder: Path) -> Path:
    return write_model(folder / "wide.gguf", "llama", head_dim=32)


class TestSmallCache(BackendConformance):
    tolerance = 0.05  # numbers of 8 bits; a wrong position differs by more

    @pytest.fixture
    def backend(self, tmp_path: Path) -> Iterator[LlamaBackend]:
        backend = open_backend(write(tmp_path), kv_type="q8_0")
        yield backend
        backend.close()

    def test_it_takes_half_the_memory(self, backend: LlamaBackend, tmp_path: Path) -> None:
        usual = open_backend(write(tmp_path))
        share = backend.memory_report().kv_cache / usual.memory_report().kv_cache
        assert share == pytest.approx(34 / 64, rel=0.02)
        assert backend.caps.state_fingerprint != usual.caps.state_fingerprint
        logits = feed(usual, SeqId(0), TEXT)
        away = np.std(logits - feed(backend, SeqId(0), TEXT)) / np.std(logits)
        assert 0 < away < 0.03  # a lost token: 0.4
        usual.close()


class TestWithoutFlashAttention(BackendConformance):
    """Values lie the other way round in the cache: states, ranges and shared cells all go another way through it."""

    tolerance = 2e-3

    @pytest.fixture
    def backend(self, tiny_llama: Path) -> Iterator[LlamaBackend]:
        backend = open_backend(tiny_llama, flash=False)
        yield backend
        backend.close()


def test_a_model_whose_heads_do_not_divide_is_refused_with_the_reason(tiny_llama: Path) -> None:
    with pytest.raises(UnsupportedByBackend, match="cannot be q8_0") as caught:
        open_backend(tiny_llama, kv_type="q8_0")
    assert "f16" in caught.value.hint


@pytest.mark.parametrize("way", [(True, "f16"), (False, "f16"), (True, "q8_0")])
def test_a_trial_leaves_the_model_as_it_was(tmp_path: Path, way: tuple[bool, KvType]) -> None:
    backend = open_backend(write(tmp_path))
    before = feed(backend, SeqId(0), TEXT)
    trial = backend.attention_trial(*way)
    assert trial is not None
    assert trial.fill(128, TRIAL_DEPTH)
    assert trial.step(128) is not None  # there is room for a chunk behind it
    assert trial.step(1) is not None
    backend.request_abort()
    assert trial.step(128) is None
    assert trial.step(1) is not None  # and the request to stop is used up
    trial.close()
    assert backend.seq_truncate(SeqId(0), len(TEXT) - 1) == len(TEXT) - 1
    again = feed(backend, SeqId(0), TEXT[-1:])
    assert np.max(np.abs(again - before)) < 2e-3
    backend.close()


def test_rows_of_padding_are_seen_by_nobody(
    tiny_llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A short message far into a text is computed as a whole tile; where there is no room for one, as it is."""
    usual, padded = (
        open_backend(tiny_llama, context=512, pads_from=pads_from) for pads_from in (0, 4)
    )
    exact = open_backend(tiny_llama, context=512, flash=False)
    pads: list[int] = []
    pad = LlamaBatch.pad
    monkeypatch.setattr(
        LlamaBatch, "pad", lambda batch, rows, seq: (pads.append(rows), pad(batch, rows, seq))
    )
    cells = usual.caps.n_cells
    text = [3 + i % 50 for i in range(cells)]
    ends = [200, 210, 300, 303, 340, cells - 10, cells]
    for start, end in pairwise([0, *ends]):
        # behind the beginning, an ordinary chunk, too short, a short message, a chunk, and no room
        a, b, c = (feed(backend, SeqId(0), text[start:end]) for backend in (usual, padded, exact))
        # rows taken one by one are added up in 16 bits, a tile in 32; a lost token differs by more than 0.1
        assert np.max(np.abs(a - b)) < 0.03
        assert np.max(np.abs(b - c)) < np.max(np.abs(a - c)) + 2e-3
        assert padded.seq_len(SeqId(0)) == end
    assert pads == [TILE] * 4
    usual.close()
    padded.close()


def test_where_there_is_no_choice_there_is_no_trial(tmp_path: Path, tiny_llama: Path) -> None:
    recurrent, narrow = open_backend(write_recurrent(tmp_path / "r.gguf")), open_backend(tiny_llama)
    assert recurrent.attention_trial(True, "f16") is None
    assert narrow.attention_trial(True, "q8_0") is None
    recurrent.close()
    narrow.close()


def test_spare_time_measures_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps one at a time, a file at the end, and nothing to do for the next worker."""
    model, cache = write(tmp_path), tmp_path / "cache"
    from engine.hardware.attention import attention_file

    file = attention_file(cache, model)
    assert file is not None
    backend = open_backend(model, context=512)

    def measuring() -> Measuring:
        return Measuring(
            backend,
            threads=(1,),
            file=tmp_path / "steps.json",
            attention=file,
            others=lambda: 0.0,
            done=lambda figures: None,
            attention_done=lambda: told.append("attention"),
        )

    told: list[str] = []
    first = measuring()
    steps = 0
    while first.step(SeqId(2)):
        steps += 1
        assert steps < 200
    found = read_attention(cache, model)
    assert found.without_flash is not None
    assert found.small_cache is not None
    assert len(found.told) == 2
    assert told == ["attention"]
    second = measuring()
    assert second.figures == first.figures
    assert [second.step(SeqId(2)), second.step(SeqId(2))] == [True, False]
    file.write_bytes(
        b'[{"flash": true, "kv_type": "f16", "write_s": 0, "read_s": 1, "short_s": 1}]'
    )
    assert read_attention(cache, model).without_flash is None
    model.write_bytes(model.read_bytes() + b"\0")  # another file
    assert read_attention(cache, model).without_flash is None
    backend.close()


def test_states_of_one_way_are_not_taken_for_those_of_another(tmp_path: Path) -> None:
    usual, other = open_backend(write(tmp_path)), open_backend(write(tmp_path), flash=False)
    assert usual.caps.state_fingerprint != other.caps.state_fingerprint
    usual.close()
    other.close()
