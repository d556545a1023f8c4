"""The client of our HTTP API: one method for each endpoint, the engine's errors and values.

Zone: any event loop; one client for each loop. Used by the desktop and by the terminal chat.
Neighbours: `engine.client.stream`, `engine.api.requests`.
"""

from collections.abc import AsyncGenerator
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx2
import msgspec

from engine.api import sse
from engine.api.failure import from_body
from engine.api.kept import KeptOnDisk
from engine.api.loopback import is_loopback
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
from engine.client.failure import checked, lost
from engine.client.stream import ChatStream
from engine.errors import EngineError, ServiceUnavailable

T = TypeVar("T")
CONNECT_SECONDS = 5.0
STREAM_SILENCE_SECONDS = 60.0
"""Streams carry a comment at least every 15 s; longer silence means the service is gone."""
LOAD_SECONDS = 3600.0
HINT_SECONDS = 5.0
_JSON = {"content-type": "application/json"}
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
        headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        url = httpx2.URL(base_url)
        self._http = httpx2.AsyncClient(
            base_url=url,
            headers=headers,
            trust_env=not is_loopback(url.host),  # a proxy must never see loopback traffic
            verify=url.scheme == "https",  # reading the certificates takes longer than all the rest
            timeout=httpx2.Timeout(STREAM_SILENCE_SECONDS, connect=CONNECT_SECONDS),
        )

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
        await self._http.aclose()

    async def health(self) -> None:
        """Return if the service is up."""
        await self._get("/health", dict[str, Any])

    async def version(self) -> str:
        """The service's version."""
        reply = await self._get("/api/version", dict[str, str])
        return reply.get("version", "")

    async def activity(self) -> int:
        """How many answers run now, for all clients together."""
        return (await self._get("/api/activity", dict[str, int])).get("running_answers", 0)

    async def models(self) -> list[ModelInfo]:
        """The models, sorted by id."""
        return (await self.library()).models

    async def library(self) -> ModelList:
        """The models, sorted by id, and what the user should know about the library itself."""
        return await self._get("/api/models", ModelList)

    async def details(self, model: str) -> ModelDetails:
        """What a model's file says about itself, and how it would run here."""
        return await self._get("/api/models/details", ModelDetails, {"model": model})

    async def add(self, path: str) -> ModelInfo:
        """Make a file known to the library; `path` is absolute, on the service's machine."""
        return await self._post("/api/models/add", ModelPath(path), ModelInfo)

    async def remove(self, model: str) -> Removed:
        """Unload a model and take it out of the library; its file goes to the trash at most."""
        return await self._post("/api/models/remove", ModelName(model), Removed)

    async def starter(self) -> StarterInfo:
        """Is the starter model there, or on its way?"""
        return await self._get("/api/models/starter", StarterInfo)

    async def start_starter(self) -> StarterInfo:
        """Begin to fetch the starter model; does nothing where it is on its way."""
        return await self._post("/api/models/starter", _Nothing(), StarterInfo)

    async def cancel_starter(self) -> StarterInfo:
        """Stop fetching the starter model, and forget a failure."""
        return await self._post("/api/models/starter/cancel", _Nothing(), StarterInfo)

    async def changes(self) -> AsyncGenerator[None, None]:
        """One item at once, then one whenever `library` or `starter` would tell something new.

        Several changes may be one item. Never ends by itself; the connection closes with the
        iterator: cancel the task, or use `contextlib.aclosing`.
        """
        request = self._http.build_request("GET", "/api/events")
        response: httpx2.Response | None = None
        try:
            response = await self._http.send(request, stream=True)
            await checked(response)
            decoder = sse.Decoder()
            async for chunk in response.aiter_bytes():
                for data in decoder.feed(chunk):
                    change = _decoded(data.encode(), Change)
                    if change.error is not None:
                        raise from_body({"error": change.error})
                    yield
        except httpx2.TransportError as error:
            raise lost(request, error) from error
        finally:
            if response is not None:
                await response.aclose()
        raise ServiceUnavailable("The service closed the connection.", hint="Try again.")

    async def load(self, model: str) -> ModelInfo:
        """Load a model; returns when it is ready. Cancelling does not stop the load."""
        return await self._post("/api/models/load", ModelName(model), ModelInfo)

    async def unload(self, model: str) -> ModelInfo:
        """Unload a model; returns when its memory is free."""
        return await self._post("/api/models/unload", ModelName(model), ModelInfo)

    async def hardware(self) -> dict[str, Any]:
        """The machine."""
        return await self._get("/api/hardware", dict[str, Any])

    async def plan(self, model: str) -> dict[str, Any]:
        """How a model would run here, and why."""
        return await self._get("/api/plan", dict[str, Any], {"model": model})

    async def prefill(self, request: ChatRequest) -> bool:
        """Have the beginning of a request read whose last message, the user's, is still being written.

        Returns:
            Does the service do it? It does not where the model is not loaded.
        """
        reply = await self._post("/api/prefill", request, dict[str, bool], HINT_SECONDS)
        return reply.get("accepted", True)

    async def kept(self) -> KeptOnDisk:
        """What the service has written down of conversations."""
        return await self._get("/api/prefix-cache", KeptOnDisk)

    async def forget(self, key: str | None) -> None:
        """Have the service delete what it keeps of a `prompt_cache_key`; None: of all conversations."""
        # dots alone in a path mean folders
        name = "" if key is None else "/" + quote(key, safe="").replace(".", "%2E")
        await self._send(self._http.build_request("DELETE", f"/api/prefix-cache{name}"))

    def chat(self, request: ChatRequest) -> ChatStream:
        """Ask for a streamed answer: a context that is iterated. `stream` need not be set."""
        wanted = msgspec.structs.replace(
            request, stream=True, stream_options=StreamOptions(include_usage=True)
        )
        http_request = self._http.build_request(
            "POST", "/v1/chat/completions", content=to_json(wanted), headers=_JSON | _PROGRESS
        )
        return ChatStream(self._http, http_request)

    async def _get(self, path: str, kind: type[T], params: dict[str, str] | None = None) -> T:
        return await self._fetch(self._http.build_request("GET", path, params=params), kind)

    async def _post(
        self, path: str, body: msgspec.Struct, kind: type[T], seconds: float = LOAD_SECONDS
    ) -> T:
        timeout = httpx2.Timeout(seconds, connect=CONNECT_SECONDS)
        request = self._http.build_request(
            "POST", path, content=to_json(body), headers=_JSON, timeout=timeout
        )
        return await self._fetch(request, kind)

    async def _fetch(self, request: httpx2.Request, kind: type[T]) -> T:
        return _decoded((await self._send(request)).content, kind)

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await self._http.send(request)
        except httpx2.TransportError as error:
            raise lost(request, error) from error
        await checked(response)
        return response


class _Nothing(msgspec.Struct):
    """The body of a POST that needs none."""


def _decoded(data: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        message = "The service sent a reply that this version does not understand."
        raise EngineError(message, hint="Is it an Inglenook of the same version?") from error
