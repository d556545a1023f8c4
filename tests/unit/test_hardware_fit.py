"""Compared with what llama.cpp and the process really took (MiB, measured with SmolLM2-135M, 2 threads)."""

from dataclasses import replace

import pytest

from engine.formats.ghost_file import Allocation
from engine.hardware.facts import ModelFacts
from engine.hardware.fit import CELLS_AT_LOAD, memory_needed, need_of
from engine.types import KvType

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


@pytest.mark.parametrize(
    ("num_sequences", "kv_type", "private"),
    [(1, "f16", 93.6), (8, "f16", 95.2), (8, "q8_0", 74.3), (32, "f16", 99.8)],
)
def test_private_bytes_against_a_worker_just_loaded(
    num_sequences: int, kv_type: KvType, private: float
) -> None:
    need = memory_needed(Q4_1, context=CELLS_AT_LOAD, num_sequences=num_sequences, kv_type=kv_type)
    assert need.private / MIB == pytest.approx(private, rel=0.02)


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


@pytest.mark.parametrize(("context", "num_sequences", "kv"), [(16384, 8, 92), (2048, 1, 22)])
def test_sliding_window_of_all_sequences_and_the_spare_one(
    context: int, num_sequences: int, kv: float
) -> None:
    gemma = replace(Q4_1, kv_bytes_per_token=2048, window=512, window_bytes_per_token=12288)
    need = memory_needed(gemma, context=context, num_sequences=num_sequences)
    assert need.kv_cache / MIB == kv


def test_recurrent_state_by_sequences_not_by_context() -> None:
    mamba = replace(Q4_1, kv_bytes_per_token=0, state_bytes=MIB)
    assert memory_needed(mamba, context=65536, num_sequences=8).kv_cache == 9 * MIB


def test_llama_cpps_own_figures_go_before_the_formula() -> None:
    told = Allocation(weights=90 * MIB, repacked=60 * MIB, kv_cache=180 * MIB, compute=20 * MIB)
    need = need_of(told, Q4_1, 8)
    formula = memory_needed(Q4_1, context=8192, num_sequences=8)
    assert (need.weights, need.kv_cache, need.compute) == (90 * MIB, 180 * MIB, 20 * MIB)
    assert need.overhead == formula.overhead
    assert need.logits == 9 * 49152 * 4
    assert need.private == 240 * MIB + need.logits + need.overhead - 88 * MIB
    silent = Allocation(weights=90 * MIB, repacked=None, kv_cache=0, compute=0)
    assert need_of(silent, Q4_1, 8).repacked == 0
    assert need_of(silent, replace(Q4_1, repackable=True), 8).repacked == 90 * MIB
