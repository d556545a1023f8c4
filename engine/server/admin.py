"""Routes of our own API: health, the library, the machine, plans, the version."""

from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from engine.api.requests import ModelName
from engine.api.wire import from_json
from engine.errors import InvalidRequest
from engine.server.body import read_json_body
from engine.server.errors import JsonReply
from engine.server.service import Service

HEALTH = "/health"


async def health(request: Request) -> Response:
    """GET /health: the service is up. Open to all, so it tells nothing else."""
    del request
    return JsonReply({"status": "ok"})


async def list_models(request: Request) -> Response:
    """GET /api/models: everything about every model."""
    statuses = await Service.of(request).engine.models()
    return JsonReply({"models": [asdict(status) for status in statuses]})


async def load_model(request: Request) -> Response:
    """POST /api/models/load: replies when the model is ready. Leaving does not stop the load."""
    service = Service.of(request)
    wanted = from_json(await read_json_body(request), ModelName)
    async with service.answers.interruptible(None):
        status = await service.engine.load(wanted.model)
    return JsonReply(asdict(status))


async def unload_model(request: Request) -> Response:
    """POST /api/models/unload: replies when the memory is free."""
    service = Service.of(request)
    wanted = from_json(await read_json_body(request), ModelName)
    async with service.answers.interruptible(None):
        status = await service.engine.unload(wanted.model)
    return JsonReply(asdict(status))


async def hardware(request: Request) -> Response:
    """GET /api/hardware."""
    return JsonReply(await Service.of(request).engine.hardware())


async def plan(request: Request) -> Response:
    """GET /api/plan?model=."""
    model = request.query_params.get("model")
    if not model:
        message = "The address lacks a model."
        raise InvalidRequest(message, hint="Ask for /api/plan?model=NAME.", param="model")
    return JsonReply(await Service.of(request).engine.plan(model))


async def version(request: Request) -> Response:
    """GET /api/version."""
    return JsonReply({"name": "inglenook", "version": Service.of(request).version})


ROUTES = (
    Route(HEALTH, health, methods=["GET"]),
    Route("/api/models", list_models, methods=["GET"]),
    Route("/api/models/load", load_model, methods=["POST"]),
    Route("/api/models/unload", unload_model, methods=["POST"]),
    Route("/api/hardware", hardware, methods=["GET"]),
    Route("/api/plan", plan, methods=["GET"]),
    Route("/api/version", version, methods=["GET"]),
)
