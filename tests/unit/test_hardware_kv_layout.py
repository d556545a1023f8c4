"""The expected sizes of the shapes marked "llama.cpp" are what its log printed for such a file."""

import pytest

from engine.hardware.claims import Claims
from engine.hardware.kv_layout import KvLayout, kv_layout

MIB = 1 << 20


def layout(arch: str, n_layer: int, n_embd: int, **entries: object) -> KvLayout | None:
    keys = {f"{arch}.{k.replace('__', '.')}": v for k, v in entries.items()}
    return kv_layout(Claims({"general.architecture": arch, **keys}), n_layer, n_embd)


def found(arch: str, n_layer: int, n_embd: int, **entries: object) -> KvLayout:
    result = layout(arch, n_layer, n_embd, **entries)
    assert result is not None
    return result


def test_grouped_heads() -> None:
    """SmolLM2-135M: 180 MiB at 8,192 tokens (llama.cpp)."""
    small = found("llama", 30, 576, attention__head_count=9, attention__head_count_kv=3)
    assert small == KvLayout(full=23040)
    assert small.full * 8192 == 180 * MIB


def test_published_figures() -> None:
    """Qwen3-4B 144 kB a token, Llama-3-8B 128 kB."""
    qwen = found(
        "qwen3",
        36,
        2560,
        attention__head_count=32,
        attention__head_count_kv=8,
        attention__key_length=128,
        attention__value_length=128,
    )
    assert qwen.full == 144 << 10
    llama = found("llama", 32, 4096, attention__head_count=32, attention__head_count_kv=8)
    assert llama.full == 128 << 10


def test_without_kv_heads_every_head_counts() -> None:
    assert found("llama", 2, 64, attention__head_count=4).full == 2 * 4 * (16 + 16) * 2


def test_per_layer_heads() -> None:
    per_layer = found("deci", 3, 64, attention__head_count=4, attention__head_count_kv=(4, 0, 1))
    assert per_layer == KvLayout(full=5 * 32 * 2)


def test_sliding_window_of_gemma3() -> None:
    """14 layers, window 512, period 6 unless the file says otherwise (llama.cpp)."""
    shape = {
        "attention__head_count": 4,
        "attention__head_count_kv": 1,
        "attention__key_length": 256,
        "attention__value_length": 256,
        "attention__sliding_window": 512,
    }
    gemma = found("gemma3", 14, 640, **shape)
    assert (gemma.full, gemma.windowed, gemma.window) == (2 * 1024, 12 * 1024, 512)
    assert "12 of 14 layers" in gemma.notes[0]
    stated = found("gemma3", 14, 640, **shape, attention__sliding_window_pattern=2)
    assert (stated.full, stated.windowed) == (7 * 1024, 7 * 1024)
    listed = found(
        "gemma4", 14, 640, **shape, attention__sliding_window_pattern=(True,) * 3 + (False,) * 11
    )
    assert (listed.full, listed.windowed) == (11 * 1024, 3 * 1024)


@pytest.mark.parametrize("arch", ["phi3", "llama", "brand-new"])
def test_window_that_llama_cpp_may_not_use_saves_nothing(arch: str) -> None:
    flat = found(arch, 4, 64, attention__head_count=4, attention__sliding_window=128)
    assert (flat.windowed, flat.window) == (0, 0)
    assert flat.full == 4 * 4 * 32 * 2


def test_different_head_sizes_in_the_window() -> None:
    mixed = found(
        "gemma2",
        2,
        64,
        attention__head_count=1,
        attention__key_length=512,
        attention__value_length=512,
        attention__key_length_swa=256,
        attention__value_length_swa=256,
        attention__sliding_window=128,
    )
    assert (mixed.full, mixed.windowed) == (2048, 1024)


def test_latent_attention_keeps_no_v() -> None:
    deepseek = found(
        "deepseek2",
        27,
        2048,
        attention__head_count=16,
        attention__head_count_kv=1,
        attention__key_length=576,
        attention__value_length=512,
        attention__key_length_mla=192,
    )
    assert deepseek.full == 27 * 576 * 2


def test_recurrent_model_has_state_and_no_cache() -> None:
    """mamba of 6 layers, 8 sequences: 3.56 MiB (llama.cpp); the groups of its successor are none of its own."""
    mamba = found("mamba", 6, 512, ssm__inner_size=1024, ssm__state_size=16, ssm__conv_kernel=4)
    assert mamba.full == 0
    assert round(mamba.state * 8 / MIB, 2) == 3.56
    assert not mamba.notes


def test_hybrid_by_layers_without_heads() -> None:
    """lfm2, 2 of 6 layers with attention: 2 kB a token, 0.12 MiB of state for 8 sequences (llama.cpp)."""
    lfm2 = found(
        "lfm2",
        6,
        512,
        attention__head_count=8,
        attention__head_count_kv=(0, 0, 4, 0, 4, 0),
        attention__key_length=64,
        attention__value_length=64,
        shortconv__l_cache=3,
    )
    assert lfm2.full == 2048
    assert round(lfm2.state * 8 / MIB, 2) == 0.12


def test_hybrid_by_interval() -> None:
    shape = {
        "attention__head_count": 16,
        "attention__head_count_kv": 2,
        "attention__key_length": 256,
        "attention__value_length": 256,
        "ssm__inner_size": 4096,
        "ssm__state_size": 128,
        "ssm__group_count": 16,
        "ssm__conv_kernel": 4,
    }
    qwen = found("qwen3next", 48, 2048, **shape)
    assert qwen.full == 12 * 2 * 512 * 2
    assert qwen.state >= 36 * 128 * 4096 * 4
    assert found("qwen3next", 48, 2048, **shape, full_attention_interval=2).full == 24 * 2 * 512 * 2


def test_attention_and_state_in_every_layer() -> None:
    falcon = found(
        "falcon-h1", 4, 64, attention__head_count=4, ssm__inner_size=128, ssm__state_size=16
    )
    assert falcon.full == 4 * 4 * 32 * 2
    assert falcon.state > 0


def test_rwkv_state() -> None:
    assert found("rwkv7", 2, 768, wkv__head_size=64).state == 2 * 768 * 66 * 4


def test_listed_recurrent_layers_go_before_the_interval() -> None:
    listed = {"attention__recurrent_layers": (True, False, True)}
    shape = {"attention__head_count": 4, "ssm__inner_size": 64, "ssm__state_size": 8}
    mixed = found("qwen35", 3, 64, **shape, **listed)
    assert mixed.full == 4 * 32 * 2
    assert mixed.state == 2 * found("mamba", 1, 64, **shape).state


def test_layers_that_only_guess_ahead_keep_nothing_here() -> None:
    shape = {"attention__head_count": 4}
    assert found("glm4moe", 5, 64, **shape, nextn_predict_layers=1).full == 4 * 4 * 32 * 2
    assert found("glm4moe", 1, 64, **shape, nextn_predict_layers=9).full == 4 * 32 * 2


def test_layers_that_use_the_cache_of_others() -> None:
    shape = {"attention__head_count": 4}
    assert found("gemma4", 10, 64, **shape, attention__shared_kv_layers=4).full == 6 * 4 * 32 * 2
    assert found("gemma3n", 30, 64, **shape).full == 20 * 4 * 32 * 2


def test_nemotron_layers_are_one_of_three() -> None:
    nemotron = found(
        "nemotron_h",
        3,
        64,
        attention__head_count=4,
        attention__head_count_kv=(4, 0, 0),
        feed_forward_length=(0, 0, 128),
        ssm__inner_size=64,
        ssm__state_size=8,
    )
    assert nemotron.full == 4 * 32 * 2
    assert nemotron.state == (3 * 64 + 8 * 64) * 4


def test_kimi_keeps_a_square_for_each_head() -> None:
    kimi = found(
        *("kimi-linear", 2, 64),
        attention__head_count=4,
        attention__head_count_kv=(4, 0),
        kda__head_dim=16,
    )
    assert kimi.state == (3 * 3 * 16 + 16 * 16) * 4 * 4


def test_states_nobody_knows_are_guessed_and_said_so() -> None:
    unknown = found("new", 2, 64, attention__head_count=4, attention__head_count_kv=(4, 0))
    assert unknown.state == 64 * 256 * 4
    assert "estimated" in unknown.notes[0]


def test_too_little_said_is_none() -> None:
    assert layout("llama", 0, 576, attention__head_count=9) is None
    assert layout("llama", 30, 576) is None
    assert layout("llama", 30, 576, attention__head_count=(0, 0)) is None
