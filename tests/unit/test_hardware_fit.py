"""Compared with what llama.cpp and the process really took (MiB, measured with SmolLM2-135M, 2 threads)."""

from dataclasses import replace

import pytest

from engine.hardware.facts import ModelFacts
from engine.hardware.fit import memory_needed

MIB = 1 << 20
Q4_1 = ModelFacts(
    "llama", 98_362_432, 8192, 30, 576, 49152, 9216, 23040, 134_515_008, "", repackable=False
)


@pytest.mark.parametrize(
    ("context", "num_sequences", "n_ubatch", "kv", "buffers", "resident"),
    [
        (8192, 8, 512, 180, 23.0, 353),
        (2048, 1, 512, 45, 15.7, 216),
        (8192, 8, 128, 180, 6.9, 341),
        (32768, 8, 512, 720, 47.0, 894),
        (8192, 64, 512, 180, 38.8, 363),
    ],
)
def test_estimate_against_measurement(
    context: int, num_sequences: int, n_ubatch: int, kv: float, buffers: float, resident: float
) -> None:
    need = memory_needed(Q4_1, context=context, num_sequences=num_sequences, n_ubatch=n_ubatch)
    assert need.kv_cache / MIB == kv
    assert buffers <= need.compute / MIB <= 1.6 * buffers
    assert resident <= need.total / MIB <= resident + 120
    assert need.total == need.weights + need.kv_cache + need.compute + need.overhead


def test_repacked_copy_is_told_apart() -> None:
    """Q4_0: 403 MiB resident, of which 57 are the originals under repacked tensors."""
    q4_0 = replace(Q4_1, weights_bytes=91_726_912, repackable=True)
    need = memory_needed(q4_0, context=8192, num_sequences=8)
    assert need.repacked == q4_0.weights_bytes
    assert (need.total + need.repacked) / MIB >= 403
    assert need.total / MIB >= (403 - 57)


def test_context_is_rounded_up_like_llama_cpp_does() -> None:
    small = memory_needed(Q4_1, context=1, num_sequences=1)
    assert small.kv_cache == 256 * 23040
    assert small == memory_needed(Q4_1, context=256, num_sequences=1)


@pytest.mark.parametrize(("context", "num_sequences", "kv"), [(16384, 8, 86), (2048, 2, 22)])
def test_sliding_window(context: int, num_sequences: int, kv: float) -> None:
    gemma = replace(Q4_1, kv_bytes_per_token=2048, window=512, window_bytes_per_token=12288)
    need = memory_needed(gemma, context=context, num_sequences=num_sequences)
    assert need.kv_cache / MIB == kv


def test_recurrent_state_by_sequences_not_by_context() -> None:
    mamba = replace(Q4_1, kv_bytes_per_token=0, state_bytes=MIB)
    assert memory_needed(mamba, context=65536, num_sequences=8).kv_cache == 8 * MIB
