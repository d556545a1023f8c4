"""Failures as replies and events: every one is JSON in OpenAI's shape. Pure but for the log.

Neighbours: `engine.api.failure` (the shape), `engine.server.application` (registers the handlers).
"""

import logging
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from engine.api import sse
from engine.api.failure import status_of, to_body
from engine.api.wire import to_json
from engine.errors import EngineError

logger = logging.getLogger(__name__)
SERVER_FAULT = 500
_ADDRESSES = "See /v1/models, /v1/chat/completions, /v1/completions and /api/models."


class JsonReply(Response):
    """A reply in JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Encode any value that `to_json` takes."""
        return to_json(content)


def error_reply(error: EngineError, headers: Mapping[str, str] | None = None) -> JsonReply:
    """The reply for an error. `x-should-retry` keeps the SDKs from repeating what cannot help."""
    retry = {"x-should-retry": "true" if error.retryable else "false"}
    if status_of(error) == 401:
        retry["www-authenticate"] = "Bearer"
    return JsonReply(to_body(error), status_of(error), {**retry, **(headers or {})})


def error_event(error: EngineError) -> bytes:
    """The event for an error after the stream has begun."""
    return sse.event(to_json(to_body(error)))


def internal_error() -> EngineError:
    """What a client is told about a fault of ours; the log holds the rest."""
    message = "Something went wrong inside Inglenook."
    return EngineError(message, hint="Try again; the log file holds the details.")


async def on_engine_error(request: Request, error: Exception) -> Response:
    """Handler of EngineError."""
    assert isinstance(error, EngineError)
    if status_of(error) >= SERVER_FAULT:
        logger.warning("%s %s: %s", request.method, request.url.path, error.code)
    return error_reply(error)


async def on_http_error(request: Request, error: Exception) -> Response:
    """Handler of Starlette's own errors: no such address, no such method."""
    assert isinstance(error, HTTPException)
    body: dict[str, Any] = {
        "message": f"There is no {request.method} {request.url.path} here. {_ADDRESSES}",
        "type": "not_found_error" if error.status_code == 404 else "invalid_request_error",
        "param": None,
        "code": "not_found" if error.status_code == 404 else "method_not_allowed",
        "hint": _ADDRESSES,
        "details": {},
    }
    return JsonReply({"error": body}, error.status_code, error.headers)


async def on_disconnect(request: Request, error: Exception) -> Response:
    """Handler of ClientDisconnect: nobody reads this reply."""
    del error
    logger.debug("%s %s: the client left", request.method, request.url.path)
    return Response(status_code=499)


async def on_fault(request: Request, error: Exception) -> Response:
    """Handler of everything else. The server logs the traceback."""
    del request, error
    return error_reply(internal_error())
