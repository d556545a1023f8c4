"""The chain against a slow float64 reference over the whole vocabulary, and its symmetries."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.backends.host_logits import HostOutputs
from engine.sampling import filters
from engine.sampling.penalties import Penalties
from engine.sampling.rng import uniform
from engine.sampling.sampler import Sampler, survivors
from engine.types import SamplingParams

# Nearer than this to a boundary, float32 sums of the whole vocabulary may fall on either side.
CLOSE = 1e-6


@dataclass
class Reference:
    """What the chain should do, and how near to another decision it came."""

    logits: list[float]
    margin: float = math.inf

    def probabilities(self, ids: list[int], temperature: float = 1.0) -> list[float]:
        largest = max(self.logits[i] for i in ids)
        weights = [math.exp((self.logits[i] - largest) / temperature) for i in ids]
        total = math.fsum(weights)
        return [weight / total for weight in weights]

    def reach(self, masses: list[float], p: float) -> int:
        total = 0.0
        for count, mass in enumerate(masses, 1):
            total += mass
            self.margin = min(self.margin, abs(total - p))
            if total >= p:
                return count
        return len(masses)

    def survivors(self, params: SamplingParams) -> list[int]:
        possible = [i for i, logit in enumerate(self.logits) if logit > -math.inf]
        ids = sorted(possible, key=lambda i: (-self.logits[i], i))
        if params.top_k > 0:
            ids = ids[: params.top_k]
        if params.typical_p < 1:
            ids = self.typical(ids, params.typical_p)
        if params.top_p < 1:
            ids = ids[: self.reach(self.probabilities(ids), params.top_p)]
        if params.min_p > 0:
            least = self.logits[ids[0]] + math.log(params.min_p)
            self.margin = min([self.margin, *(abs(self.logits[i] - least) for i in ids)])
            ids = [i for i in ids if self.logits[i] >= least]
        return ids

    def typical(self, ids: list[int], p: float) -> list[int]:
        masses = dict(zip(ids, self.probabilities(ids), strict=True))
        surprisal = {i: -math.log(mass) if mass else 1e9 for i, mass in masses.items()}
        entropy = math.fsum(masses[i] * surprisal[i] for i in ids)
        far = {i: abs(surprisal[i] - entropy) for i in ids}
        ordered = sorted(ids, key=lambda i: far[i])
        count = self.reach([masses[i] for i in ordered], p)
        if count < len(ordered) and self.logits[ordered[count - 1]] != self.logits[ordered[count]]:
            self.margin = min(self.margin, far[ordered[count]] - far[ordered[count - 1]])
        kept = set(ordered[:count])
        return [i for i in ids if i in kept]

    def draw(self, ids: list[int], temperature: float, u: float) -> int:
        total = 0.0
        for i, mass in zip(ids, self.probabilities(ids, temperature), strict=True):
            total += mass
            self.margin = min(self.margin, abs(total - u))
            if total > u:
                return i
        return ids[-1]


def edited(row: np.ndarray, params: SamplingParams, prompt: list[int], answer: list[int]):
    """Bias and penalties recomputed from nothing."""
    bias = dict(params.logit_bias)
    window = (prompt + answer)[-params.repeat_last_n :] if params.repeat_last_n else []
    result = []
    for token, logit in enumerate(row.astype(np.float64).tolist()):
        added = bias.get(token, 0.0)
        changed = -math.inf if added <= -100 else logit + added
        if token in window:
            factor = params.repetition_penalty
            changed = changed / factor if changed > 0 else changed * factor
        count = answer.count(token)
        changed -= params.frequency_penalty * count + params.presence_penalty * (count > 0)
        result.append(changed)
    return result


@st.composite
def rows(draw) -> np.ndarray:
    n = draw(st.one_of(st.integers(1, 60), st.integers(250, 1500)))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    row = generator.normal(0, draw(st.sampled_from([0.0, 0.3, 2.0, 8.0])), n)
    if draw(st.booleans()):
        row = np.round(row * 2) / 2  # many ties
    if draw(st.booleans()):
        row[generator.random(n) < 0.3] = -np.inf
        row[generator.integers(n)] = 1.5
    return row.astype(np.float32)


chains = st.builds(
    SamplingParams,
    temperature=st.sampled_from([0.1, 0.7, 1.0, 3.0]),
    top_k=st.sampled_from([0, 0, 1, 2, 40, 10_000]),
    top_p=st.sampled_from([1.0, 1.0, 0.03, 0.4, 0.9, 0.999]),
    min_p=st.sampled_from([0.0, 0.0, 0.02, 0.3, 0.97]),
    typical_p=st.sampled_from([1.0, 1.0, 0.1, 0.6, 0.98]),
    seed=st.integers(0, 2**31 - 1),
)


def outputs(row: np.ndarray) -> HostOutputs:
    return HostOutputs(1, [row].__getitem__)


@settings(max_examples=300, deadline=None)
@given(rows(), chains)
def test_same_survivors_and_same_token_as_the_reference(row, params):
    reference = Reference(row.astype(np.float64).tolist())
    expected = reference.survivors(params)
    assume(reference.margin > CLOSE)
    ids, logits = survivors(outputs(row), 0, None, params)
    assert ids.tolist() == expected
    assert logits.tolist() == [reference.logits[i] for i in expected]
    sampler = Sampler(params, 2, [])
    for position in range(4):
        reference.margin = math.inf
        token = reference.draw(expected, params.temperature, uniform(params.seed, 2, position))
        if reference.margin > CLOSE:
            assert sampler.sample(outputs(row), 0).token == token
        sampler.accept(token)


tokens = st.integers(0, 29)
penalised = st.builds(
    SamplingParams,
    repetition_penalty=st.sampled_from([1.0, 0.8, 1.3]),
    repeat_last_n=st.sampled_from([0, 1, 3, 64]),
    presence_penalty=st.sampled_from([0.0, -1.0, 0.7]),
    frequency_penalty=st.sampled_from([0.0, -0.5, 0.4]),
    logit_bias=st.dictionaries(tokens, st.sampled_from([-100.0, -3.0, 0.0, 2.5, 100.0])).map(
        lambda bias: tuple(bias.items())
    ),
)
history = st.lists(st.integers(0, 29) | st.integers(0, 299), max_size=150)


@settings(max_examples=200, deadline=None)
@given(penalised, history, history, st.integers(0, 99))
def test_penalties_kept_up_to_date_equal_penalties_recomputed(params, prompt, answer, seed):
    row = np.random.default_rng(seed).normal(0, 4, 300).astype(np.float32)
    penalties = Penalties(params, prompt)
    for token in answer:
        penalties.accept(token)
    result = row.copy()
    if penalties.active:
        ids, new = penalties.edits(row)
        assert len(set(ids.tolist())) == ids.size
        result[ids] = new
    assert result.tolist() == pytest.approx(edited(row, params, prompt, answer), abs=1e-4)


@settings(max_examples=150, deadline=None)
@given(rows(), chains, st.lists(st.tuples(tokens, st.integers(-20, 20)), max_size=12))
def test_edits_equal_a_row_that_was_so_from_the_start(row, params, changes):
    changes = {token % row.size: float(value) for token, value in changes}
    edits = (np.array(list(changes), np.int32), np.array(list(changes.values()), np.float32))
    changed = row.copy()
    changed[edits[0]] = edits[1]
    before = row.tobytes()
    ids, logits = survivors(outputs(row), 0, edits, params)
    expected_ids, expected_logits = survivors(outputs(changed), 0, None, params)
    assert ids.tolist() == expected_ids.tolist()
    assert logits.tolist() == expected_logits.tolist()
    assert row.tobytes() == before


# Multiples of 1/64 and whole shifts: sums without rounding, so equality may be demanded.
exact = st.lists(st.integers(-640, 640), min_size=1, max_size=60).map(
    lambda values: np.sort(np.array(values) / 64.0)[::-1]
)
fraction = st.floats(0.01, 1.0)
unit = st.floats(0, 1, exclude_max=True)


@given(exact, fraction, st.integers(-1000, 1000), st.floats(0.05, 5), unit)
def test_filters_commute_with_a_shift_of_all_logits(logits, p, shift, temperature, u):
    shifted = logits + shift
    gaps = logits - (logits[0] + math.log(p))
    assert filters.top_p(logits, p) == filters.top_p(shifted, p)
    if abs(gaps).min() > 1e-9:
        assert filters.min_p(logits, p) == filters.min_p(shifted, p)
    assert filters.typical_p(logits, p).tolist() == filters.typical_p(shifted, p).tolist()
    assert filters.draw(logits, temperature, u) == filters.draw(shifted, temperature, u)


@given(exact, fraction, fraction)
def test_filters_keep_more_as_p_allows_more(logits, p, q):
    low, high = sorted((p, q))
    assert 1 <= filters.top_p(logits, low) <= filters.top_p(logits, high) <= logits.size
    assert logits.size >= filters.min_p(logits, low) >= filters.min_p(logits, high) >= 1
    few = set(filters.typical_p(logits, low).tolist())
    assert few
    assert few <= set(filters.typical_p(logits, high).tolist())


@settings(deadline=None)
@given(rows(), chains)
def test_greedy_is_the_lowest_id_of_the_largest_logit(row, params):
    sampler = Sampler(replace(params, temperature=0.0), 0, [])
    assert sampler.sample(outputs(row), 0).token == int(np.flatnonzero(row == row.max())[0])


@settings(max_examples=50, deadline=None)
@given(rows(), chains, st.integers(0, 1499))
def test_banning_everything_but_one_token_picks_it(row, params, chosen):
    chosen %= row.size
    assume(row[chosen] > -np.inf)
    bias = tuple((token, -100.0) for token in range(row.size) if token != chosen)
    for temperature in (0.0, params.temperature):
        sampler = Sampler(replace(params, temperature=temperature, logit_bias=bias), 0, [])
        assert sampler.sample(outputs(row), 0).token == chosen


@pytest.mark.parametrize(
    "params",
    [
        SamplingParams(temperature=1.5, top_k=0, top_p=1, min_p=0),
        SamplingParams(temperature=0.7, top_k=8, top_p=0.9, min_p=0.02),
        SamplingParams(temperature=1.0, top_k=0, top_p=0.8, min_p=0, typical_p=0.9),
    ],
)
def test_frequencies_match_the_target_distribution(params):
    row = np.linspace(2, -2, 12).astype(np.float32)
    reference = Reference(row.astype(np.float64).tolist())
    ids = reference.survivors(params)
    target = np.array(reference.probabilities(ids, params.temperature))
    n = 6000
    sampler, handle, counts = Sampler(replace(params, seed=11), 0, []), outputs(row), np.zeros(12)
    for _ in range(n):
        token = sampler.sample(handle, 0).token
        counts[token] += 1
        sampler.accept(token)
    assert counts.sum() == counts[ids].sum()
    statistic = ((counts[ids] - n * target) ** 2 / (n * target)).sum()
    freedom = len(ids) - 1
    assert abs(statistic - freedom) < 4 * (2 * freedom) ** 0.5
