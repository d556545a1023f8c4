"""The network: token ids and positions in, hidden states and logits out. Reference in plain torch.

Zone: worker process, owner thread. Everything is computed in blocks of `ROWS` rows of one shape, so that a row's
result does not depend on its batch. Sources: llama (arXiv 2302.13971), qwen2 (2407.10671), qwen3 (2505.09388),
gemma3 (2503.19786), as llama.cpp builds them. Neighbours: `weights`, `attention`, `backend`.
"""

from collections.abc import Callable, Sequence

import torch
from torch.nn import functional

from engine.backends.torch_cuda.attention import ROWS, Group, attend
from engine.backends.torch_cuda.kv_cache import KvCache
from engine.backends.torch_cuda.rope import RopeTables, turn
from engine.backends.torch_cuda.weights import Weights
from engine.formats.decoder_spec import DecoderSpec


class Aborted(Exception):  # noqa: N818 -- no error: the caller asked for it
    """The computation was given up between two layers."""


class Decoder:
    """One network with its weights."""

    def __init__(self, spec: DecoderSpec, weights: Weights) -> None:
        self._spec = spec
        self._weights = weights
        self._ropes = RopeTables(spec, weights.get("rope_freqs.weight"), weights.device)

    def hidden(
        self,
        tokens: Sequence[int],
        positions: Sequence[int],
        cells: Sequence[int],
        groups: Sequence[Group],
        kv: KvCache,
        is_aborted: Callable[[], bool],
    ) -> torch.Tensor:
        """Compute one block and keep its keys and values.

        Args:
            tokens: at most ROWS.
            positions: one for each token.
            cells: where its keys and values go.
            groups: the rows by sequence.
            kv: the cache.
            is_aborted: asked before each layer.

        Returns:
            [ROWS, n_embd] states after the last layer; rows beyond the tokens mean nothing.

        Raises:
            Aborted: `is_aborted` said so.
        """
        spec, weights = self._spec, self._weights
        device = weights.device
        padding = [0] * (ROWS - len(tokens))
        x = functional.embedding(
            torch.tensor([*tokens, *padding], device=device), weights["token_embd.weight"]
        )
        if spec.embedding_scale != 1.0:
            x = x * spec.embedding_scale
        at = torch.tensor([*positions, *padding], device=device)
        ropes = self._ropes.at(at)
        where = torch.tensor(cells, device=device)
        for layer in range(spec.n_layer):
            if is_aborted():
                raise Aborted
            x = x + self._attention(layer, x, ropes[spec.is_local[layer]], where, groups, kv)
            x = x + self._feed_forward(layer, x)
        return x

    def logits(self, states: torch.Tensor) -> torch.Tensor:
        """[n, n_embd] states to [n, n_vocab] float32 logits."""
        head = self._weights.get("output.weight")
        if head is None:
            head = self._weights["token_embd.weight"]
        bias = self._weights.get("output.bias")
        parts = []
        for first in range(0, len(states), ROWS):
            block = states[first : first + ROWS]
            padded = functional.pad(block, (0, 0, 0, ROWS - len(block)))
            rows = functional.linear(self._norm(padded, "output_norm"), head, bias)
            parts.append(rows[: len(block)])
        return torch.cat(parts).float()

    def _attention(
        self,
        layer: int,
        x: torch.Tensor,
        rope: tuple[torch.Tensor, torch.Tensor],
        where: torch.Tensor,
        groups: Sequence[Group],
        kv: KvCache,
    ) -> torch.Tensor:
        spec, name = self._spec, f"blk.{layer}"
        h = self._norm(x, f"{name}.attn_norm")
        q = self._linear(h, f"{name}.attn_q").view(ROWS, spec.n_head, spec.head_dim)
        k = self._linear(h, f"{name}.attn_k").view(ROWS, spec.n_head_kv, spec.head_dim)
        v = self._linear(h, f"{name}.attn_v").view(ROWS, spec.n_head_kv, spec.head_dim)
        if self._weights.get(f"{name}.attn_q_norm.weight") is not None:
            q, k = self._norm(q, f"{name}.attn_q_norm"), self._norm(k, f"{name}.attn_k_norm")
        q, k = turn(q, *rope, spec.rope_layout), turn(k, *rope, spec.rope_layout)
        kv.keys[layer, where] = k[: len(where)]
        kv.values[layer, where] = v[: len(where)]
        seen = q.new_zeros(ROWS, spec.n_head * spec.head_dim)
        for group in groups:
            seen[group.start : group.start + group.count] = attend(spec, kv, layer, group, q)
        return self._after(self._linear(seen, f"{name}.attn_output"), f"{name}.post_attention_norm")

    def _feed_forward(self, layer: int, x: torch.Tensor) -> torch.Tensor:
        name = f"blk.{layer}"
        h = self._norm(x, f"{name}.ffn_norm")
        gate = self._linear(h, f"{name}.ffn_gate")
        if self._spec.activation == "silu":
            gate = functional.silu(gate)
        else:
            gate = functional.gelu(gate, approximate="tanh")
        down = self._linear(gate * self._linear(h, f"{name}.ffn_up"), f"{name}.ffn_down")
        return self._after(down, f"{name}.post_ffw_norm")

    def _after(self, x: torch.Tensor, norm: str) -> torch.Tensor:
        return x if self._weights.get(f"{norm}.weight") is None else self._norm(x, norm)

    def _linear(self, x: torch.Tensor, name: str) -> torch.Tensor:
        weights = self._weights
        return functional.linear(x, weights[f"{name}.weight"], weights.get(f"{name}.bias"))

    def _norm(self, x: torch.Tensor, name: str) -> torch.Tensor:
        """RMS norm over the last dimension (arXiv 1910.07467), computed in float32."""
        wide = x.float()
        wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self._spec.rms_eps)
        return wide.to(x.dtype) * self._weights[f"{name}.weight"]
