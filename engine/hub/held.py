"""Downloads that stopped by themselves: what holds each, and whether it is gone.

Neighbours: `download_queue` (remembers and resumes them), `space` (room on the disk), `network` (the offline switch).
"""

from pathlib import Path
from typing import Final, Literal

import msgspec

from engine.errors import DiskFull, EngineError
from engine.hub.network import Network
from engine.hub.space import free_bytes, needed_bytes
from engine.hub.wanted import Wanted

_MORE_ROOM: Final = 64 << 20


class Held(msgspec.Struct, frozen=True):
    """What a download waits for; written with the queue."""

    by: Literal["disk", "offline"]
    free_bytes: int = 0
    """On the disk at that time."""

    @classmethod
    def now(cls, error: EngineError, root: Path) -> "Held":
        """By a full disk, or by the offline switch."""
        if isinstance(error, DiskFull):
            return cls("disk", free_bytes(root))
        return cls("offline")

    def over(self, network: Network, root: Path, wanted: Wanted) -> bool:
        """Could it go on?

        There has to be more room than there was: a quota refuses bytes that count as free.
        """
        if self.by == "offline":
            return not network.offline
        needed, free = needed_bytes(root, wanted), free_bytes(root)
        return free >= max(needed, self.free_bytes + min(needed, _MORE_ROOM))
