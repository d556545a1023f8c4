"""Rotary position embedding (arXiv 2104.09864): angles by position, and the turning of heads.

Angles are computed in float64 and rounded once. Neighbour: `decoder`.
"""

import torch

from engine.formats.decoder_spec import DecoderSpec, Rope, RopeLayout


class RopeTables:
    """Cosines and sines for both kinds of layers."""

    def __init__(
        self, spec: DecoderSpec, divisors: torch.Tensor | None, device: torch.device
    ) -> None:
        """Prepare the frequencies.

        Args:
            spec: bases and scales.
            divisors: [head_dim / 2] of the frequencies (Llama 3.1 and later), if there are any.
            device: where the tables are made.
        """

        def frequencies(rope: Rope, head_dim: int) -> torch.Tensor:
            exponent = torch.arange(0, head_dim, 2, dtype=torch.float64, device=device) / head_dim
            found = rope.scale * rope.base**-exponent
            return found if divisors is None else found / divisors.double()

        self._global = frequencies(spec.rope, spec.head_dim)
        self._local = frequencies(spec.local_rope, spec.head_dim)

    def at(self, positions: torch.Tensor) -> dict[bool, tuple[torch.Tensor, torch.Tensor]]:
        """Cosines and sines [n, head_dim / 2] in float32 for positions [n], by "is a local layer"."""
        return {
            local: (torch.cos(angle).float(), torch.sin(angle).float())
            for local, table in ((False, self._global), (True, self._local))
            for angle in [positions.double()[:, None] * table]
        }


def turn(
    heads: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor, layout: RopeLayout
) -> torch.Tensor:
    """Turn heads [n, n_head, head_dim] by the angles [n, head_dim / 2] of their rows."""
    wide = heads.float()
    cosine, sine = cosine[:, None], sine[:, None]
    if layout == "pairs":
        one, two = wide[..., 0::2], wide[..., 1::2]
    else:
        one, two = wide.chunk(2, -1)
    turned = one * cosine - two * sine, one * sine + two * cosine
    joined = torch.stack(turned, -1).flatten(-2) if layout == "pairs" else torch.cat(turned, -1)
    return joined.to(heads.dtype)
