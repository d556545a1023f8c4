"""Each filter on distributions whose answer is known by hand."""

import math

import numpy as np
import pytest

from engine.sampling import filters


def logits(*probabilities: float) -> np.ndarray:
    return np.log(np.array(probabilities))


HALVES = np.array([0.0, -1.0, -2.0, -3.0]) * math.log(2)  # 8/15, 4/15, 2/15, 1/15


@pytest.mark.parametrize(
    ("p", "kept"), [(0.0, 1), (0.5, 1), (0.54, 2), (0.79, 2), (0.81, 3), (0.999, 4), (1.0, 4)]
)
def test_top_p_keeps_the_smallest_front_part_that_reaches_p(p, kept):
    assert filters.top_p(HALVES, p) == kept


def test_top_p_that_is_reached_exactly_stops_there():
    assert filters.top_p(np.zeros(4), 0.5) == 2


def test_top_p_counts_probability_outside_of_the_candidates():
    front = logits(0.5, 0.2)  # 0.3 lies elsewhere
    assert filters.top_p(front, 0.49, lse=0.0) == 1
    assert filters.top_p(front, 0.6, lse=0.0) == 2
    assert filters.top_p(front, 0.8, lse=0.0) == 2  # not reached: all that are there


@pytest.mark.parametrize(
    ("p", "kept"), [(0.0, 4), (0.124, 4), (0.126, 3), (0.3, 2), (0.6, 1), (1.0, 1)]
)
def test_min_p_compares_with_the_first(p, kept):
    assert filters.min_p(HALVES, p) == kept


def test_min_p_of_one_keeps_all_that_are_as_likely_as_the_first():
    assert filters.min_p(np.array([3.0, 3.0, 2.9]), 1.0) == 2


def test_typical_p_drops_the_most_likely_token_where_it_is_atypical():
    front = logits(0.4, *[0.6 / 8] * 8)
    entropy = -(0.4 * math.log(0.4) + 0.6 * math.log(0.6 / 8))
    assert abs(-math.log(0.6 / 8) - entropy) < abs(-math.log(0.4) - entropy)
    assert filters.typical_p(front, 0.5).tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert filters.typical_p(front, 0.7).tolist() == list(range(9))


def test_typical_p_breaks_ties_in_the_order_given():
    assert filters.typical_p(np.zeros(4), 0.5).tolist() == [0, 1]
    assert filters.typical_p(np.zeros(4), 1.0).tolist() == [0, 1, 2, 3]


def test_typical_p_ignores_what_rounds_to_probability_zero():
    assert filters.typical_p(np.array([0.0, 0.0, -2000.0]), 0.9).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("u", "index"), [(0.0, 0), (0.499, 0), (0.5, 1), (0.749, 1), (0.75, 2), (0.999, 2)]
)
def test_draw_inverts_the_cumulative_distribution(u, index):
    assert filters.draw(np.array([0.0, -math.log(2), -math.log(2)]), 1.0, u) == index


def test_temperature_flattens():
    steep = logits(0.8, 0.2)
    assert filters.draw(steep, 1.0, 0.7) == 0
    assert filters.draw(steep, 2.0, 0.7) == 1  # 2/3, 1/3
    assert filters.draw(steep, 1e-310, 0.999) == 0


def test_the_largest_u_takes_the_last_token_that_has_any_probability():
    largest = 1 - 2**-53
    assert filters.draw(np.array([0.0, 0.0, -900.0]), 1.0, largest) == 1
    assert filters.draw(np.zeros(3), 1.0, largest) == 2


def test_draw_tells_when_the_token_lies_behind_the_front_part():
    whole = np.array([2.0, 1.0, 0.5, 0.0], dtype=np.float32)
    total = filters.total_mass(whole[[2, 0, 3, 1]], 2.0, 0.7)
    for u in np.linspace(0, 0.999, 50):
        drawn = filters.draw(whole.astype(np.float64), 0.7, u)
        assert filters.draw(whole[:2].astype(np.float64), 0.7, u, total) == min(drawn, 2)


@pytest.mark.parametrize("p", [0.0, 1e-300, 0.5, 1.0])
def test_one_token_always_survives(p):
    for front in (np.array([-5.0]), np.array([-5.0, -5.0]), np.array([1e30, -1e30])):
        assert filters.top_p(front, p) >= 1
        assert filters.min_p(front, p) >= 1
        assert filters.typical_p(front, p).size >= 1
