"""Routes of our own API: health, the library, the starter model, changes, the machine, plans, activity, the version."""

import asyncio
from contextlib import aclosing
from dataclasses import asdict

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from engine.api import sse
from engine.api.models import Change, ModelPath, Removed
from engine.api.requests import ModelName
from engine.api.wire import from_json, to_json
from engine.errors import EngineError, InvalidRequest
from engine.server.body import read_json_body
from engine.server.errors import JsonReply, error_event
from engine.server.outbox import Outbox
from engine.server.service import Service

HEALTH = "/health"
CHANGE_PAUSE_SECONDS = 0.1
"""Between two events of one listener: who hears of a change asks for everything again."""


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
    wanted = from_json(await read_json_body(request), ModelName)
    async with service.answers.interruptible(None):
        outcome = await service.engine.remove(wanted.model)
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
    return ChangeStream(Service.of(request))


class ChangeStream(Response):
    """Changes as server-sent events. Runs in the request's own task, as an answer does."""

    def __init__(self, service: Service) -> None:
        super().__init__()
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the client leaves or the service stops."""
        del scope
        outbox = Outbox(send, ping_seconds=self._service.ping_seconds)
        change = sse.event(to_json(Change(models=True)))
        try:
            async with (
                self._service.answers.interruptible(receive),
                aclosing(self._service.engine.changes()) as changes,
            ):
                async for _ in changes:
                    outbox.put(change)
                    await asyncio.sleep(CHANGE_PAUSE_SECONDS)
                    await outbox.room()
        except ClientDisconnect:
            outbox.abandon()
        except BaseException as error:
            if not (outbox.opened and isinstance(error, EngineError)):
                outbox.abandon()
                raise
            outbox.put(error_event(error))
            await outbox.finish()


async def activity(request: Request) -> Response:
    """GET /api/activity: what would be cut off if the service ended now."""
    return JsonReply({"running_answers": Service.of(request).answers.count})


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
