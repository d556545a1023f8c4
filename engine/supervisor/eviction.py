"""Who leaves memory so that another model fits. Pure: no clocks, no processes, no log."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Resident:
    """A loaded model without open answers."""

    model: str
    resident_bytes: int
    """Of main memory; measured now, not estimated."""
    idle_since: float
    gpu: str = ""
    """UUID of the GPU it computes on; empty: none."""
    vram_bytes: int = 0
    """Of that GPU's memory."""

    def held(self, gpu: str) -> int:
        """Bytes on a GPU, or of main memory (an empty UUID)."""
        if not gpu:
            return self.resident_bytes
        return self.vram_bytes if gpu == self.gpu else 0


def choose_victims(missing_bytes: int, idle: Sequence[Resident], gpu: str = "") -> list[str] | None:
    """The models to unload, longest idle first, until enough is freed.

    Args:
        missing_bytes: how much more is needed than is free.
        idle: who may leave.
        gpu: UUID of the GPU whose memory is missing; empty: main memory.

    Returns:
        None when even all of them would not be enough; [] when nothing is missing.
    """
    victims: list[str] = []
    for resident in sorted(idle, key=lambda r: (r.idle_since, r.model)):
        if missing_bytes <= 0:
            break
        if held := resident.held(gpu):
            victims.append(resident.model)
            missing_bytes -= held
    return victims if missing_bytes <= 0 else None
