"""How much memory a model takes in llama.cpp: `MemoryNeed`. Pure; estimates that are compared with what then happens.

Measured against llama.cpp (SmolLM2-135M; qwen3, gemma2, gemma3, mamba and lfm2 shapes): cache exact but for
recurrent states, compute buffers up to 60 % high, a worker's own memory twice too high. Neighbours: `facts`,
`torch_fit` (the same for our own decoder), `placement`.
"""

from dataclasses import dataclass

from engine.hardware.facts import ModelFacts
from engine.types import KvType

DEFAULT_UBATCH = 512
"""Rows computed at once; the backend's default."""

_CELL_PADDING = 256
"""llama.cpp rounds a context up to this."""
_PROCESS_BYTES = 120 << 20
"""A worker's Python, libraries and thread buffers (measured: 60 MB)."""
VOCABULARY_BYTES = 500
"""A token of the vocabulary in llama.cpp's tables (measured: 390)."""
_F16, _F32 = 2, 4
_SHARE_OF_F16 = {"f16": 1.0, "q8_0": 34 / 64}
"""llama.cpp's blocks of 32 numbers: 34 bytes."""


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """Bytes by purpose."""

    weights: int
    kv_cache: int
    compute: int
    """Buffers of one step, logits included."""
    overhead: int
    """The process itself and the vocabulary."""
    repacked: int = 0
    """At most that much is copied into a faster order. The file's pages below are then dropped when memory
    gets short, so it is no part of `total`; until then the process looks that much larger."""

    @property
    def total(self) -> int:
        """What must be there."""
        return self.weights + self.kv_cache + self.compute + self.overhead


def memory_needed(
    facts: ModelFacts,
    *,
    context: int,
    num_sequences: int,
    n_ubatch: int = DEFAULT_UBATCH,
    kv_type: KvType = "f16",
) -> MemoryNeed:
    """Main memory for llama.cpp on the CPU.

    Args:
        facts: the model.
        context: tokens in the cache, all sequences together.
        num_sequences: answers computed at the same time.
        n_ubatch: most rows of a step.
        kv_type: of the cache; recurrent states keep 32 bits.
    """
    cells = _padded(context)
    window_cells = min(cells, _padded(facts.window * num_sequences + n_ubatch))
    mask = (cells + (window_cells if facts.window else 0)) * n_ubatch * _F16
    tokens = cells * facts.kv_bytes_per_token + window_cells * facts.window_bytes_per_token
    logits = 2 * facts.n_vocab * num_sequences * _F32
    return MemoryNeed(
        weights=facts.weights_bytes,
        kv_cache=int(_SHARE_OF_F16[kv_type] * tokens) + num_sequences * facts.state_bytes,
        compute=mask + n_ubatch * facts.row_width * _F32 + logits,
        overhead=_PROCESS_BYTES + VOCABULARY_BYTES * facts.n_vocab,
        repacked=facts.weights_bytes if facts.repackable else 0,
    )


def _padded(cells: int) -> int:
    return -(-cells // _CELL_PADDING) * _CELL_PADDING
