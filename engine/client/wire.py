"""HTTP for the client: JSON in and out, server-sent events, our errors.

Zone: any event loop. Neighbours: `engine.client.client`, `engine.client.hub` (what is asked).
"""

from collections.abc import AsyncGenerator
from typing import Any, TypeVar

import httpx2
import msgspec

from engine.api import sse
from engine.api.failure import from_body
from engine.api.loopback import is_loopback
from engine.api.wire import to_json
from engine.client.failure import checked, lost
from engine.errors import EngineError, ServiceUnavailable

T = TypeVar("T")
CONNECT_SECONDS = 5.0
STREAM_SILENCE_SECONDS = 60.0
"""Streams carry a comment at least every 15 s; longer silence means the service is gone."""
LOAD_SECONDS = 3600.0
JSON = {"content-type": "application/json"}


class Wire:
    """Connections to one service."""

    def __init__(self, base_url: str, api_key: str | None) -> None:
        """Connect to nobody yet; see `Client`."""
        headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        url = httpx2.URL(base_url)
        self.http = httpx2.AsyncClient(
            base_url=url,
            headers=headers,
            trust_env=not is_loopback(url.host),  # a proxy must never see loopback traffic
            verify=url.scheme == "https",  # reading the certificates takes longer than all the rest
            timeout=httpx2.Timeout(STREAM_SILENCE_SECONDS, connect=CONNECT_SECONDS),
        )

    async def get(self, path: str, kind: type[T], params: dict[str, str] | None = None) -> T:
        """GET; the reply, decoded."""
        return await self._fetch(self.http.build_request("GET", path, params=params), kind)

    async def post(
        self, path: str, body: msgspec.Struct, kind: type[T], seconds: float = LOAD_SECONDS
    ) -> T:
        """POST; the reply, decoded."""
        timeout = httpx2.Timeout(seconds, connect=CONNECT_SECONDS)
        request = self.http.build_request(
            "POST", path, content=to_json(body), headers=JSON, timeout=timeout
        )
        return await self._fetch(request, kind)

    async def delete(self, path: str) -> None:
        """DELETE."""
        await self._send(self.http.build_request("DELETE", path))

    async def events(self, path: str, kind: type[T]) -> AsyncGenerator[T, None]:
        """Server-sent events, decoded. Never ends by itself; the connection closes with the iterator."""
        request = self.http.build_request("GET", path)
        response: httpx2.Response | None = None
        try:
            response = await self.http.send(request, stream=True)
            await checked(response)
            decoder = sse.Decoder()
            async for chunk in response.aiter_bytes():
                for data in decoder.feed(chunk):
                    if data.startswith('{"error":'):
                        raise from_body(_decoded(data.encode(), dict[str, Any]))
                    yield _decoded(data.encode(), kind)
        except httpx2.TransportError as error:
            raise lost(request, error) from error
        finally:
            if response is not None:
                await response.aclose()
        raise ServiceUnavailable("The service closed the connection.", hint="Try again.")

    async def _fetch(self, request: httpx2.Request, kind: type[T]) -> T:
        return _decoded((await self._send(request)).content, kind)

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await self.http.send(request)
        except httpx2.TransportError as error:
            raise lost(request, error) from error
        await checked(response)
        return response


def _decoded(data: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        message = "The service sent a reply that this version does not understand."
        raise EngineError(message, hint="Is it an Inglenook of the same version?") from error
