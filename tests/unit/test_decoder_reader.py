"""`read_decoder`: the right numbers for what we compute, half a sentence for everything else, never an exception."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.formats.decoder_reader import read_decoder
from engine.formats.decoder_spec import DecoderSpec, Rope
from engine.formats.decoder_tensors import optional_tensors, required_tensors
from engine.formats.gguf import read_header
from engine.formats.gguf_header import GgufHeader, Omitted, TensorInfo
from tests.helpers.synthetic_model import ARCHITECTURES, NUM_TOKENS, write_model

USUAL = {
    "llama": {"n_layer": 3, "rope_layout": "pairs", "rms_eps": pytest.approx(1e-5)},
    "qwen2": {"rope": Rope(1_000_000.0)},
    "qwen3": {"rope": Rope(1_000_000.0), "head_dim": 32, "attention_scale": 32**-0.5},
    "gemma3": {
        "n_layer": 6,
        "n_head_kv": 1,
        "head_dim": 32,
        "attention_scale": 32**-0.5,
        "rope": Rope(1_000_000.0),
        "local_rope": Rope(10_000.0),
        "window": 16,
        "is_local": (True,) * 5 + (False,),
        "activation": "gelu",
        "embedding_scale": 8.0,
    },
}
VARIANTS = [
    ("llama", {"biases": True, "ffn_biases": True, "rope_freqs": True, "tied": True}, {}),
    ("llama", {"heads": 2, "heads_kv": 1, "head_dim": 16}, {"n_head": 2, "head_dim": 16}),
    ("llama", {"ff": 96, "embd": 128, "layers": 1}, {"n_ff": 96, "n_embd": 128, "n_layer": 1}),
    ("llama", {"n_ctx": 7}, {"n_ctx_train": 7}),
    ("llama", {"metadata": {"rope.freq_base": None}}, {"rope": Rope(10_000.0)}),
    ("llama", {"metadata": {"rope.scaling.factor": 4.0}}, {"rope": Rope(10_000.0, 0.25)}),
    ("llama", {"metadata": {"rope.scaling.type": "linear", "rope.scaling.factor": 2.0}}, {}),
    (
        *("llama", {"metadata": {"rope.scaling.type": "none", "rope.scaling.factor": 2.0}}),
        {"rope": Rope(10_000.0)},
    ),
    ("llama", {"metadata": {"attention.head_count_kv": None}, "heads_kv": 4}, {"n_head_kv": 4}),
    ("llama", {"quantization": "Q4_K"}, {"n_embd": 256}),
    ("llama", {"quantization": "Q8_0", "embd": 256, "types": {"output.": "Q6_K"}}, {}),
    ("qwen2", {"output_bias": True, "biases": False}, {}),
    ("qwen3", {"biases": True, "tied": False, "quantization": "BF16"}, {}),
    ("gemma3", {"window": 0}, {"window": 0, "is_local": (False,) * 6}),
    ("gemma3", {"window_pattern": 3}, {"is_local": (True, True, False) * 2}),
    ("gemma3", {"window_pattern": 99}, {"is_local": (True,) * 6}),
    (
        *("gemma3", {"window_pattern": [False, True, False, True, True, False]}),
        {"is_local": (False, True, False, True, True, False)},
    ),
    (
        *("gemma3", {"metadata": {"rope.scaling.factor": 8.0, "rope.freq_base_swa": 5000.0}}),
        {"rope": Rope(1_000_000.0, 0.125), "local_rope": Rope(5000.0)},  # local ones: not scaled
    ),
    # llama.cpp's 27B: the scale is of the width over the heads
    ("gemma3", {"layers": 62, "ff": 32}, {"attention_scale": 16**-0.5, "head_dim": 32}),
]


def write(folder: Path, architecture: str, **overrides: object) -> GgufHeader:
    return read_header(write_model(folder / "m.gguf", architecture, **overrides))


def understood(header: GgufHeader) -> DecoderSpec:
    spec = read_decoder(header)
    assert isinstance(spec, DecoderSpec), spec
    return spec


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_each_architecture_gives_its_numbers(tmp_path: Path, architecture: str) -> None:
    usual = {
        "architecture": architecture,
        "n_layer": 2,
        "n_embd": 64,
        "n_ff": 128,
        "n_head": 4,
        "n_head_kv": 2,
        "head_dim": 16,
        "n_vocab": NUM_TOKENS,
        "n_ctx_train": 512,
        "rms_eps": pytest.approx(1e-6),
        "rope_layout": "halves",
        "rope": Rope(10_000.0),
        "window": 0,
        "activation": "silu",
        "embedding_scale": 1.0,
        "attention_scale": 0.25,
    } | USUAL[architecture]
    spec = understood(write(tmp_path, architecture))
    assert {name: getattr(spec, name) for name in usual} == usual
    assert len(spec.is_local) == spec.n_layer
    if architecture != "gemma3":
        assert spec.local_rope == spec.rope
        assert not any(spec.is_local)


@pytest.mark.parametrize(("architecture", "overrides", "expected"), VARIANTS)
def test_variants_are_understood(tmp_path: Path, architecture, overrides, expected) -> None:
    header = write(tmp_path, architecture, **overrides)
    spec = understood(header)
    assert {name: getattr(spec, name) for name in expected} == expected
    names = {tensor.name for tensor in header.tensors}
    assert set(required_tensors(spec)) <= names
    assert names <= {*required_tensors(spec), *optional_tensors(spec)}


# --- refusals: the reason names what is in the way ------------------------------------------------------


@pytest.fixture(scope="module")
def headers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, GgufHeader]:
    folder = tmp_path_factory.mktemp("headers")
    return {name: write(folder, name) for name in ARCHITECTURES}


def entry(key: str, value: object) -> Callable[[GgufHeader], GgufHeader]:
    """With another entry of the architecture; None takes it away. A key with a colon is whole."""

    def change(header: GgufHeader) -> GgufHeader:
        whole = key[1:] if key.startswith(":") else f"{header.architecture}.{key}"
        metadata = {k: v for k, v in header.metadata.items() if k != whole}
        return replace(header, metadata=metadata | ({} if value is None else {whole: value}))

    return change


def tensor(name: str, **change: object) -> Callable[[GgufHeader], GgufHeader]:
    return lambda header: replace(
        header,
        tensors=tuple(replace(t, **change) if t.name == name else t for t in header.tensors),
    )


def without(*names: str) -> Callable[[GgufHeader], GgufHeader]:
    return lambda header: replace(
        header, tensors=tuple(t for t in header.tensors if t.name not in names)
    )


def extra(name: str, *shape: int) -> Callable[[GgufHeader], GgufHeader]:
    info = TensorInfo(name, shape, "F32", 0, 4 * math.prod(shape))
    return lambda header: replace(header, tensors=(*header.tensors, info))


REFUSALS = {
    "another architecture": ("llama", entry(":general.architecture", "mamba"), "mamba"),
    "a newer relative": ("llama", entry(":general.architecture", "llama4"), "llama4"),
    "no architecture": ("llama", entry(":general.architecture", None), "architecture unknown"),
    "no text": ("llama", entry(":general.architecture", 7), "architecture unknown"),
    "split": ("llama", entry(":split.count", 2), "split"),
    # entries that change the mathematics
    "unheard of": ("llama", entry("some.new_thing", 1), "llama.some.new_thing"),
    "nameless": ("llama", entry("", 1), "llama."),
    "attn_factor": ("llama", entry("rope.scaling.attn_factor", 1.2), "attn_factor"),
    "old scale": ("llama", entry("rope.scale_linear", 2.0), "scale_linear"),
    "experts": ("llama", entry("expert_count", 8), "expert_count"),
    "not causal": ("qwen3", entry("attention.causal", False), "causal"),
    "pooling": ("qwen3", entry("pooling_type", 3), "pooling_type"),
    "soft cap": ("gemma3", entry("final_logit_softcapping", 30.0), "softcapping"),
    "draft layers": ("qwen3", entry("nextn_predict_layers", 1), "nextn"),
    "window of llama": ("llama", entry("attention.sliding_window", 64), "sliding_window"),
    "windows' heads": ("gemma3", entry("attention.key_length_swa", 32), "key_length_swa"),
    "attention scale": ("gemma3", entry("attention.scale", 0.5), "attention.scale"),
    "yarn": ("llama", entry("rope.scaling.type", "yarn"), "scaled by yarn"),
    "longrope": ("llama", entry("rope.scaling.type", "longrope"), "scaled by longrope"),
    "no scaling type": ("qwen2", entry("rope.scaling.type", 1), "scaled by 1"),
    "factor 0": ("qwen2", entry("rope.scaling.factor", 0.0), "factor"),
    "factor NaN": ("qwen2", entry("rope.scaling.factor", math.nan), "factor"),
    "factor too small": ("qwen2", entry("rope.scaling.factor", 5e-324), "factor"),
    # heads
    "only keys' length": ("qwen3", entry("attention.value_length", None), "different sizes"),
    "only values' length": ("qwen3", entry("attention.key_length", None), "different sizes"),
    "other values": ("qwen3", entry("attention.value_length", 16), "different sizes"),
    "partial rotary": ("gemma3", entry("rope.dimension_count", 16), "a part of each head"),
    "three kv heads": ("llama", entry("attention.head_count_kv", 3), "grouped"),
    "more kv heads": ("llama", entry("attention.head_count_kv", 8), "grouped"),
    "no kv heads": ("llama", entry("attention.head_count_kv", 0), "head_count_kv"),
    "heads by layer": ("llama", entry("attention.head_count", (4, 4, 4)), "head_count"),
    "kv heads by layer": ("llama", entry("attention.head_count_kv", (2, 1, 2)), "head_count_kv"),
    "widths by layer": ("llama", entry("feed_forward_length", (128,) * 3), "feed_forward_length"),
    "a long array": ("llama", entry("attention.head_count", Omitted("u32", 9999)), "head_count"),
    "more heads than numbers": ("qwen2", entry("attention.head_count", 65), "more heads"),
    "more heads, given keys": ("gemma3", entry("attention.head_count", 65), "more heads"),
    # windows
    "pattern 1": ("gemma3", entry("attention.sliding_window_pattern", 1), "windows"),
    "pattern 0": ("gemma3", entry("attention.sliding_window_pattern", 0), "windows"),
    "pattern text": ("gemma3", entry("attention.sliding_window_pattern", "all"), "windows"),
    "pattern bool": ("gemma3", entry("attention.sliding_window_pattern", True), "windows"),
    "short": ("gemma3", entry("attention.sliding_window_pattern", (True, False)), "windows"),
    "none local": ("gemma3", entry("attention.sliding_window_pattern", (False,) * 6), "windows"),
    "texts": ("gemma3", entry("attention.sliding_window_pattern", ("l",) * 6), "windows"),
    "reals": ("gemma3", entry("attention.sliding_window_pattern", (0.5,) * 6), "windows"),
    "long": ("gemma3", entry("attention.sliding_window_pattern", Omitted("u8", 2000)), "windows"),
    "window -1": ("gemma3", entry("attention.sliding_window", -1), "sliding_window"),
    # impossible numbers
    "no layers": ("llama", entry("block_count", 0), "block_count"),
    "millions of layers": ("llama", entry("block_count", 10_000_000), "more layers"),
    "2**31 layers": ("llama", entry("block_count", 2**31), "block_count"),
    "no layer count": ("llama", entry("block_count", None), "block_count"),
    "no width": ("llama", entry("embedding_length", None), "embedding_length"),
    "width of 1.5": ("llama", entry("embedding_length", 64.0), "embedding_length"),
    "width in words": ("llama", entry("embedding_length", "64"), "embedding_length"),
    "true heads": ("llama", entry("attention.head_count", True), "head_count"),
    "negative heads": ("llama", entry("attention.head_count", -4), "head_count"),
    "no context": ("llama", entry("context_length", None), "context_length"),
    "no epsilon": ("llama", entry("attention.layer_norm_rms_epsilon", None), "epsilon"),
    "epsilon 0": ("llama", entry("attention.layer_norm_rms_epsilon", 0.0), "epsilon"),
    "epsilon true": ("llama", entry("attention.layer_norm_rms_epsilon", True), "epsilon"),
    "base of infinity": ("llama", entry("rope.freq_base", math.inf), "freq_base"),
    "base below 0": ("llama", entry("rope.freq_base", -1.0), "freq_base"),
    "base in words": ("llama", entry("rope.freq_base", "1e4"), "freq_base"),
    # tensors
    "no embedding": ("llama", without("token_embd.weight"), "no embedding"),
    "flat embedding": ("llama", tensor("token_embd.weight", shape=(64,)), "no embedding"),
    "narrow embedding": ("llama", tensor("token_embd.weight", shape=(32, NUM_TOKENS)), "embd"),
    "more rows": ("llama", tensor("token_embd.weight", shape=(64, 300)), "vocabulary"),
    "more tokens": ("llama", entry(":tokenizer.ggml.tokens", Omitted("strings", 9999)), "vocab"),
    "no norm": ("llama", without("output_norm.weight"), "lacks the tensor output_norm.weight"),
    "no query": ("llama", without("blk.1.attn_q.weight"), "lacks the tensor blk.1.attn_q.weight"),
    "no head norm": ("qwen3", without("blk.0.attn_q_norm.weight"), "blk.0.attn_q_norm.weight"),
    "no post norm": ("gemma3", without("blk.5.post_ffw_norm.weight"), "blk.5.post_ffw_norm"),
    "a layer more": ("llama", entry("block_count", 4), "lacks the tensor blk.3."),
    "a layer less": ("llama", entry("block_count", 2), "blk.2."),
    "fused": ("llama", extra("blk.0.attn_qkv.weight", 64, 128), "blk.0.attn_qkv.weight"),
    "a scale": ("llama", extra("blk.0.ffn_up.scale", 1), "blk.0.ffn_up.scale"),
    "router": ("llama", extra("blk.0.ffn_gate_inp.weight", 64, 8), "ffn_gate_inp"),
    "experts' tensor": ("llama", extra("blk.0.ffn_up_exps.weight", 64, 128, 8), "ffn_up_exps"),
    "long factors": ("llama", extra("rope_factors_long.weight", 8), "rope_factors_long"),
    "ranking": ("qwen3", extra("cls.output.weight", 64, 2), "cls.output.weight"),
    "frequencies of qwen2": ("qwen2", extra("rope_freqs.weight", 8), "rope_freqs"),
    "bias of llama's output": ("llama", extra("output.bias", NUM_TOKENS), "output.bias"),
    "bias of qwen2's ffn": ("qwen2", extra("blk.0.ffn_up.bias", 128), "blk.0.ffn_up.bias"),
    "half of the frequencies": ("llama", extra("rope_freqs.weight", 4), "another shape"),
    "turned matrix": ("llama", tensor("blk.0.ffn_up.weight", shape=(128, 64)), "another shape"),
    "a bias of one": ("qwen2", tensor("blk.0.attn_q.bias", shape=(1,)), "another shape"),
    "a third dimension": ("llama", tensor("output_norm.weight", shape=(64, 1)), "another shape"),
    "whole numbers": ("llama", tensor("blk.0.ffn_up.weight", type="I8"), "of I8"),
    "doubles": ("llama", tensor("blk.0.ffn_up.weight", type="F64"), "of F64"),
    "unknown type": ("llama", tensor("blk.0.ffn_up.weight", type="type 99"), "type 99"),
}


@pytest.mark.parametrize(("architecture", "change", "word"), REFUSALS.values(), ids=REFUSALS)
def test_whatever_else_is_refused_with_its_reason(headers, architecture, change, word) -> None:
    reason = read_decoder(change(headers[architecture]))
    assert isinstance(reason, str)
    assert word in reason
    assert reason[0].islower() or reason.startswith("it")
    assert not reason.endswith(".") or word.endswith(".")


def test_refusals_hold_for_real_files(tmp_path: Path) -> None:
    for metadata, word in (
        ({"rope.scaling.attn_factor": 1.0}, "attn_factor"),
        ({"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0}, "yarn"),
        ({"attention.head_count_kv": [2, 2, 2]}, "head_count_kv"),
        ({"expert_count": 4}, "expert_count"),
    ):
        assert word in str(read_decoder(write(tmp_path, "llama", metadata=metadata)))


def test_a_reason_is_one_short_printable_line(headers) -> None:
    for change in (
        entry(":general.architecture", "\x1b[31m\n" + 9999 * "x"),
        entry("a\nb\u202e", 1),
        entry("rope.scaling.type", "\r" * 5000),
        extra("blk.0.\x07", 1),
    ):
        reason = read_decoder(change(headers["llama"]))
        assert isinstance(reason, str)
        assert reason.isprintable()
        assert len(reason) < 1000


# --- whatever a file claims ----------------------------------------------------------------------------

KEYS = sorted(
    {
        *("block_count", "context_length", "embedding_length", "feed_forward_length"),
        *("vocab_size", "attention.head_count", "attention.head_count_kv", "rope.freq_base"),
        *("attention.key_length", "attention.value_length", "rope.dimension_count"),
        *("attention.layer_norm_rms_epsilon", "rope.scaling.type", "rope.scaling.factor"),
        *("rope.scaling.original_context_length", "rope.scaling.finetuned", "rope.freq_base_swa"),
        *("attention.sliding_window", "attention.sliding_window_pattern", "expert_count"),
    }
)
scalars = st.one_of(
    st.sampled_from([0, 1, 2, 3, 4, 6, 16, 32, 62, 64, 65, 512, 513, 2**24 - 1, 2**24, 2**63]),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(),
    st.booleans(),
    st.text(max_size=8),
    st.sampled_from(["linear", "none", "yarn"]),
)
values = st.one_of(
    scalars,
    st.lists(scalars, max_size=7).map(tuple),
    st.builds(Omitted, st.just("u32"), st.integers(0, 2**40)),
    st.none(),
)


def numbers_of(spec: DecoderSpec) -> Iterator[float]:
    yield from (spec.n_layer, spec.n_embd, spec.n_ff, spec.n_head, spec.n_head_kv, spec.head_dim)
    yield from (spec.n_vocab, spec.n_ctx_train, spec.rms_eps, spec.attention_scale)
    yield from (spec.rope.base, spec.rope.scale, spec.local_rope.base, spec.local_rope.scale)


@given(
    architecture=st.sampled_from(ARCHITECTURES),
    entries=st.dictionaries(st.sampled_from(KEYS), values, max_size=4),
)
@settings(max_examples=400, deadline=None)
def test_random_entries_give_numbers_or_a_reason(headers, architecture, entries) -> None:
    header = headers[architecture]
    for key, value in entries.items():
        header = entry(key, value)(header)
    spec = read_decoder(header)
    if isinstance(spec, str):
        assert spec
        return
    assert all(math.isfinite(number) and number > 0 for number in numbers_of(spec))
    assert spec.window >= 0
    assert len(spec.is_local) == spec.n_layer
    assert any(spec.is_local) == (spec.window > 0)


@given(data=st.data(), architecture=st.sampled_from(ARCHITECTURES))
@settings(max_examples=100, deadline=None)
def test_random_tensors_give_a_reason(headers, data, architecture) -> None:
    header = headers[architecture]
    chosen = data.draw(st.sampled_from(header.tensors))
    shape = data.draw(st.lists(st.integers(1, 2**40), max_size=4).map(tuple))
    changed = tensor(chosen.name, shape=shape)(header)
    assert isinstance(read_decoder(changed), str) == (shape != chosen.shape)
