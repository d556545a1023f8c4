"""The synthetic models do what their architectures say, in llama.cpp; else they would prove nothing."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from engine.formats.gguf import read_header
from tests.helpers import llama_oracle as oracle
from tests.helpers.synthetic_model import ARCHITECTURES, NUM_TOKENS, write_model

TOKENS = [int(token) for token in np.random.default_rng(1).integers(0, 256, 120)]
SAME = 1e-9
"""NMSE of two ways to the same F32 result; rounding gives 1e-15 to 1e-12."""
OTHER = 1e-3
"""NMSE above which two models really differ."""
WINDOW = 16

Logits = Callable[..., np.ndarray]


@pytest.fixture(scope="module")
def logits(tmp_path_factory: pytest.TempPathFactory) -> Logits:
    """Logits of `TOKENS` or of others in a model with these overrides."""
    folder = tmp_path_factory.mktemp("synthetic")

    def run(architecture: str, tokens: list[int] = TOKENS, **overrides: object) -> np.ndarray:
        path = folder / f"{hash((architecture, repr(overrides)))}.gguf"
        if not path.exists():
            write_model(path, architecture, **overrides)
        return oracle.logits(path, tokens)

    return run


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_each_loads_and_speaks(tmp_path: Path, architecture: str, logits: Logits) -> None:
    path = write_model(tmp_path / "a.gguf", architecture)
    assert path.read_bytes() == write_model(tmp_path / "b.gguf", architecture).read_bytes()
    assert path.read_bytes() != write_model(tmp_path / "c.gguf", architecture, seed=1).read_bytes()

    header = read_header(path)
    assert header.metadata["general.architecture"] == architecture
    assert header.metadata[f"{architecture}.vocab_size"] == NUM_TOKENS
    assert {tensor.type for tensor in header.tensors} == {"F32"}

    found = logits(architecture)
    assert found.shape == (len(TOKENS), NUM_TOKENS)
    assert found.dtype == np.float32
    assert np.isfinite(found).all()
    assert 1 < found.std() < 6, "neither flat nor one-hot"
    own = (found.argmax(-1) == TOKENS).mean()
    assert own < 0.2, "more than a copy of the last token"


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_each_is_causal_and_knows_positions(architecture: str, logits: Logits) -> None:
    whole = logits(architecture)
    assert oracle.nmse(logits(architecture, TOKENS[:50]), whole[:50]) < SAME
    assert oracle.nmse(logits(architecture, [*TOKENS[:50], *[9] * 70])[:50], whole[:50]) < SAME

    swapped = [*TOKENS]
    swapped[110], swapped[113] = TOKENS[113], TOKENS[110]
    assert oracle.nmse(logits(architecture, swapped)[-1], whole[-1]) > OTHER
    # one layer without positions would only sum over the earlier tokens, in any order
    one = logits(architecture, layers=1)
    assert oracle.nmse(logits(architecture, swapped, layers=1)[-1], one[-1]) > OTHER / 10


@pytest.mark.parametrize(
    ("architecture", "overrides"),
    [
        ("llama", {"tied": True}),
        ("llama", {"rope_freqs": True}),
        ("llama", {"freq_base": 500_000.0}),
        ("llama", {"biases": True}),
        ("llama", {"ffn_biases": True}),
        ("llama", {"head_dim": 32}),
        ("llama", {"metadata": {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0}}),
        ("qwen2", {"biases": False}),
        ("qwen2", {"output_bias": True}),
        ("qwen3", {"qk_norm": False}),
        ("qwen3", {"tied": False}),
        ("gemma3", {"qk_norm": False}),
        ("gemma3", {"tied": False}),
        ("gemma3", {"window": 0}),
        ("gemma3", {"window_pattern": 2}),
        ("gemma3", {"metadata": {"rope.freq_base_swa": 100.0}}),
        ("gemma3", {"metadata": {"final_logit_softcapping": 5.0}}),
    ],
    ids=lambda value: value if isinstance(value, str) else str(value).strip("{}"),
)
def test_what_is_optional_matters(
    architecture: str, overrides: dict[str, object], logits: Logits
) -> None:
    found = logits(architecture, **overrides)
    assert np.isfinite(found).all()
    assert oracle.nmse(found, logits(architecture)) > OTHER


def test_gemma3_sees_past_its_windows_only_through_the_global_layer(logits: Logits) -> None:
    """Six layers of windows of 16 reach 90 tokens back; the sixth is global and reaches all of them."""
    other = [(TOKENS[0] + 1) % 256, *TOKENS[1:]]
    reach = 6 * (WINDOW - 1)
    local = {"window_pattern": [True] * 6}
    before, after = logits("gemma3", **local), logits("gemma3", other, **local)
    changed = np.flatnonzero((before != after).any(-1))
    assert changed[-1] == reach, "a token sees itself and 15 before it"
    assert oracle.nmse(logits("gemma3", other)[-1], logits("gemma3")[-1]) > OTHER / 100

    wide = logits("gemma3", window=512)
    assert oracle.nmse(wide[:WINDOW], logits("gemma3")[:WINDOW]) < SAME
    assert oracle.nmse(wide[WINDOW:], logits("gemma3")[WINDOW:]) > OTHER


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(
    ("kind", "loss"),
    [("F16", 1e-4), ("BF16", 1e-2), ("Q4_0", 1.0), ("Q8_0", 1e-1), ("Q4_K", 1.0), ("Q6_K", 0.1)],
)
def test_other_types_load(
    tmp_path: Path, architecture: str, kind: str, loss: float, logits: Logits
) -> None:
    path = write_model(tmp_path / "m.gguf", architecture, quantization=kind)
    header = read_header(path)
    kinds = {tensor.type for tensor in header.tensors if len(tensor.shape) == 2}
    assert kinds == {kind}
    exact = logits(architecture, embd=header.metadata[f"{architecture}.embedding_length"])
    found = oracle.logits(path, TOKENS)
    assert oracle.nmse(found, exact) < loss
    assert oracle.mean_kl(found, exact) < 3


def test_types_mix_and_must_fit(tmp_path: Path) -> None:
    mixed = {"ffn_down": "Q6_K", "token_embd": "Q8_0"}
    path = write_model(tmp_path / "m.gguf", "llama", quantization="Q4_K", types=mixed)
    types = {tensor.name: tensor.type for tensor in read_header(path).tensors}
    assert types["blk.1.ffn_down.weight"] == "Q6_K"
    assert types["token_embd.weight"] == "Q8_0"
    assert types["blk.1.ffn_up.weight"] == "Q4_K"
    assert np.isfinite(oracle.logits(path, TOKENS[:8])).all()
    with pytest.raises(ValueError, match="rows of 64 do not fit the blocks of Q4_K"):
        write_model(path, "llama", quantization="Q4_K", embd=64)


def test_the_oracle_repeats_itself(tmp_path: Path) -> None:
    path = write_model(tmp_path / "m.gguf", "llama")
    whole = oracle.logits(path, TOKENS)
    assert oracle.nmse(oracle.logits(path, TOKENS, ubatch=7), whole) < SAME
    rounded = oracle.logits(path, TOKENS, kv="f16")
    assert SAME < oracle.nmse(rounded, whole) < 1e-4
    fused = oracle.logits(path, TOKENS, kv="f16", flash_attention=True)
    assert SAME < oracle.nmse(fused, whole) < 1e-4

    found = oracle.greedy(path, TOKENS[:30], 6)
    again = oracle.logits(path, [*TOKENS[:30], *found]).argmax(-1)
    assert found == again[29:-1].tolist()


def test_the_oracle_quantises_and_says_why_not(tmp_path: Path) -> None:
    path = write_model(tmp_path / "m.gguf", "qwen3", embd=256, layers=1)
    small = oracle.quantize(path, tmp_path / "small.gguf", "Q4_K_M")
    assert {tensor.type for tensor in read_header(small).tensors} == {"F32", "Q4_K", "Q6_K"}
    pure = oracle.quantize(small, tmp_path / "pure.gguf", "Q8_0", pure=True)
    assert {tensor.type for tensor in read_header(pure).tensors} == {"F32", "Q8_0"}
    assert oracle.nmse(oracle.logits(pure, TOKENS), oracle.logits(small, TOKENS)) < 0.1
    path = write_model(tmp_path / "bad.gguf", "qwen2", rope_freqs=True)
    with pytest.raises(RuntimeError, match="wrong number of tensors; expected 28, got 27"):
        oracle.logits(path, TOKENS)


def test_distances() -> None:
    a, b = np.array([[1.0, 2.0]], np.float32), np.array([[1.0, 1.0]], np.float32)
    assert oracle.nmse(a, b) == 0.5
    assert oracle.nmse(b, b) == oracle.mean_kl(b + 7, b) == 0
    p = 1 / (1 + np.exp(1.0))
    assert oracle.mean_kl(a, b) == pytest.approx(0.5 * (np.log(0.5 / p) + np.log(0.5 / (1 - p))))
