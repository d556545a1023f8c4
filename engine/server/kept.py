"""What is kept of conversations: how much it is, and deleting it.

Neighbours: `engine.api.kept`, `engine.supervisor.answer` (`Engine.kept`, `Engine.forget`).
"""

import re

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from engine.api.requests import MOST_KEY_CHARACTERS
from engine.errors import InvalidRequest
from engine.server.errors import JsonReply
from engine.server.service import Service

_NO_CONTENT = 204


async def kept(request: Request) -> Response:
    """GET /api/prefix-cache."""
    return JsonReply(await Service.of(request).engine.kept())


async def forget_all(request: Request) -> Response:
    """DELETE /api/prefix-cache: everything, of all models."""
    await Service.of(request).engine.forget(None)
    return Response(status_code=_NO_CONTENT)


async def forget(request: Request) -> Response:
    """DELETE /api/prefix-cache/{key}: what belongs to nobody but the owner of that `prompt_cache_key`."""
    key = request.path_params["key"]
    if not 1 <= len(key) <= MOST_KEY_CHARACTERS:
        raise InvalidRequest(
            f"The key in the address has {len(key)} characters.",
            hint=f"Name a prompt_cache_key of 1 to {MOST_KEY_CHARACTERS} characters.",
            param="key",
        )
    await Service.of(request).engine.forget(key)
    return Response(status_code=_NO_CONTENT)


def _any_key(route: Route) -> Route:
    """A key may hold line ends too, at which Starlette's patterns stop."""
    route.path_regex = re.compile(route.path_regex.pattern, re.DOTALL)
    return route


ROUTES = (
    Route("/api/prefix-cache", kept, methods=["GET"]),
    Route("/api/prefix-cache", forget_all, methods=["DELETE"]),
    _any_key(Route("/api/prefix-cache/{key:path}", forget, methods=["DELETE"])),
)
