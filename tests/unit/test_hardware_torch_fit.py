"""Compared with workers that really opened SmolLM2-135M Q4_1 in our decoder (CPU) and decoded 300 rows; MiB."""

from dataclasses import replace

import pytest

from engine.hardware.facts import ModelFacts
from engine.hardware.torch_fit import torch_ram_needed, vram_needed

MIB = 1 << 20
SMOLLM2 = ModelFacts("llama", 98_362_432, 8192, 30, 576, 49152, 9216, 23040, 134_515_008, "")
CACHE_F32 = 2 * 23040


@pytest.mark.parametrize(
    ("context", "num_sequences", "resident"),
    [
        (2048, 1, 983),
        (2048, 8, 1057),
        (8192, 8, 1327),
        (16384, 64, 1729),
    ],
)
def test_estimate_against_measurement(context: int, num_sequences: int, resident: float) -> None:
    """Every sequence asked for as many logits as a verified draft does."""
    need = torch_ram_needed(SMOLLM2, context=context, num_sequences=num_sequences)
    assert need.weights == 538_060_032  # what the backend reports
    assert need.kv_cache == context * CACHE_F32
    assert resident <= need.total / MIB <= 1.1 * resident


def test_the_quantization_does_not_matter() -> None:
    f16 = replace(SMOLLM2, weights_bytes=269_000_000)
    for needed in (torch_ram_needed, vram_needed):
        assert needed(f16, context=2048, num_sequences=1) == needed(
            SMOLLM2, context=2048, num_sequences=1
        )


def test_a_window_saves_nothing() -> None:
    window = replace(SMOLLM2, kv_bytes_per_token=3040, window=512, window_bytes_per_token=20000)
    for needed in (torch_ram_needed, vram_needed):
        assert needed(window, context=8192, num_sequences=8) == needed(
            SMOLLM2, context=8192, num_sequences=8
        )


def test_a_context_is_rounded_up_to_pages() -> None:
    assert torch_ram_needed(SMOLLM2, context=1, num_sequences=1).kv_cache == 16 * CACHE_F32
    assert vram_needed(SMOLLM2, context=17, num_sequences=1).kv_cache == 32 * CACHE_F32 // 2


def test_vram_is_two_bytes_a_number_and_spare() -> None:
    need = vram_needed(SMOLLM2, context=8192, num_sequences=8)
    assert need.weights == 2 * 134_515_008
    assert need.kv_cache == 180 * MIB
    assert need.total > 1.05 * (need.weights + need.kv_cache + need.compute) + 500 * MIB


def test_what_loading_takes_is_there_before_the_cache_is() -> None:
    plain = vram_needed(SMOLLM2, context=8192, num_sequences=8)
    late = replace(SMOLLM2, conversion_bytes=plain.kv_cache + plain.compute + 100 * MIB)
    assert vram_needed(late, context=8192, num_sequences=8).compute == plain.compute + 100 * MIB
    small = replace(SMOLLM2, conversion_bytes=plain.kv_cache)
    assert vram_needed(small, context=8192, num_sequences=8) == plain
