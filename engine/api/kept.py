"""What is kept of conversations, on the wire. Zone: service and desktop. Neighbour: `engine.server.kept`."""

import msgspec


class KeptOnDisk(msgspec.Struct, frozen=True):
    """GET /api/prefix-cache: what all models have written down of what they read."""

    disk_bytes: int = 0
    files: int = 0
    folder: str = ""
    """On the service's machine; empty: nothing is written."""
