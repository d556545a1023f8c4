"""Who leaves memory."""

from engine.supervisor.eviction import Resident, choose_victims

IDLE = [Resident("new", 100, 30.0), Resident("old", 300, 10.0), Resident("middle", 200, 20.0)]


def test_nothing_missing_nobody_leaves() -> None:
    assert choose_victims(0, IDLE) == []
    assert choose_victims(-5, IDLE) == []


def test_the_longest_idle_leaves_first_and_no_more_than_needed() -> None:
    assert choose_victims(1, IDLE) == ["old"]
    assert choose_victims(301, IDLE) == ["old", "middle"]
    assert choose_victims(600, IDLE) == ["old", "middle", "new"]


def test_not_enough_is_said() -> None:
    assert choose_victims(601, IDLE) is None
    assert choose_victims(1, []) is None
