"""The model hub: search, cards, fits, downloads, access, the ledger of connections.

Neighbours: `engine.api.hub` (what is sent), `engine.supervisor.hub` (who knows).
"""

from typing import TYPE_CHECKING, get_args

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from engine.api.hub import (
    DownloadChange,
    DownloadLimit,
    DownloadRequest,
    OfflineChange,
    Sort,
    TokenChange,
)
from engine.api.wire import from_json
from engine.errors import InvalidRequest, ServiceUnavailable
from engine.server.body import read_json_body
from engine.server.change_stream import ChangeStream
from engine.server.errors import JsonReply
from engine.server.service import Service

if TYPE_CHECKING:  # the hub's clients take a tenth of a second to import
    from engine.supervisor.hub import Hub

_PROGRESS_SECONDS = 0.25


def _hub(request: Request) -> "Hub":
    hub = Service.of(request).hub
    if hub is None:
        raise ServiceUnavailable("This service has no way to the model hub.")
    return hub


async def search(request: Request) -> Response:
    """GET /api/hub/models?search=&sort=&cursor=."""
    query = request.query_params
    sort = query.get("sort", "trending")
    for known in get_args(Sort):
        if sort == known:
            return JsonReply(
                await _hub(request).search(query.get("search", ""), known, query.get("cursor", ""))
            )
    raise InvalidRequest(
        f"Models cannot be sorted by “{sort[:40]}”.",
        hint=f"Choose one of: {', '.join(get_args(Sort))}.",
        param="sort",
    )


async def card(request: Request) -> Response:
    """GET /api/hub/model?repo=&revision=."""
    return JsonReply(await _hub(request).card(_asked(request, "repo"), _revision(request)))


async def fit(request: Request) -> Response:
    """GET /api/hub/fit?repo=&name=&revision=: exactly, from the file's own header."""
    repo, name = _asked(request, "repo"), _asked(request, "name")
    return JsonReply(await _hub(request).fit(repo, name, _revision(request)))


async def downloads(request: Request) -> Response:
    """GET /api/downloads; POST queues one."""
    hub = _hub(request)
    if request.method != "POST":
        return JsonReply(await hub.downloads())
    return JsonReply(await hub.download(from_json(await read_json_body(request), DownloadRequest)))


async def change_download(request: Request) -> Response:
    """POST /api/downloads/{id}: pause, resume, cancel, move."""
    change = from_json(await read_json_body(request), DownloadChange)
    return JsonReply(await _hub(request).change(request.path_params["id"], change))


async def limit(request: Request) -> Response:
    """POST /api/downloads/limit."""
    wanted = from_json(await read_json_body(request), DownloadLimit)
    return JsonReply(await _hub(request).set_limit(wanted.bytes_per_s))


async def download_events(request: Request) -> Response:
    """GET /api/downloads/events: the list at once, then after each change, at most four times a second."""
    if request.method == "HEAD":
        return Response(media_type="text/event-stream")
    changes = _hub(request).download_changes()
    return ChangeStream(Service.of(request), changes, pause_seconds=_PROGRESS_SECONDS)


async def access(request: Request) -> Response:
    """GET /api/hub/access."""
    return JsonReply(await _hub(request).access())


async def set_token(request: Request) -> Response:
    """POST /api/hub/token."""
    change = from_json(await read_json_body(request), TokenChange)
    return JsonReply(await _hub(request).set_token(change.token))


async def set_offline(request: Request) -> Response:
    """POST /api/hub/offline: until the service ends; the setting says how it starts."""
    change = from_json(await read_json_body(request), OfflineChange)
    return JsonReply(await _hub(request).set_offline(change.offline))


async def connections(request: Request) -> Response:
    """GET /api/connections."""
    return JsonReply(await _hub(request).connections())


def _asked(request: Request, name: str) -> str:
    value = request.query_params.get(name)
    if not value:
        raise InvalidRequest(
            f"The address lacks {name}.",
            hint=f"Ask for {request.url.path}?{name}=….",
            param=name,
        )
    return value


def _revision(request: Request) -> str:
    return request.query_params.get("revision") or "main"


ROUTES = (
    Route("/api/hub/models", search, methods=["GET"]),
    Route("/api/hub/model", card, methods=["GET"]),
    Route("/api/hub/fit", fit, methods=["GET"]),
    Route("/api/hub/access", access, methods=["GET"]),
    Route("/api/hub/token", set_token, methods=["POST"]),
    Route("/api/hub/offline", set_offline, methods=["POST"]),
    Route("/api/downloads", downloads, methods=["GET", "POST"]),
    Route("/api/downloads/limit", limit, methods=["POST"]),
    Route("/api/downloads/events", download_events, methods=["GET"]),
    Route("/api/downloads/{id}", change_download, methods=["POST"]),
    Route("/api/connections", connections, methods=["GET"]),
)
