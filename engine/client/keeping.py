"""The part of the client that keeps models: their defaults, verification, disk use.

Zone: any event loop. Neighbours: `engine.client.client` (owns the connection), `engine.api.keeping` (what comes back).
"""

from typing import Any

from engine.api.keeping import Defaults, DiskUse, Verified
from engine.api.requests import ModelName
from engine.client.wire import Wire


class KeepingClient:
    """One method for each endpoint; raises what `Client` raises."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def defaults(self, model: str) -> Defaults:
        """What was chosen for a model, and what another program suggests."""
        return await self._wire.get("/api/models/defaults", Defaults, {"model": model})

    async def choose(self, model: str, chosen: dict[str, Any]) -> Defaults:
        """Choose all of a model's defaults anew."""
        body = Defaults(model=model, chosen=chosen)
        return await self._wire.post("/api/models/defaults", body, Defaults)

    async def verification(self, model: str) -> Verified:
        """How far a verification is, or what the last one said."""
        return await self._wire.get("/api/models/verify", Verified, {"model": model})

    async def verify(self, model: str) -> Verified:
        """Begin to read a model's files whole."""
        return await self._wire.post("/api/models/verify", ModelName(model), Verified)

    async def stop_verifying(self, model: str) -> Verified:
        """Stop that."""
        return await self._wire.post("/api/models/verify/cancel", ModelName(model), Verified)

    async def disk(self) -> DiskUse:
        """What the models take of the disk."""
        return await self._wire.get("/api/models/disk", DiskUse)
