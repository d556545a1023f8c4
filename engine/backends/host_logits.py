"""`HostOutputs`: logits rows in host memory as the `Outputs` that sampling reads.

Zone: worker process, the backend's owner thread; NumPy only. Used by every backend whose logits end
up on the host; `engine.sampling` sees only the protocol.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from engine.backends.base import F32, I32, Candidates, Ids
from engine.errors import EngineError

_MAX_DEPTH = 64
"""Most logits per group; measured: fewer make the partition slow, more the pass over the row."""


class HostOutputs:
    """Implements `Outputs` over float32 rows on the host."""

    def __init__(self, n_rows: int, get_row: Callable[[int], F32]) -> None:
        """Fetch rows when they are asked for.

        Args:
            n_rows: rows there are.
            get_row: row index to a view [n_vocab], valid as long as this handle. A writeable view is
                changed while edits are applied and restored before the call returns.
        """
        self._n_rows = n_rows
        self._get_row = get_row

    def logits(self, row: int) -> F32:
        """[n_vocab] the backend's own memory."""
        if not 0 <= row < self._n_rows:
            raise ValueError(f"output row {row} of {self._n_rows}")
        return self._get_row(row)

    def candidates(
        self, row: int, k: int, edits: tuple[I32, F32] | None = None, allowed: Ids | None = None
    ) -> Candidates:
        """Exactly min(k, tokens that count), the first in the order (-logit, id).

        Raises:
            EngineError: if the row holds NaN or +inf, or nothing but -inf without edits.
        """
        if k < 1:
            raise ValueError(f"asked for {k} candidates")
        if edits is None:
            return _candidates(self.logits(row), k, allowed, edited=False)
        with self._edited(row, *edits) as x:
            return _candidates(x, k, allowed, edited=True)

    def lse(
        self, row: int, edits: tuple[I32, F32] | None = None, allowed: Ids | None = None
    ) -> float:
        """Logarithm of Σ exp(logit) to about 1e-6; -inf where the edits banned everything.

        Raises:
            EngineError: as `candidates`.
        """
        if edits is None:
            return _lse(self.logits(row), allowed, edited=False)
        with self._edited(row, *edits) as x:
            return _lse(x, allowed, edited=True)

    @contextmanager
    def _edited(self, row: int, ids: I32, new: F32) -> Iterator[F32]:
        x = self.logits(row)
        if not x.flags.writeable:
            x = x.copy()
        old = x[ids]
        x[ids] = new
        try:
            yield x
        finally:
            x[ids] = old


def _candidates(x: F32, k: int, allowed: Ids | None, *, edited: bool) -> Candidates:
    if allowed is not None:
        x = x[allowed]
    found = _most_likely(x, k, edited=edited)
    # `allowed` ascends, so equal logits are in the order of their ids either way
    ids = found if allowed is None else allowed[found]
    return Candidates(ids.astype(np.int32), x[found], complete=found.size == x.size)


def _lse(x: F32, allowed: Ids | None, *, edited: bool) -> float:
    if allowed is not None:
        x = x[allowed]
    largest = float(x.max())
    _check(largest, edited=edited)
    if largest == -math.inf:
        return largest
    scratch = x - np.float32(largest)
    np.exp(scratch, out=scratch)
    return largest + math.log(float(scratch.sum()))


def _check(largest: float, *, edited: bool) -> None:
    # NaN wins every maximum, so the largest logit tells about the whole row.
    if math.isfinite(largest) or (edited and largest == -math.inf):
        return
    raise EngineError(
        "The model produced invalid numbers instead of a next token.",
        hint="Its file may be damaged, or this variant does not work on this device: "
        "download it again or try another variant.",
    )


def _most_likely(x: F32, k: int, *, edited: bool) -> Ids:
    """Ids of the min(k, n) first in the order (-logit, id)."""
    if k == 1:
        ids: Ids = np.array([x.argmax()])
        _check(float(x[ids[0]]), edited=edited)
        return ids
    depth = min(_MAX_DEPTH, x.size // (4 * k), math.isqrt(x.size))
    if depth >= 2:
        ids = _reaching_group_maximum(x, k, depth, edited=edited)
    else:
        _check(float(x.max()), edited=edited)
        ids = _reaching(x, k)
    # The ids ascend, so a stable sort breaks ties by the lowest id.
    order = (-x[ids]).argsort(kind="stable")[:k]
    return ids.take(order)


def _reaching(x: F32, k: int) -> Ids:
    """Ascending ids of all that reach the k-th largest."""
    if 2 * k >= x.size:  # sorting everything is no slower than parting it first
        return np.arange(x.size)
    threshold = np.partition(x, x.size - k)[x.size - k]
    ids: Ids = (x >= threshold).nonzero()[0]
    return ids


def _reaching_group_maximum(x: F32, k: int, depth: int, *, edited: bool) -> Ids:
    """Ascending ids of all that reach the k-th largest maximum of groups of `depth` logits.

    k groups have a member of at least that, so it is never above the k-th largest logit; and as
    likely tokens seldom share one of the ≥ 4 k groups, hardly more than k tokens reach it. One pass
    over the row (argpartition takes 20 times as long) and no assumption on the distribution.
    """
    width = x.size // depth
    grid = x[: depth * width].reshape(depth, width)  # group j: ids j, j + width, j + 2 width, …
    tail = x[depth * width :]  # shorter than depth ≤ width
    top = grid.max(axis=0)
    if tail.size:
        np.maximum(top[: tail.size], tail, out=top[: tail.size])
    _check(float(top.max()), edited=edited)
    threshold = np.partition(top, width - k)[width - k]
    groups = (top >= threshold).nonzero()[0]
    found = (grid.take(groups, axis=1) >= threshold).ravel().nonzero()[0]
    layer, group = np.divmod(found, groups.size)
    ids: Ids = layer * width + groups[group]
    if tail.size:
        ids = np.concatenate((ids, depth * width + (tail >= threshold).nonzero()[0]))
    return ids
