"""Whose turn it is: urgent before less urgent, short before long, and nobody last for ever. Pure.

A prompt that has waited counts as shorter than it is, by a number of rows for each second: any newcomer is behind it in the end.
Waiting lifts it over more urgent ones too; not a hint, which has the machine only while nobody else wants it.
"""

from typing import Final

from engine.scheduler.sequence import Sequence

AGEING_ROWS_PER_S: Final = 200.0
"""A 4,000-token prompt that has waited 20 s goes before every newcomer of its priority."""
LIFT_S: Final = 30.0
"""Waiting that lifts a sequence by one priority."""


def turn(sequence: Sequence, now: float) -> tuple[float, float]:
    """Sort key of a sequence that waits for rows or for a slot: the smallest goes first.

    Args:
        sequence: with its rows that are pending.
        now: seconds, on the clock of `created_at`.
    """
    waited = max(0.0, now - sequence.created_at)
    lift = 0 if sequence.reads_only else waited // LIFT_S
    return sequence.priority - lift, sequence.num_pending - AGEING_ROWS_PER_S * waited
