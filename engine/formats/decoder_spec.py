"""The network that our own decoder computes, as numbers: `DecoderSpec`.

Zone: any; pure. Neighbours: `decoder_reader` finds it in a file, `decoder_tensors` names its tensors.
"""

from dataclasses import dataclass
from typing import Literal

RopeLayout = Literal["pairs", "halves"]
"""Which two numbers of a head are turned together: 2i and 2i + 1 (llama.cpp: NORM), or i and i + d/2 (NEOX)."""


@dataclass(frozen=True, slots=True)
class Rope:
    """Rotary position embedding (arXiv 2104.09864) of one kind of layer."""

    base: float
    scale: float = 1.0
    """Positions are multiplied by this (linear scaling: 1 / factor)."""


@dataclass(frozen=True, slots=True)
class DecoderSpec:
    """A decoder-only transformer with RMS norms, grouped-query attention and a gated feed-forward part."""

    architecture: str
    n_layer: int
    n_embd: int
    n_ff: int
    n_head: int
    n_head_kv: int
    head_dim: int
    n_vocab: int
    n_ctx_train: int
    rms_eps: float
    rope_layout: RopeLayout
    rope: Rope
    local_rope: Rope
    """Of the layers with a window."""
    window: int
    """Tokens a local layer sees, itself included; 0: there are no such layers."""
    is_local: tuple[bool, ...]
    """[n_layer]"""
    activation: Literal["silu", "gelu"]
    embedding_scale: float
    attention_scale: float
