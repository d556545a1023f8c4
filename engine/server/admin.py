"""Routes of our own API: health, the library, the starter model, changes, the machine, plans, activity, the version."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from engine.api.keeping import Removing
from engine.api.models import Change, ModelPath, Removed
from engine.api.requests import ModelName
from engine.api.wire import from_json
from engine.errors import InvalidRequest
from engine.server.body import read_json_body
from engine.server.change_stream import ChangeStream
from engine.server.errors import JsonReply
from engine.server.service import Service

HEALTH = "/health"


async def health(request: Request) -> Response:
    """GET /health: the service is up. Open to all, so it tells nothing else."""
    del request
    return JsonReply({"status": "ok"})


async def list_models(request: Request) -> Response:
    """GET /api/models: everything about every model."""
    engine = Service.of(request).engine
    statuses = await engine.models()
    return JsonReply({"models": [asdict(status) for status in statuses], "notice": engine.notice})


async def model_details(request: Request) -> Response:
    """GET /api/models/details?model=."""
    return JsonReply(await Service.of(request).engine.details(_asked_model(request)))


async def add_model(request: Request) -> Response:
    """POST /api/models/add."""
    service = Service.of(request)
    wanted = from_json(await read_json_body(request), ModelPath)
    async with service.answers.interruptible(None):
        status = await service.engine.add(wanted.path)
    return JsonReply(asdict(status))


async def remove_model(request: Request) -> Response:
    """POST /api/models/remove."""
    service = Service.of(request)
    wanted = from_json(await read_json_body(request), Removing)
    async with service.answers.interruptible(None):
        outcome = await service.engine.remove(wanted.model, delete_file=wanted.delete_file)
    return JsonReply(Removed(outcome))


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
    return JsonReply(await Service.of(request).engine.plan(_asked_model(request)))


async def starter(request: Request) -> Response:
    """GET /api/models/starter; POST begins to fetch it."""
    engine = Service.of(request).engine
    if request.method != "POST":
        return JsonReply(await engine.starter())
    await read_json_body(request)  # empty; a page elsewhere cannot send its content type
    return JsonReply(await engine.start_starter())


async def cancel_starter(request: Request) -> Response:
    """POST /api/models/starter/cancel."""
    await read_json_body(request)
    return JsonReply(await Service.of(request).engine.cancel_starter())


async def events(request: Request) -> Response:
    """GET /api/events: one event at once, then one after each change, until the client leaves."""
    if request.method == "HEAD":
        return Response(media_type="text/event-stream")
    service = Service.of(request)
    return ChangeStream(service, _changes(service))


async def _changes(service: Service) -> AsyncGenerator[Change, None]:
    async with aclosing(service.engine.changes()) as changes:
        async for _ in changes:
            yield Change(models=True)


async def activity(request: Request) -> Response:
    """GET /api/activity: what would be cut off if the service ended now."""
    service = Service.of(request)
    downloads = service.hub.num_downloading if service.hub else 0
    return JsonReply({"running_answers": service.answers.count, "running_downloads": downloads})


async def version(request: Request) -> Response:
    """GET /api/version."""
    return JsonReply({"name": "inglenook", "version": Service.of(request).version})


def _asked_model(request: Request) -> str:
    model = request.query_params.get("model")
    if not model:
        message = "The address lacks a model."
        hint = f"Ask for {request.url.path}?model=NAME."
        raise InvalidRequest(message, hint=hint, param="model")
    return model


ROUTES = (
    Route(HEALTH, health, methods=["GET"]),
    Route("/api/models", list_models, methods=["GET"]),
    Route("/api/models/load", load_model, methods=["POST"]),
    Route("/api/models/unload", unload_model, methods=["POST"]),
    Route("/api/models/details", model_details, methods=["GET"]),
    Route("/api/models/add", add_model, methods=["POST"]),
    Route("/api/models/remove", remove_model, methods=["POST"]),
    Route("/api/models/starter", starter, methods=["GET", "POST"]),
    Route("/api/models/starter/cancel", cancel_starter, methods=["POST"]),
    Route("/api/events", events, methods=["GET"]),
    Route("/api/hardware", hardware, methods=["GET"]),
    Route("/api/plan", plan, methods=["GET"]),
    Route("/api/activity", activity, methods=["GET"]),
    Route("/api/version", version, methods=["GET"]),
)
