"""What a rendering may use."""

import pytest

from engine.text import budget
from engine.text.budget import MAX_BYTES, MAX_ITEMS, MAX_TEXT, Budget, LimitError


def test_a_shared_part_is_visited_once_but_counts_each_time() -> None:
    value: object = "x" * 10
    for _ in range(200):
        value = [value, value]
    assert Budget().weigh(value) > 10 * 2**200


def test_weights_are_close_to_the_written_length() -> None:
    for value in ("text", [1, 2, 3], {"a": ["b", None, True], "c": 1.5}, 2**100, {}.items()):
        assert len(str(value)) / 3 < Budget().weigh(value) + 4 < len(str(value)) * 4 + 12


def test_a_weight_stays_right_when_memory_is_used_again() -> None:
    allowance = Budget()
    for size in range(1, 200):
        assert allowance.weigh([["x" * size]]) == size + 8


def test_iterators_become_lists_and_endless_ones_are_stopped() -> None:
    assert Budget().checked(iter([1, 2])) == [1, 2]
    with pytest.raises(LimitError, match="items"):
        Budget().checked(iter(int, 1))


def test_what_is_no_data_has_no_weight() -> None:
    with pytest.raises(LimitError, match="object"):
        Budget().checked([object()])


def test_limits() -> None:
    Budget().charge("x" * MAX_TEXT)
    with pytest.raises(LimitError, match="characters"):
        Budget().charge("x" * (MAX_TEXT + 1))
    with pytest.raises(LimitError, match="items"):
        Budget().charge([0] * (MAX_ITEMS + 1))
    with pytest.raises(LimitError, match="bits"):
        Budget().charge(1 << budget.MAX_BITS)
    allowance, piece = Budget(), "x" * (1 << 20)
    for _ in range((MAX_BYTES >> 20) - 1):
        allowance.charge(piece)
    with pytest.raises(LimitError, match="MB"):
        allowance.charge(piece)


def test_time(monkeypatch: pytest.MonkeyPatch) -> None:
    Budget().tick()
    monkeypatch.setattr(budget, "DEADLINE_S", -1.0)
    with pytest.raises(LimitError, match="did not finish"):
        Budget().tick()


def test_no_handler_for_ordinary_errors_catches_a_limit() -> None:
    assert not issubclass(LimitError, Exception)
