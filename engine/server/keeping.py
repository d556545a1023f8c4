"""Keeping models: defaults, verification, disk use.

Neighbours: `engine.api.keeping` (what is sent), `engine.supervisor.keeping` (who knows).
"""

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from engine.api.keeping import Defaults
from engine.api.requests import ModelName
from engine.api.wire import from_json
from engine.errors import InvalidRequest, ServiceUnavailable
from engine.server.body import read_json_body
from engine.server.errors import JsonReply
from engine.server.service import Service

if TYPE_CHECKING:  # the hub's clients take a tenth of a second to import
    from engine.supervisor.keeping import Keeping


def _keeping(request: Request) -> "Keeping":
    keeping = Service.of(request).keeping
    if keeping is None:
        raise ServiceUnavailable("This service keeps no models.")
    return keeping


async def defaults(request: Request) -> Response:
    """GET /api/models/defaults?model=; POST chooses."""
    if request.method != "POST":
        return JsonReply(await _keeping(request).defaults(_asked(request)))
    wanted = from_json(await read_json_body(request), Defaults)
    return JsonReply(await _keeping(request).choose(wanted.model, wanted.chosen))


async def verify(request: Request) -> Response:
    """GET /api/models/verify?model=; POST begins to."""
    if request.method != "POST":
        return JsonReply(await _keeping(request).verification(_asked(request)))
    wanted = from_json(await read_json_body(request), ModelName)
    return JsonReply(await _keeping(request).verify(wanted.model))


async def stop_verifying(request: Request) -> Response:
    """POST /api/models/verify/cancel."""
    wanted = from_json(await read_json_body(request), ModelName)
    return JsonReply(await _keeping(request).stop_verifying(wanted.model))


async def disk(request: Request) -> Response:
    """GET /api/models/disk."""
    return JsonReply(await _keeping(request).disk())


def _asked(request: Request) -> str:
    model = request.query_params.get("model")
    if not model:
        raise InvalidRequest(
            "The address lacks a model.",
            hint=f"Ask for {request.url.path}?model=NAME.",
            param="model",
        )
    return model


ROUTES = (
    Route("/api/models/defaults", defaults, methods=["GET", "POST"]),
    Route("/api/models/verify", verify, methods=["GET", "POST"]),
    Route("/api/models/verify/cancel", stop_verifying, methods=["POST"]),
    Route("/api/models/disk", disk, methods=["GET"]),
)
