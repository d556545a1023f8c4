"""How much memory a model takes in our own decoder (`engine.backends.torch_cuda`): `MemoryNeed`. Pure.

All weights are dequantized while they are loaded, so the quantization of the file does not matter. Measured on the
CPU (SmolLM2-135M, a worker that decodes): 2 to 10 % high. Neighbours: `fit` (llama.cpp), `placement`.
"""

from engine.hardware.facts import ModelFacts
from engine.hardware.fit import DEFAULT_UBATCH, VOCABULARY_BYTES, MemoryNeed

_PAGE_CELLS = 16
"""The cache is allocated in pages of so many tokens."""
_BLOCK_ROWS = 16
"""Rows that are computed at once; also the most of a sequence whose logits are wanted, one and a draft of 15."""
_BATCH_ROWS = 512
"""Rows of one step, and so the most logits."""
_PROCESS_BYTES = 400 << 20
"""Python, torch, and what the allocator keeps of converted tensors (measured: 270 MB after the import, 380 later)."""
_CUDA_CONTEXT_BYTES = 600 << 20
"""CUDA's own, its libraries' kernels and workspaces."""
_F32, _BF16 = 4, 2


def vram_needed(
    facts: ModelFacts, *, context: int, num_sequences: int, n_ubatch: int = DEFAULT_UBATCH
) -> MemoryNeed:
    """GPU memory: weights and cache in bfloat16, and 5 % of everything spare.

    Args:
        facts: the model.
        context: tokens in the cache, all sequences together.
        num_sequences: answers computed at the same time.
        n_ubatch: rows of prompt computed at once.
    """
    weights = _BF16 * facts.n_parameters
    kv_cache = _kv_cache(facts, context, _BF16)
    step = n_ubatch * facts.row_width * _F32 + _step(facts, context, num_sequences)
    # The cache is allocated after the last tensor is converted: it finds that room free again.
    compute = max(step, facts.conversion_bytes - kv_cache)
    spare = (weights + kv_cache + compute) // 20
    return MemoryNeed(weights, kv_cache, compute, _CUDA_CONTEXT_BYTES + spare)


def torch_ram_needed(facts: ModelFacts, *, context: int, num_sequences: int) -> MemoryNeed:
    """Main memory where the CPU computes: weights and cache in float32.

    Args:
        facts: the model.
        context: tokens in the cache, all sequences together.
        num_sequences: answers computed at the same time.
    """
    return MemoryNeed(
        weights=_F32 * facts.n_parameters,
        kv_cache=_kv_cache(facts, context, _F32),
        compute=_BLOCK_ROWS * facts.row_width * _F32 + _step(facts, context, num_sequences),
        overhead=_PROCESS_BYTES + VOCABULARY_BYTES * facts.n_vocab,
    )


def _kv_cache(facts: ModelFacts, context: int, value_bytes: int) -> int:
    """Of all layers: those with a sliding window keep everything too."""
    per_token = facts.kv_bytes_per_token + facts.window_bytes_per_token  # with 16-bit values
    return _cells(context) * per_token * value_bytes // _BF16


def _step(facts: ModelFacts, context: int, num_sequences: int) -> int:
    """Masks (two, of all sequences of a block, which may share their tokens) and logits (in parts, then joined)."""
    masks = 2 * min(num_sequences, _BLOCK_ROWS) * _cells(context) * _BLOCK_ROWS * _F32
    rows = min(num_sequences * _BLOCK_ROWS, _BATCH_ROWS)
    return masks + 2 * rows * facts.n_vocab * _F32


def _cells(context: int) -> int:
    return -(-context // _PAGE_CELLS) * _PAGE_CELLS
