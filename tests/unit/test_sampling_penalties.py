"""Penalties and bias: the formulas, the window, growth, and replay."""

import numpy as np
import pytest

from engine.errors import InvalidRequest
from engine.sampling.penalties import Penalties
from engine.types import SamplingParams

LOGITS = np.array([2.0, -1.0, 0.0, 4.0, -3.0], np.float32)
LOGITS.flags.writeable = False


def edited(penalties: Penalties, logits: np.ndarray = LOGITS) -> list[float]:
    result = logits.copy()
    if penalties.active:
        ids, new = penalties.edits(logits)
        assert len(set(ids.tolist())) == ids.size
        result[ids] = new
    return result.tolist()


def test_defaults_edit_nothing():
    penalties = Penalties(SamplingParams(), [0, 1, 2])
    penalties.accept(3)
    assert not penalties.active


def test_repetition_penalty_divides_positive_and_multiplies_negative_logits_once():
    penalties = Penalties(SamplingParams(repetition_penalty=2), [0, 1, 1, 2])
    assert edited(penalties) == [1.0, -2.0, 0.0, 4.0, -3.0]
    penalties.accept(3)
    assert edited(penalties) == [1.0, -2.0, 0.0, 2.0, -3.0]


def test_repetition_penalty_sees_the_last_n_of_prompt_and_answer():
    penalties = Penalties(SamplingParams(repetition_penalty=2, repeat_last_n=2), [4, 0, 1])
    assert edited(penalties) == [1.0, -2.0, 0.0, 4.0, -3.0]
    penalties.accept(3)
    assert edited(penalties) == [2.0, -2.0, 0.0, 2.0, -3.0]
    penalties.accept(3)
    assert edited(penalties) == [2.0, -1.0, 0.0, 2.0, -3.0]
    penalties.accept(0)
    penalties.accept(0)
    assert edited(penalties) == [1.0, -1.0, 0.0, 4.0, -3.0]


@pytest.mark.parametrize("n", [0, -1])
def test_no_window_is_no_repetition_penalty(n):
    assert not Penalties(SamplingParams(repetition_penalty=2, repeat_last_n=n), [0]).active


def test_presence_and_frequency_see_the_answer_only():
    params = SamplingParams(presence_penalty=0.5, frequency_penalty=0.25)
    penalties = Penalties(params, [3, 3, 3])
    assert not penalties.active
    for token in (0, 0, 1):
        penalties.accept(token)
    assert edited(penalties) == [2.0 - 0.5 - 0.5, -1.0 - 0.5 - 0.25, 0.0, 4.0, -3.0]


def test_negative_penalties_invite_repetition():
    penalties = Penalties(SamplingParams(presence_penalty=-1), [])
    penalties.accept(2)
    assert edited(penalties) == [2.0, -1.0, 1.0, 4.0, -3.0]


def test_bias_comes_before_the_penalties():
    params = SamplingParams(logit_bias=((1, 3.0),), repetition_penalty=2, presence_penalty=0.5)
    penalties = Penalties(params, [])
    penalties.accept(1)
    assert edited(penalties) == [2.0, (-1.0 + 3) / 2 - 0.5, 0.0, 4.0, -3.0]


def test_bias_of_minus_100_bans():
    penalties = Penalties(SamplingParams(logit_bias=((3, -100.0), (0, 100.0), (1, -99.0))), [])
    assert edited(penalties) == [102.0, -100.0, 0.0, -np.inf, -3.0]


def test_bias_outlives_the_window():
    params = SamplingParams(logit_bias=((0, 1.0),), repetition_penalty=2, repeat_last_n=1)
    penalties = Penalties(params, [0])
    penalties.accept(1)
    assert edited(penalties) == [3.0, -2.0, 0.0, 4.0, -3.0]


def test_a_token_the_model_does_not_have_is_the_requests_fault():
    with pytest.raises(InvalidRequest) as caught:
        Penalties(SamplingParams(logit_bias=((5, 1.0),)), []).edits(LOGITS)
    assert caught.value.details == {"param": "logit_bias"}
    with pytest.raises(ValueError, match="-1"):
        Penalties(SamplingParams(logit_bias=((-1, 1.0),)), [])


def test_the_table_holds_only_what_still_has_an_effect():
    logits = np.zeros(2000, np.float32)
    penalties = Penalties(SamplingParams(repetition_penalty=2), list(range(500)))
    for token in range(2000):
        penalties.accept(token)
    ids, _ = penalties.edits(logits)
    assert sorted(ids.tolist()) == list(range(1936, 2000))
