"""What a model file says about its size, and whether our own decoder computes it: `ModelFacts`, out of its header.

Zone: any; pure, and never fails: what is missing or impossible becomes a cautious guess, and `notes` says so.
Neighbours: `claims` (bounds), `kv_layout` (cache), `fit` (bytes needed), `engine.formats.decoder_reader`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from engine.formats.decoder_reader import read_decoder
from engine.formats.gguf_header import GgufHeader, TensorInfo
from engine.hardware.claims import MAX_LAYERS, MAX_WIDTH, Claims
from engine.hardware.kv_layout import KvLayout, kv_layout

_REPACKABLE_TYPES = frozenset({2, 7, 10, 14, 15, 16, 17, 18, 21, 25, 38})
"""`general.file_type` with tensors that llama.cpp copies into another order (Q4_0, Q4_K, …) on some CPU."""
_UNKNOWN_WIDTH = 8192
_UNKNOWN_VOCABULARY = 1 << 18
_MOST_NUMBERS_PER_BYTE = 8
"""No type of tensor takes less than a bit for a number."""
_F32, _BF16 = 4, 2


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Sizes of one model."""

    architecture: str
    weights_bytes: int
    n_ctx_train: int | None
    """Tokens the model was trained to look back; None when the file does not say."""
    n_layer: int
    """0 when the file does not say."""
    n_embd: int
    n_vocab: int
    row_width: int
    """Numbers one row of a batch takes while it is computed, roughly."""
    kv_bytes_per_token: int
    """Of the layers that see the whole context, with 16-bit values."""
    n_parameters: int
    """Numbers in all tensors; embeddings that serve as output too are one tensor and count once."""
    decoder_problem: str
    """Why our own decoder does not compute this file, as half a sentence; "": it does."""
    conversion_bytes: int = 0
    """What the worst moment of loading takes beyond weights of 16 bits (see `_conversion_bytes`)."""
    window: int = 0
    """Tokens that sliding-window layers see; 0: there are none."""
    window_bytes_per_token: int = 0
    """Of the sliding-window layers."""
    n_head: int = 0
    """Most of any layer; 0 when the file does not say."""
    state_bytes: int = 0
    """Recurrent state of one sequence, whatever its length."""
    repackable: bool = True
    """May llama.cpp keep a second copy of the weights in another order?"""
    notes: tuple[str, ...] = ()
    """What was estimated, in words."""


def facts_of(header: GgufHeader, file_bytes: int) -> ModelFacts:
    """Read sizes and tensors.

    Args:
        header: of the file, or of the first part of a split model.
        file_bytes: size of the file, all parts of a split model together.
    """
    facts = facts_from_gguf(header.metadata, file_bytes)
    decoder = read_decoder(header)
    problem = decoder if isinstance(decoder, str) else ""
    if header.split_count > 1:  # the other parts' tensors are not in this header
        return replace(facts, decoder_problem=problem or "it is split into several files")
    return replace(
        facts,
        n_parameters=sum(prod(tensor.shape) for tensor in header.tensors),
        conversion_bytes=_conversion_bytes(header.tensors),
        decoder_problem=problem,
    )


def facts_from_gguf(metadata: Mapping[str, object], file_bytes: int) -> ModelFacts:
    """Read the sizes where only the metadata is known: nothing for our own decoder.

    Args:
        metadata: GGUF keys and values, lists as tuples or lists.
        file_bytes: size of the file, all parts of a split model together.
    """
    claims = Claims(metadata)
    weights = max(0, file_bytes)
    n_layer = claims.number("block_count", MAX_LAYERS) or 0
    n_embd = claims.number("embedding_length") or _UNKNOWN_WIDTH
    layout = kv_layout(claims, n_layer, n_embd) or _guessed_layout(weights)
    return ModelFacts(
        architecture=claims.architecture,
        weights_bytes=weights,
        n_ctx_train=claims.number("context_length"),
        n_layer=n_layer,
        n_embd=n_embd,
        n_vocab=claims.vocabulary() or _UNKNOWN_VOCABULARY,
        row_width=_row_width(claims, n_embd),
        kv_bytes_per_token=layout.full,
        n_parameters=_MOST_NUMBERS_PER_BYTE * weights,
        decoder_problem="its tensors are not known",
        window=layout.window,
        window_bytes_per_token=layout.windowed,
        n_head=claims.largest("attention.head_count") or 0,
        state_bytes=layout.state,
        repackable=claims.file_type() is None or claims.file_type() in _REPACKABLE_TYPES,
        notes=layout.notes,
    )


def _conversion_bytes(tensors: Sequence[TensorInfo]) -> int:
    """Bytes of one tensor as in the file and as float32, less the room kept for those still to come."""
    worst = still_to_come = 0
    for tensor in reversed(tensors):
        numbers = prod(tensor.shape)
        worst = max(worst, (tensor.num_bytes or 0) + _F32 * numbers - still_to_come)
        still_to_come += _BF16 * numbers
    return worst


def _row_width(claims: Claims, n_embd: int) -> int:
    """Attention and the feed-forward part, of all experts that compute at the same time."""
    heads = claims.largest("attention.head_count") or 0
    attention = heads * (claims.number("attention.key_length", MAX_WIDTH) or 0)
    dense = claims.largest("feed_forward_length") or 4 * n_embd
    experts = claims.number("expert_used_count", 4096) or 0
    expert = claims.largest("expert_feed_forward_length") or dense
    return 8 * max(n_embd, attention) + 3 * max(dense, experts * (expert + n_embd))


def _guessed_layout(weights: int) -> KvLayout:
    # 7B in 4 bits without shared heads: 512 kB a token, 1/8192 of its file.
    note = "the file does not say how much memory a token takes: guessed from its size"
    return KvLayout(full=max(64 << 10, weights // 8192), notes=(note,))
