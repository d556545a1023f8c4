"""The client of our HTTP API: one method for each endpoint, the engine's errors and values.

Zone: any event loop; one client for each loop. Used by the desktop and by the terminal chat.
Neighbours: `engine.client.stream`, `engine.api.requests`.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import msgspec

from engine.api.keeping import Removing
from engine.api.kept import KeptOnDisk
from engine.api.models import (
    Change,
    ModelDetails,
    ModelInfo,
    ModelList,
    ModelPath,
    Removed,
    StarterInfo,
)
from engine.api.requests import ChatRequest, ModelName, StreamOptions
from engine.api.wire import to_json
from engine.client.hub import HubClient
from engine.client.keeping import KeepingClient
from engine.client.stream import ChatStream
from engine.client.wire import JSON, Wire

HINT_SECONDS = 5.0
_PROGRESS = {"x-inglenook-events": "1"}


class Client:
    """Talks to one service; close it, or use it as a context.

    Args:
        base_url: such as `http://127.0.0.1:8080`, without `/v1`.
        api_key: where the service wants one.

    Every method raises the service's own EngineError, and ServiceUnavailable when the service cannot
    be reached.
    """

    def __init__(self, base_url: str, api_key: str | None = None) -> None:
        self._wire = Wire(base_url, api_key)
        self.hub = HubClient(self._wire)
        """The model hub: search, cards, downloads."""
        self.keeping = KeepingClient(self._wire)
        """Defaults of models, verification, disk use."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections. Idempotent."""
        await self._wire.http.aclose()

    async def health(self) -> None:
        """Return if the service is up."""
        await self._wire.get("/health", dict[str, Any])

    async def version(self) -> str:
        """The service's version."""
        reply = await self._wire.get("/api/version", dict[str, str])
        return reply.get("version", "")

    async def activity(self) -> int:
        """How many answers run now, for all clients together."""
        return (await self._wire.get("/api/activity", dict[str, int])).get("running_answers", 0)

    async def num_downloading(self) -> int:
        """How many downloads the end of the service would interrupt."""
        return (await self._wire.get("/api/activity", dict[str, int])).get("running_downloads", 0)

    async def models(self) -> list[ModelInfo]:
        """The models, sorted by id."""
        return (await self.library()).models

    async def library(self) -> ModelList:
        """The models, sorted by id, and what the user should know about the library itself."""
        return await self._wire.get("/api/models", ModelList)

    async def details(self, model: str) -> ModelDetails:
        """What a model's file says about itself, and how it would run here."""
        return await self._wire.get("/api/models/details", ModelDetails, {"model": model})

    async def add(self, path: str) -> ModelInfo:
        """Make a file known to the library; `path` is absolute, on the service's machine."""
        return await self._wire.post("/api/models/add", ModelPath(path), ModelInfo)

    async def remove(self, model: str, *, delete_file: bool = False) -> Removed:
        """Unload a model and take it out of the library; its file goes to the trash at most.

        Args:
            model: of the library.
            delete_file: also the files of one that was added from elsewhere, such as a download.
        """
        body = Removing(model, delete_file)
        return await self._wire.post("/api/models/remove", body, Removed)

    async def starter(self) -> StarterInfo:
        """Is the starter model there, or on its way?"""
        return await self._wire.get("/api/models/starter", StarterInfo)

    async def start_starter(self) -> StarterInfo:
        """Begin to fetch the starter model; does nothing where it is on its way."""
        return await self._wire.post("/api/models/starter", _Nothing(), StarterInfo)

    async def cancel_starter(self) -> StarterInfo:
        """Stop fetching the starter model, and forget a failure."""
        return await self._wire.post("/api/models/starter/cancel", _Nothing(), StarterInfo)

    async def changes(self) -> AsyncGenerator[None, None]:
        """One item at once, then one whenever `library` or `starter` would tell something new.

        Several changes may be one item. Never ends by itself; the connection closes with the
        iterator: cancel the task, or use `contextlib.aclosing`.
        """
        async with aclosing(self._wire.events("/api/events", Change)) as changes:
            async for _ in changes:
                yield

    async def load(self, model: str) -> ModelInfo:
        """Load a model; returns when it is ready. Cancelling does not stop the load."""
        return await self._wire.post("/api/models/load", ModelName(model), ModelInfo)

    async def unload(self, model: str) -> ModelInfo:
        """Unload a model; returns when its memory is free."""
        return await self._wire.post("/api/models/unload", ModelName(model), ModelInfo)

    async def hardware(self) -> dict[str, Any]:
        """The machine."""
        return await self._wire.get("/api/hardware", dict[str, Any])

    async def plan(self, model: str) -> dict[str, Any]:
        """How a model would run here, and why."""
        return await self._wire.get("/api/plan", dict[str, Any], {"model": model})

    async def prefill(self, request: ChatRequest) -> bool:
        """Have the beginning of a request read whose last message, the user's, is still being written.

        Returns:
            Does the service do it? It does not where the model is not loaded.
        """
        reply = await self._wire.post("/api/prefill", request, dict[str, bool], HINT_SECONDS)
        return reply.get("accepted", True)

    async def kept(self) -> KeptOnDisk:
        """What the service has written down of conversations."""
        return await self._wire.get("/api/prefix-cache", KeptOnDisk)

    async def forget(self, key: str | None) -> None:
        """Have the service delete what it keeps of a `prompt_cache_key`; None: of all conversations."""
        # dots alone in a path mean folders
        name = "" if key is None else "/" + quote(key, safe="").replace(".", "%2E")
        await self._wire.delete(f"/api/prefix-cache{name}")

    def chat(self, request: ChatRequest) -> ChatStream:
        """Ask for a streamed answer: a context that is iterated. `stream` need not be set."""
        wanted = msgspec.structs.replace(
            request, stream=True, stream_options=StreamOptions(include_usage=True)
        )
        http = self._wire.http
        http_request = http.build_request(
            "POST", "/v1/chat/completions", content=to_json(wanted), headers=JSON | _PROGRESS
        )
        return ChatStream(http, http_request)


class _Nothing(msgspec.Struct):
    """The body of a POST that needs none."""
