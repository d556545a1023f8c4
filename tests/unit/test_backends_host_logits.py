"""`HostOutputs`: the exact front of the order (-logit, id), edits that leave no trace, bad numbers."""

import math

import numpy as np
import pytest

from engine.backends.host_logits import HostOutputs
from engine.errors import EngineError


def outputs(*rows: np.ndarray) -> HostOutputs:
    return HostOutputs(len(rows), rows.__getitem__)


def expected(row: np.ndarray, k: int) -> list[int]:
    return np.lexsort((np.arange(row.size), -row))[:k].tolist()


def noise(n: int) -> np.ndarray:
    return np.random.default_rng(n).normal(0, 3, n).astype(np.float32)


SHAPES = {
    "noise": noise,
    "ties": lambda n: np.round(noise(n)),
    "equal": lambda n: np.full(n, -0.0, np.float32),
    "ascending": lambda n: np.arange(n, dtype=np.float32),
    "descending": lambda n: -np.arange(n, dtype=np.float32),
    "mostly banned": lambda n: np.where(noise(n) > 5, noise(n), np.float32(-np.inf)),
    "cluster": lambda n: noise(n) + 50 * (np.arange(n) // 100 == 3).astype(np.float32),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [1, 7, 1000, 32_003])
@pytest.mark.parametrize("k", [1, 2, 40, 300, 9_000, 10**9])
def test_candidates_are_the_front_of_the_order(shape, n, k):
    row = SHAPES[shape](n)
    if row.max() == -np.inf:
        row[n // 2] = 0
    found = outputs(row).candidates(0, k)
    assert found.ids.tolist() == expected(row, k)
    assert found.ids.dtype == np.int32
    assert found.logits.dtype == np.float32
    assert (found.logits == row[found.ids]).all()
    assert found.complete == (k >= n)


def test_the_last_ids_count_where_the_vocabulary_is_no_multiple_of_the_groups():
    row = noise(32_003)
    row[-3:] = (60, 70, 60)
    assert outputs(row).candidates(0, 3).ids.tolist() == [32_001, 32_000, 32_002]


@pytest.mark.parametrize("writeable", [True, False])
@pytest.mark.parametrize("k", [1, 5, 900])
def test_edits_act_and_leave_no_trace(writeable, k):
    row = noise(5000)
    before = row.copy()
    row.flags.writeable = writeable
    ids = np.array([int(row.argmax()), 17, 4999], np.int32)
    new = np.array([-np.inf, 30.0, 29.0], np.float32)
    handle = outputs(row)
    found = handle.candidates(0, k, (ids, new))
    lse = handle.lse(0, (ids, new))
    assert (row == before).all()
    after = before.copy()
    after[ids] = new
    assert found.ids.tolist() == expected(after, k)
    assert lse == pytest.approx(outputs(after).lse(0))


@pytest.mark.parametrize("num_allowed", [1, 2, 30, 4000, 5000])
@pytest.mark.parametrize("k", [1, 3, 256, 5000])
def test_only_what_is_allowed_counts(num_allowed, k):
    row, random = np.round(noise(5000) * 4) / 4, np.random.default_rng(num_allowed)
    allowed = np.sort(random.choice(5000, num_allowed, replace=False))
    edits = np.arange(0, 5000, 7, dtype=np.int32), np.full(715, 3.25, np.float32)
    masked = np.full_like(row, -np.inf)
    masked[allowed] = row[allowed]
    for edit in (None, edits):
        if edit is not None:
            masked[np.intersect1d(edit[0], allowed)] = 3.25
        found = outputs(row).candidates(0, k, edit, allowed)
        assert found.ids.tolist() == expected(masked, min(k, num_allowed))
        assert found.logits.tolist() == masked[found.ids].tolist()
        assert found.complete == (k >= num_allowed)
        assert outputs(row).lse(0, edit, allowed) == pytest.approx(outputs(masked).lse(0))


def test_edits_are_taken_back_when_the_row_turns_out_bad():
    row = np.array([1.0, 2.0, 3.0], np.float32)
    with pytest.raises(EngineError):
        outputs(row).candidates(0, 2, (np.array([1], np.int32), np.array([np.nan], np.float32)))
    assert row.tolist() == [1.0, 2.0, 3.0]


def test_lse_is_precise_and_survives_large_logits():
    row = noise(152_000)
    shifted = row + np.float32(1000)
    exact = math.log(np.exp(row.astype(np.float64)).sum())
    assert outputs(row).lse(0) == pytest.approx(exact, abs=2e-6)
    exact = 1000 + math.log(np.exp(shifted.astype(np.float64) - 1000).sum())
    assert outputs(shifted).lse(0) == pytest.approx(exact, abs=2e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("n", [5, 20_000, 20_011])
@pytest.mark.parametrize("k", [1, 3, 1000, 30_000])
def test_invalid_numbers_are_an_error_wherever_they_stand(bad, n, k):
    for position in (0, n // 2, n - 1):
        row = noise(n)
        row[position] = bad
        handle = outputs(row)
        with pytest.raises(EngineError, match="invalid numbers"):
            handle.candidates(0, k)
        with pytest.raises(EngineError, match="invalid numbers"):
            handle.lse(0)


def test_a_row_of_nothing_is_invalid_unless_edits_made_it_so():
    row = np.full(3, -np.inf, np.float32)
    with pytest.raises(EngineError, match="invalid numbers"):
        outputs(row).candidates(0, 2)
    everything = (np.arange(3, dtype=np.int32), row)
    handle = outputs(np.zeros(3, np.float32))
    assert handle.candidates(0, 2, everything).ids.tolist() == [0, 1]
    assert handle.lse(0, everything) == -math.inf


def test_rows_are_fetched_when_asked_for_and_stay_views():
    rows, asked = [noise(10), noise(11)], []

    def get_row(index: int) -> np.ndarray:
        asked.append(index)
        return rows[index]

    handle = HostOutputs(2, get_row)
    assert asked == []
    assert handle.logits(1) is rows[1]
    assert asked == [1]


@pytest.mark.parametrize("row", [-1, 2])
def test_a_row_that_is_not_there_is_a_mistake_of_the_caller(row):
    with pytest.raises(ValueError, match="of 2"):
        outputs(noise(3), noise(3)).logits(row)


def test_no_candidates_is_a_mistake_of_the_caller():
    with pytest.raises(ValueError, match="0"):
        outputs(noise(3)).candidates(0, 0)
