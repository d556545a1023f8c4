"""The part of the client that talks of the model hub: search, cards, downloads, access.

Zone: any event loop. Neighbours: `engine.client.client` (owns the connection), `engine.api.hub` (what comes back).
"""

from collections.abc import AsyncGenerator
from urllib.parse import quote

from engine.api.hub import (
    Access,
    ConnectionList,
    DownloadChange,
    DownloadInfo,
    DownloadLimit,
    DownloadList,
    DownloadRequest,
    Fit,
    HubCard,
    HubPage,
    OfflineChange,
    Sort,
    TokenChange,
)
from engine.client.wire import Wire


class HubClient:
    """One method for each endpoint; raises what `Client` raises."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def search(self, text: str = "", sort: Sort = "trending", cursor: str = "") -> HubPage:
        """Repositories with GGUF files."""
        params = {"search": text, "sort": sort, "cursor": cursor}
        return await self._wire.get("/api/hub/models", HubPage, params)

    async def card(self, repo: str, revision: str = "main") -> HubCard:
        """A repository: its quantizations, what they cost here, its text."""
        params = {"repo": repo, "revision": revision}
        return await self._wire.get("/api/hub/model", HubCard, params)

    async def fit(self, repo: str, name: str, revision: str = "main") -> Fit:
        """What one choice would cost here, with llama.cpp's own figures."""
        params = {"repo": repo, "name": name, "revision": revision}
        return await self._wire.get("/api/hub/fit", Fit, params)

    async def download(self, request: DownloadRequest) -> DownloadInfo:
        """Queue a download."""
        return await self._wire.post("/api/downloads", request, DownloadInfo)

    async def downloads(self) -> DownloadList:
        """All of them."""
        return await self._wire.get("/api/downloads", DownloadList)

    def download_changes(self) -> AsyncGenerator[DownloadList, None]:
        """The list at once, then after each change; close it to stop listening."""
        return self._wire.events("/api/downloads/events", DownloadList)

    async def change(self, download: str, change: DownloadChange) -> DownloadList:
        """Pause, resume, cancel or move a download."""
        path = f"/api/downloads/{quote(download, safe='')}"
        return await self._wire.post(path, change, DownloadList)

    async def set_limit(self, bytes_per_s: int) -> DownloadList:
        """Of all downloads together; 0: none."""
        return await self._wire.post(
            "/api/downloads/limit", DownloadLimit(bytes_per_s), DownloadList
        )

    async def access(self) -> Access:
        """How the hub is reached, and as whom."""
        return await self._wire.get("/api/hub/access", Access)

    async def set_token(self, token: str) -> Access:
        """Keep a token; empty: forget it."""
        return await self._wire.post("/api/hub/token", TokenChange(token), Access)

    async def set_offline(self, offline: bool) -> Access:
        """At once; the setting says how the service starts."""
        return await self._wire.post("/api/hub/offline", OfflineChange(offline), Access)

    async def connections(self) -> ConnectionList:
        """Every host that was connected to, and why."""
        return await self._wire.get("/api/connections", ConnectionList)
