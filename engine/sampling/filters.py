"""The filters of the sampling chain and the draw, on candidates ordered by (-logit, id).

Pure; float64. A filter returns how many candidates from the front survive (`typical_p`, which may
drop the most likely ones: which). At least one always does. All depend on differences of logits only.
Every logit must be finite. Used by `engine.sampling.sampler`.
"""

import math

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]

_COLDEST = 1e-30
"""Temperatures below act like this one: logits divided by them would overflow."""


def top_p(logits: F64, p: float, lse: float | None = None) -> int:
    """Smallest front part whose probability reaches p (nucleus sampling, arXiv:1904.09751).

    Args:
        logits: [m]
        p: 1 keeps all.
        lse: log Σ exp(logit) of the set that probabilities refer to; None: of `logits` itself.

    Returns:
        How many survive; m also where all m together do not reach p.
    """
    if p >= 1:
        return logits.size
    mass = np.exp(logits - logits[0]).cumsum()
    total = mass[-1] if lse is None else math.exp(lse - logits[0])
    return min(int(mass.searchsorted(p * total)) + 1, logits.size)


def min_p(logits: F64, p: float) -> int:
    """Tokens at least p times as likely as the first (arXiv:2407.01082); 0 keeps all."""
    if p <= 0:
        return logits.size
    return max(1, int(np.count_nonzero(logits >= logits[0] + math.log(p))))


def typical_p(logits: F64, p: float) -> npt.NDArray[np.intp]:
    """Smallest set of tokens, the least surprising first, whose probability reaches p.

    Surprise is the distance of -log probability from its mean, the entropy (arXiv:2202.00666).

    Returns:
        Ascending indices of the survivors.
    """
    if p >= 1:
        return np.arange(logits.size)
    shifted = logits - logits[0]
    probs = np.exp(shifted)
    total = probs.sum()
    probs /= total
    surprisal = math.log(total) - shifted
    order = np.argsort(np.abs(surprisal - probs @ surprisal), kind="stable")
    kept = int(probs[order].cumsum().searchsorted(p)) + 1
    return np.sort(order[:kept])


def draw(logits: F64, temperature: float, u: float, total: float | None = None) -> int:
    """Index chosen by the inverse of the cumulative distribution, in the order given.

    Args:
        logits: [m]
        temperature: above 0.
        u: in [0, 1).
        total: Σ exp((logit - logits[0]) / temperature) where `logits` is the front part of a larger
            set; None: of `logits` itself.

    Returns:
        The index; m where the chosen token lies behind the part given by `logits`.
    """
    mass = np.exp((logits - logits[0]) / max(temperature, _COLDEST)).cumsum()
    if total is not None:
        return int(mass.searchsorted(u * total, side="right"))
    # Rounding may lift u * total to total itself, where no token stands.
    target = min(u * mass[-1], math.nextafter(mass[-1], 0.0))
    return int(mass.searchsorted(target, side="right"))


def total_mass(logits: npt.NDArray[np.float32], first: float, temperature: float) -> float:
    """The `total` that `draw` takes, of a whole unordered row whose largest logit is `first`."""
    scaled = np.subtract(logits, first, dtype=np.float64)
    scaled /= max(temperature, _COLDEST)
    return float(np.exp(scaled, out=scaled).sum())
