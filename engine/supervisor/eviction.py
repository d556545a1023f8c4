"""Who leaves memory so that another model fits. Pure: no clocks, no processes, no log."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Resident:
    """A loaded model without open answers."""

    model: str
    resident_bytes: int
    """Measured now, not estimated."""
    idle_since: float


def choose_victims(missing_bytes: int, idle: Sequence[Resident]) -> list[str] | None:
    """The models to unload, longest idle first, until enough is freed.

    Returns:
        None when even all of them would not be enough; [] when nothing is missing.
    """
    victims: list[str] = []
    for resident in sorted(idle, key=lambda r: (r.idle_since, r.model)):
        if missing_bytes <= 0:
            break
        victims.append(resident.model)
        missing_bytes -= resident.resident_bytes
    return victims if missing_bytes <= 0 else None
