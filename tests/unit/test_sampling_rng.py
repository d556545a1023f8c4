"""The counter RNG: published test vectors, uniformity, independence, seeds (case C16)."""

import numpy as np
import pytest

from engine.sampling.rng import fresh_seed, philox, uniform

F = 0xFFFFFFFF


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ((0, 0, 0, 0), 0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((F, F, F, F), (F << 32) | F, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            0x299F31D0_A4093822,
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_the_authors_test_vectors(counter, key, words):
    assert philox(counter, key) == words


def chi_square(counts: np.ndarray) -> float:
    """In standard deviations from its mean, for equal expected counts."""
    expected = counts.sum() / counts.size
    freedom = counts.size - 1
    return (((counts - expected) ** 2 / expected).sum() - freedom) / (2 * freedom) ** 0.5


@pytest.mark.parametrize("seed", [0, 1, 2**31 - 1])
def test_consecutive_positions_are_uniform(seed):
    draws = np.array([uniform(seed, 0, position) for position in range(12_000)])
    assert draws.min() >= 0
    assert draws.max() < 1
    assert abs(chi_square(np.histogram(draws, 100, (0, 1))[0])) < 4
    kolmogorov = np.abs(np.sort(draws) - (np.arange(draws.size) + 0.5) / draws.size).max()
    assert kolmogorov * draws.size**0.5 < 1.95  # p = 0.001


@pytest.mark.parametrize(
    "other",
    [
        lambda position: uniform(7, 1, position),
        lambda position: uniform(8, 0, position),
        lambda position: uniform(7, 0, position + 1),
        lambda position: uniform(7, position, 0),
    ],
    ids=["next choice", "next seed", "next position", "choice for position"],
)
def test_neighbours_are_independent(other):
    a = [uniform(7, 0, position) for position in range(1, 10_001)]
    b = [other(position) for position in range(1, 10_001)]
    counts = np.histogram2d(a, b, 10, ((0, 1), (0, 1)))[0]
    assert abs(chi_square(counts.ravel())) < 4


def test_every_argument_counts_and_nothing_else():
    assert uniform(0, 0, 0) == uniform(0, 0, 0)
    values = {uniform(s, c, p) for s in (0, -1, 7, 2**40) for c in (0, 1) for p in (0, 1, 2**33)}
    assert len(values) == 24


def test_fresh_seeds_fit_32_bit_clients_and_differ():
    seeds = {fresh_seed() for _ in range(100)}
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert len(seeds) > 95
