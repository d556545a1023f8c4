"""Our decoder against llama.cpp on the same files: the mathematics of each architecture, then real weights."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from tests.backends.test_torch import open_backend
from tests.helpers import llama_oracle as oracle
from tests.helpers.synthetic_model import write_model

SILU, GELU = 1e-9, 5e-7
"""ggml's GELU is a table over half-precision numbers."""
TOKENS = [int(t) for t in np.random.default_rng(3).integers(0, 250, 120)]


def our_logits(path: Path, tokens: Sequence[int]) -> np.ndarray:
    """[len(tokens), n_vocab]"""
    backend = open_backend(path, context=len(tokens))
    n = len(tokens)
    batch = backend.new_batch(n)
    batch.token[:n], batch.pos[:n], batch.seq[:n], batch.out[:n] = tokens, range(n), 0, 1
    batch.n = n
    outputs = backend.decode(batch).outputs
    assert outputs is not None
    logits = np.stack([outputs.logits(i) for i in range(n)])
    backend.close()
    return logits


@pytest.mark.parametrize(
    ("architecture", "variant", "bound"),
    [
        ("llama", {}, SILU),
        ("llama", {"rope_freqs": True, "tied": True}, SILU),
        ("llama", {"biases": True, "ffn_biases": True}, SILU),
        ("llama", {"heads": 6, "heads_kv": 1, "embd": 96}, SILU),
        (
            "llama",
            {"metadata": {"rope.scaling.type": "linear", "rope.scaling.factor": 4.0}},
            SILU,
        ),
        ("llama", {"freq_base": 500_000.0, "eps": 1e-3}, SILU),
        ("qwen2", {}, SILU),
        ("qwen2", {"biases": False, "output_bias": True}, SILU),
        ("qwen3", {}, SILU),
        ("qwen3", {"head_dim": 32, "heads": 4, "embd": 64}, SILU),
        ("gemma3", {}, GELU),
        ("gemma3", {"window": 7, "window_pattern": 2}, GELU),
        ("gemma3", {"window": 5, "layers": 3, "window_pattern": [True, False, True]}, GELU),
        (
            "gemma3",
            {"metadata": {"rope.scaling.type": "linear", "rope.scaling.factor": 8.0}},
            GELU,
        ),
    ],
)
def test_the_mathematics(
    tmp_path: Path, architecture: str, variant: dict[str, Any], bound: float
) -> None:
    path = write_model(tmp_path / "model.gguf", architecture, **variant)
    assert oracle.nmse(our_logits(path, TOKENS), oracle.logits(path, TOKENS)) <= bound


@pytest.mark.parametrize("quantization", ["Q4_0", "Q8_0", "Q4_K", "Q6_K", "IQ4_XS", "BF16"])
def test_quantized_files_come_as_near_as_llama_cpp_comes_to_itself(
    tmp_path: Path, quantization: str
) -> None:
    path = write_model(tmp_path / "model.gguf", "llama", quantization=quantization)
    batched = oracle.logits(path, TOKENS)
    noise = oracle.nmse(oracle.logits(path, TOKENS, ubatch=1), batched)
    ours = our_logits(path, TOKENS)
    assert oracle.nmse(ours, batched) <= 3 * noise + 8e-3  # activations are quantized there
    assert oracle.mean_kl(ours, batched) <= 0.08


REAL = [int(t) for t in np.random.default_rng(5).integers(1000, 20_000, 48)]


def test_the_real_model(starter_model: Path) -> None:
    """SmolLM2-135M in Q4_1. What differs is llama.cpp's rounding of activations to 8 bits (the test below)."""
    ours, theirs = our_logits(starter_model, REAL), oracle.logits(starter_model, REAL, kv="f16")
    assert oracle.nmse(ours, theirs) <= 1e-3
    assert oracle.mean_kl(ours, theirs) <= 0.02


@pytest.mark.slow
def test_the_real_model_is_computed_exactly(starter_model: Path, tmp_path: Path) -> None:
    """With the same weights written out as F32, llama.cpp rounds nothing: then we agree."""
    exact = tmp_path / "exact.gguf"
    oracle.quantize(starter_model, exact, "F32")
    theirs = oracle.logits(exact, REAL)
    assert oracle.nmse(our_logits(starter_model, REAL), theirs) <= SILU
