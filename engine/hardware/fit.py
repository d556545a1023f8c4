"""How much memory a model takes in llama.cpp: `MemoryNeed`, by formula or from llama.cpp's own figures. Pure.

Neighbours: `facts`, `engine.formats.ghost_file` (llama.cpp's own figures), `reality` (what a load then really took), `torch_fit` (the
same for our own decoder), `placement`. Against llama.cpp's own figures: `tests/backends/test_ghost_memory.py`.
"""

from dataclasses import dataclass

from engine.formats.ghost_file import Allocation
from engine.hardware.facts import ModelFacts
from engine.types import KvType

DEFAULT_UBATCH = 512
"""Rows computed at once; the backend's default."""

_CELL_PADDING = 256
"""llama.cpp rounds a context up to this."""
_SPARE_SEQUENCES = 1
"""Our backend's, beside those that answer (`ContextSize.params`)."""
_PROCESS_BYTES = 32 << 20
"""A worker's Python and libraries, what only it holds (measured: 31.2 to 31.5 MB)."""
_LIBRARY_BYTES = 24 << 20
"""Pages of the libraries' files (measured: 20 to 23 MB)."""
_RESERVE_BYTES = 64 << 20
"""Kept free for what comes with use: grammars, drafts, a context that is copied while it grows."""
VOCABULARY_BYTES = 360
"""A token of the vocabulary in llama.cpp's tables (measured with 50,000 to 256,000 tokens: 354 to 365)."""
CELLS_AT_LOAD = 2048
"""A worker's context begins with so many cells, and doubles when they are used up."""
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
    """The process itself, its libraries, the vocabulary and some reserve."""
    repacked: int = 0
    """At most that much is copied into a faster order. The file's pages below are then dropped when memory
    gets short, so it is no part of `total`; until then the process looks that much larger."""
    logits: int = 0
    """What of `compute` is filled from the start."""

    @property
    def total(self) -> int:
        """What must be there."""
        return self.weights + self.kv_cache + self.compute + self.overhead

    @property
    def private(self) -> int:
        """What only the process holds right after the load. The rest are pages of files, and buffers that the first prompt fills."""
        process = max(0, self.overhead - _LIBRARY_BYTES - _RESERVE_BYTES)
        return self.repacked + self.kv_cache + self.logits + process


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
    sequences = num_sequences + _SPARE_SEQUENCES
    window_cells = min(cells, _padded(facts.window * sequences + n_ubatch))
    mask = (cells + (window_cells if facts.window else 0)) * n_ubatch * _F16
    tokens = cells * facts.kv_bytes_per_token + window_cells * facts.window_bytes_per_token
    logits = facts.n_vocab * sequences * _F32
    return MemoryNeed(
        weights=facts.weights_bytes,
        kv_cache=int(_SHARE_OF_F16[kv_type] * tokens) + sequences * facts.state_bytes,
        compute=mask + n_ubatch * facts.row_width * _F32 + 2 * logits,
        overhead=_overhead(facts),
        repacked=facts.weights_bytes if facts.repackable else 0,
        logits=logits,
    )


def need_of(allocation: Allocation, facts: ModelFacts, num_sequences: int) -> MemoryNeed:
    """From llama.cpp's own figures; only the process around them is estimated.

    Args:
        allocation: what it would allocate.
        facts: the model.
        num_sequences: answers computed at the same time.
    """
    at_most = allocation.weights if facts.repackable else 0
    return MemoryNeed(
        weights=allocation.weights,
        kv_cache=allocation.kv_cache,
        compute=allocation.compute,
        overhead=_overhead(facts),
        repacked=at_most if allocation.repacked is None else allocation.repacked,
        logits=facts.n_vocab * (num_sequences + _SPARE_SEQUENCES) * _F32,
    )


def _overhead(facts: ModelFacts) -> int:
    return _PROCESS_BYTES + _LIBRARY_BYTES + _RESERVE_BYTES + VOCABULARY_BYTES * facts.n_vocab


def _padded(cells: int) -> int:
    return -(-cells // _CELL_PADDING) * _CELL_PADDING
