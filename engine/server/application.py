"""Composition of the HTTP front: `create_app`."""

from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect

from engine.errors import EngineError
from engine.server import admin, hints, kept, metrics, openai
from engine.server import hub as hub_routes
from engine.server import keeping as keeping_routes
from engine.server.access import Access
from engine.server.errors import on_disconnect, on_engine_error, on_fault, on_http_error
from engine.server.middleware import Gate
from engine.server.outbox import PING_SECONDS
from engine.server.service import Service
from engine.supervisor.answer import Engine
from engine.types import SamplingParams

if TYPE_CHECKING:  # the hub's clients take a tenth of a second to import
    from engine.supervisor.hub import Hub
    from engine.supervisor.keeping import Keeping


def create_app(
    engine: Engine,
    *,
    api_keys: tuple[str, ...] = (),
    allowed_hosts: tuple[str, ...] = (),
    allowed_origins: tuple[str, ...] = (),
    sampling: SamplingParams | None = None,
    version: str = "0",
    ping_seconds: float = PING_SECONDS,
    hub: "Hub | None" = None,
    keeping: "Keeping | None" = None,
) -> Starlette:
    """The app that serves an engine.

    Args:
        engine: asked for everything; the caller starts and stops it.
        api_keys: any of them opens all addresses; none: no key is needed (loopback only).
        allowed_hosts: host names besides the loopback ones, for example of a reverse proxy.
        allowed_origins: web pages that may use the API from a browser.
        sampling: what holds where a request says nothing.
        version: told by /api/version and in `system_fingerprint`.
        keeping: defaults, verification and disk use of the engine's models.
        hub: the way to the model hub; the caller closes it. None: there is none.
        ping_seconds: silence on a stream after which a comment is sent.

    Raises:
        ValueError: a key is empty.
    """
    access = Access(api_keys, allowed_hosts, allowed_origins)
    app = Starlette(
        routes=[
            *openai.ROUTES,
            *admin.ROUTES,
            *hints.ROUTES,
            *kept.ROUTES,
            *keeping_routes.ROUTES,
            *hub_routes.ROUTES,
            *metrics.ROUTES,
        ],
        middleware=[Middleware(Gate, access=access)],
        exception_handlers={
            EngineError: on_engine_error,
            HTTPException: on_http_error,
            ClientDisconnect: on_disconnect,
            Exception: on_fault,
        },
    )
    app.router.redirect_slashes = False
    app.state.service = Service(
        engine=engine,
        version=version,
        guarded=access.guarded,
        sampling=sampling or SamplingParams(),
        ping_seconds=ping_seconds,
        hub=hub,
        keeping=keeping,
    )
    return app
