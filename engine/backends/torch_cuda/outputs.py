"""Logits on the device as the `Outputs` that sampling reads: only the candidates cross to the host.

Zone: worker process, owner thread. On the CPU `HostOutputs` reads the same memory and is faster.
"""

import math

import numpy as np
import torch

from engine.backends.base import F32, I32, Candidates, Ids
from engine.errors import EngineError


class DeviceOutputs:
    """Implements `Outputs` over [n_rows, n_vocab] float32 logits."""

    def __init__(self, logits: torch.Tensor) -> None:
        self._logits = logits
        self._host: dict[int, F32] = {}

    def logits(self, row: int) -> F32:
        """[n_vocab] on the host, copied once."""
        if row not in self._host:
            self._host[row] = self._row(row).cpu().numpy()
        return self._host[row]

    def candidates(
        self, row: int, k: int, edits: tuple[I32, F32] | None = None, allowed: Ids | None = None
    ) -> Candidates:
        """Exactly min(k, tokens that count), the first in the order (-logit, id).

        Raises:
            EngineError: as `HostOutputs.candidates`.
        """
        if k < 1:
            raise ValueError(f"asked for {k} candidates")
        x = self._counting(row, edits, allowed)
        k = min(k, x.numel())
        # Among equal logits topk chooses as it likes: take all that reach the last one, and order them here.
        least = torch.topk(x, k).values[-1]
        ids = torch.nonzero(x >= least).flatten()
        found, numbers = ids.cpu().numpy(), x[ids].cpu().numpy()
        order = np.lexsort((found, -numbers))[:k]
        chosen = found[order] if allowed is None else allowed[found[order]]
        return Candidates(chosen.astype(np.int32), numbers[order], complete=k == x.numel())

    def lse(
        self, row: int, edits: tuple[I32, F32] | None = None, allowed: Ids | None = None
    ) -> float:
        """Logarithm of Σ exp(logit); -inf where the edits banned everything."""
        return float(torch.logsumexp(self._counting(row, edits, allowed).double(), 0))

    def _row(self, row: int) -> torch.Tensor:
        if not 0 <= row < len(self._logits):
            raise ValueError(f"output row {row} of {len(self._logits)}")
        return self._logits[row]

    def _counting(
        self, row: int, edits: tuple[I32, F32] | None, allowed: Ids | None
    ) -> torch.Tensor:
        x = self._row(row)
        if edits is not None:
            # Copies: torch warns of read-only arrays.
            ids, new = (torch.from_numpy(np.array(e)).to(x.device) for e in edits)
            x = x.index_copy(0, ids.long(), new)
        if allowed is not None:
            x = x[torch.from_numpy(allowed).to(x.device)]
        largest = float(x.max())
        # NaN wins every maximum, so the largest logit tells about the whole row.
        if not (math.isfinite(largest) or (edits is not None and largest == -math.inf)):
            raise EngineError(
                "The model produced invalid numbers instead of a next token.",
                hint="Its file may be damaged, or this variant does not work on this device: "
                "download it again or try another variant.",
            )
        return x
