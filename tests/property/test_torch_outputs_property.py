"""`DeviceOutputs` answers exactly as `HostOutputs`: whichever reads the logits, the same text comes out."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

pytest.importorskip("torch")

import torch

from engine.backends.host_logits import HostOutputs
from engine.backends.torch_cuda.outputs import DeviceOutputs
from engine.errors import EngineError

BAD = [math.nan, math.inf]
smooth = st.floats(-1e4, 1e4, width=32)
tied = st.sampled_from([-2.0, -1.0, -0.0, 0.0, 1.0, 1.0000001, 3.0]).map(np.float32)
numbers = st.one_of(tied, tied, smooth, st.just(-math.inf))


@st.composite
def logits(draw, *, elements=numbers) -> np.ndarray:
    """[rows, n_vocab]; none of the rows is banned as a whole."""
    shape = draw(st.tuples(st.integers(1, 3), st.integers(1, 400)))
    rows = draw(arrays.arrays(np.float32, shape, elements=elements, fill=tied))
    rows[:, draw(st.integers(0, shape[1] - 1))] = draw(tied)
    return rows


@st.composite
def edits_of(draw, n_vocab: int, *, elements=numbers) -> tuple[np.ndarray, np.ndarray] | None:
    if draw(st.booleans()):
        return None
    ids = draw(st.lists(st.integers(0, n_vocab - 1), unique=True, max_size=min(n_vocab, 20)))
    new = draw(st.lists(elements, min_size=len(ids), max_size=len(ids)))
    return np.array(ids, np.int32), np.array(new, np.float32)


@st.composite
def allowed_of(draw, row: np.ndarray) -> np.ndarray | None:
    """Some ids or None; at least one that has a chance."""
    if draw(st.booleans()):
        return None
    possible = np.flatnonzero(row > -math.inf).tolist()
    some = draw(st.sets(st.integers(0, row.size - 1), max_size=30))
    return np.array(sorted(some | {draw(st.sampled_from(possible))}))


def both(rows: np.ndarray) -> tuple[HostOutputs, DeviceOutputs]:
    mine = rows.copy()
    return HostOutputs(len(mine), mine.__getitem__), DeviceOutputs(torch.from_numpy(rows.copy()))


@given(rows=logits(), data=st.data())
@settings(max_examples=100, deadline=None)
def test_they_agree(rows, data) -> None:
    host, device = both(rows)
    n_vocab = rows.shape[1]
    for row in range(len(rows)):
        edits, allowed = data.draw(edits_of(n_vocab)), data.draw(allowed_of(rows[row]))
        k = data.draw(st.one_of(st.integers(1, n_vocab), st.sampled_from([1, n_vocab, 10**9])))
        expected = host.candidates(row, k, edits, allowed)
        found = device.candidates(row, k, edits, allowed)
        assert found.ids.tolist() == expected.ids.tolist()
        assert found.logits.tobytes() == expected.logits.tobytes()
        assert found.complete == expected.complete
        assert (found.ids.dtype, found.logits.dtype) == (np.int32, np.float32)
        assert len(found.ids) == min(k, n_vocab if allowed is None else allowed.size)
        lse = host.lse(row, edits, allowed)
        assert device.lse(row, edits, allowed) == pytest.approx(lse, abs=4e-6, rel=1e-6)
        assert device.logits(row).tobytes() == rows[row].tobytes() == host.logits(row).tobytes()


@given(rows=logits(), data=st.data(), bad=st.sampled_from(BAD), by_edit=st.booleans())
@settings(max_examples=100, deadline=None)
def test_both_refuse_invalid_numbers(rows, data, bad, by_edit) -> None:
    place = data.draw(st.integers(0, rows.shape[1] - 1))
    if by_edit:
        edits = np.array([place], np.int32), np.array([bad], np.float32)
    else:
        edits = None
        rows[0, place] = bad
    for outputs in both(rows):
        with pytest.raises(EngineError, match="invalid numbers"):
            outputs.candidates(0, data.draw(st.integers(1, rows.shape[1])), edits)
        with pytest.raises(EngineError, match="invalid numbers"):
            outputs.lse(0, edits)


@given(rows=logits(), bad=st.sampled_from(BAD))
@settings(max_examples=30, deadline=None)
def test_both_take_an_edit_in_place_of_an_invalid_number(rows, bad) -> None:
    rows[0, 0] = bad
    edits = np.array([0], np.int32), np.array([5.0], np.float32)
    host, device = both(rows)
    assert host.candidates(0, 3, edits).ids.tolist() == device.candidates(0, 3, edits).ids.tolist()


@pytest.mark.parametrize("n_vocab", [1, 7, 1000])
def test_a_row_of_nothing_is_invalid_unless_edits_made_it_so(n_vocab: int) -> None:
    nothing = np.full((1, n_vocab), -np.inf, np.float32)
    everything = np.arange(n_vocab, dtype=np.int32), nothing[0]
    for outputs in both(nothing):
        with pytest.raises(EngineError, match="invalid numbers"):
            outputs.candidates(0, 1)
        with pytest.raises(EngineError, match="invalid numbers"):
            outputs.lse(0)
    for outputs in both(np.zeros_like(nothing)):
        found = outputs.candidates(0, 3, everything)
        assert found.ids.tolist() == list(range(min(3, n_vocab)))
        assert outputs.lse(0, everything) == -math.inf


def test_mistakes_of_the_caller_are_told() -> None:
    for outputs in both(np.zeros((2, 5), np.float32)):
        for row in (-1, 2):
            with pytest.raises(ValueError, match="of 2"):
                outputs.logits(row)
            with pytest.raises(ValueError, match="of 2"):
                outputs.candidates(row, 1)
            with pytest.raises(ValueError, match="of 2"):
                outputs.lse(row)
        with pytest.raises(ValueError, match="0"):
            outputs.candidates(0, 0)


def test_edits_may_be_read_only_and_leave_no_trace() -> None:
    rows = np.arange(10, dtype=np.float32)[None]
    ids, new = np.array([9, 2], np.int32), np.array([-1, 40], np.float32)
    ids.flags.writeable = new.flags.writeable = False
    for outputs in both(rows):
        assert outputs.candidates(0, 2, (ids, new)).ids.tolist() == [2, 8]
        assert outputs.candidates(0, 2).ids.tolist() == [9, 8]


def test_edits_may_be_slices_of_other_arrays() -> None:
    rows = np.arange(10, dtype=np.float32)[None]
    ids, new = np.array([9, 0, 2, 0], np.int32)[::2], np.array([40, 0, -1, 0], np.float32)[::-2]
    expected, found = [outputs.candidates(0, 3, (ids, new)).ids for outputs in both(rows)]
    assert expected.tolist() == found.tolist()
