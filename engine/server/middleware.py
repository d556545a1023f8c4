"""The door of the app: every request passes `Gate` before it is routed, so nothing is open by mistake.

Pure ASGI: Starlette's BaseHTTPMiddleware would hide disconnects. Rules: `engine.server.access`.
"""

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.errors import AccessDenied
from engine.server.access import Access
from engine.server.admin import HEALTH
from engine.server.errors import error_reply

OPEN_PATHS = frozenset({HEALTH})
"""Answer without a key. Host and Origin are checked there too."""


class Gate:
    """Checks Host, Origin and key; answers preflights of allowed origins."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, or refuse."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        if origin is not None and self._access.allows_origin(origin):
            send = _with_cors(send, origin)
            if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
                await self._preflight(scope, receive, send)
                return
        try:
            self._check(scope, headers)
        except AccessDenied as error:
            await error_reply(error)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _check(self, scope: Scope, headers: Headers) -> None:
        server = scope.get("server")
        self._access.check_host(headers, server[0] if server else None)
        self._access.check_origin(headers)
        if scope["path"] not in OPEN_PATHS:
            self._access.check_key(headers)

    async def _preflight(self, scope: Scope, receive: Receive, send: Send) -> None:
        reply = Response(
            status_code=204,
            headers={
                "access-control-allow-methods": "GET, POST, DELETE",
                "access-control-allow-headers": "authorization, content-type, x-api-key",
                "access-control-max-age": "600",
            },
        )
        await reply(scope, receive, send)


def _with_cors(send: Send, origin: str) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["access-control-allow-origin"] = origin
            headers["access-control-expose-headers"] = "x-request-id"
            headers.add_vary_header("Origin")
        await send(message)

    return sending
