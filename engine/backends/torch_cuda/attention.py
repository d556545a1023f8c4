"""Attention of a few rows of one sequence over its pages, in steps of one size.

A row's result must not depend on the rows beside it nor on how many keys the cache holds: speculation and prefix reuse
are exact only so. Hence fixed shapes: always `ROWS` rows, always `SPAN` keys at a time by absolute position, combined
in order by a running softmax (arXiv 2205.14135); what a mask hides adds exactly nothing.
"""

from dataclasses import dataclass
from typing import Final

import torch
from torch.nn import functional

from engine.backends.torch_cuda.kv_cache import KvCache
from engine.formats.decoder_spec import DecoderSpec

ROWS: Final = 16
"""Rows of every matrix product. A verified draft of 15 tokens is one block."""
SPAN: Final = 256
"""Keys of one step."""
_LOWEST: Final = -1e30
"""Not -inf: the difference of two must be a number."""


@dataclass(frozen=True, slots=True)
class Group:
    """Consecutive rows of one sequence in a block, and what they see."""

    start: int
    count: int
    cells: torch.Tensor
    """[n_span, SPAN] of the sequence's tokens; cell 0 beyond its end."""
    mask: torch.Tensor
    """[n_span, ROWS, SPAN]: 0 where a row sees a token, else -inf."""
    local_mask: torch.Tensor
    """The same for layers with a window."""


def make_group(
    start: int, positions: list[int], cells: list[int], spec: DecoderSpec, device: torch.device
) -> Group:
    """Prepare what is the same for all layers.

    Args:
        start: of its rows in the block.
        positions: of its rows.
        cells: of all tokens up to the last row.
        spec: for the window.
        device: where the tensors go.
    """
    n_span = -(-len(cells) // SPAN)
    padded = cells + [0] * (n_span * SPAN - len(cells))
    key = torch.arange(n_span * SPAN, device=device)
    query = torch.tensor(positions + [0] * (ROWS - len(positions)), device=device)[:, None]
    seen = key <= query
    near = seen & (key > query - spec.window) if spec.window else seen
    masks = [
        torch.zeros(ROWS, n_span * SPAN, device=device)
        .masked_fill_(~visible, -torch.inf)
        .view(ROWS, n_span, SPAN)
        .transpose(0, 1)
        for visible in (seen, near)
    ]
    index = torch.tensor(padded, device=device).view(n_span, SPAN)
    return Group(start, len(positions), index, masks[0], masks[1])


def attend(
    spec: DecoderSpec, kv: KvCache, layer: int, group: Group, query: torch.Tensor
) -> torch.Tensor:
    """Attention of one group in one layer.

    Args:
        spec: heads and scale.
        kv: the keys and values, the rows' own included.
        layer: number of the layer.
        group: whose rows.
        query: [ROWS, n_head, head_dim] of the block, turned by its positions.

    Returns:
        [count, n_head * head_dim], of the query's type.
    """
    n_kv, shared = spec.n_head_kv, spec.n_head // spec.n_head_kv
    rows = functional.pad(
        query[group.start : group.start + group.count], (0, 0, 0, 0, 0, ROWS - group.count)
    )
    rows = rows.float().view(ROWS, n_kv, shared, spec.head_dim).transpose(0, 1)
    rows = (rows * spec.attention_scale).reshape(n_kv, ROWS * shared, spec.head_dim)
    mask = group.local_mask if spec.is_local[layer] else group.mask
    top = rows.new_full((n_kv, ROWS * shared, 1), _LOWEST)
    total = torch.zeros_like(top)
    result = torch.zeros_like(rows)
    for cells, hidden in zip(group.cells, mask, strict=True):
        keys = kv.keys[layer, cells].float().permute(1, 2, 0)
        scores = torch.bmm(rows, keys).view(n_kv, ROWS, shared, SPAN) + hidden[None, :, None]
        scores = scores.view(n_kv, ROWS * shared, SPAN)
        new_top = torch.maximum(top, scores.amax(-1, keepdim=True))
        weights = torch.exp(scores - new_top)
        fade = torch.exp(top - new_top)
        total = total * fade + weights.sum(-1, keepdim=True)
        values = kv.values[layer, cells].float().transpose(0, 1)
        result = result * fade + torch.bmm(weights, values)
        top = new_top
    result = (result / total).view(n_kv, ROWS, shared, spec.head_dim).transpose(0, 1)
    return result.reshape(ROWS, -1)[: group.count].to(query.dtype)
