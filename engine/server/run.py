"""Serving the app: `serve` until a signal, `running` for as long as a context lasts.

Zone: the process's main thread (`serve`) or any event loop (`running`). Order of a stop: no new
connections, running answers may finish for a while, then they end with an event, then all is closed.
"""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.applications import Starlette

from engine.aio import spawn
from engine.errors import ServiceUnavailable, SetupError
from engine.server.service import Service
from engine.server.sockets import bind, is_wide, local_url

GRACE_SECONDS = 5.0
"""What running answers get to finish once the service is told to stop."""
CLOSE_SECONDS = 2.0
"""Then, for their last event to reach slow clients."""


async def serve(
    app: Starlette,
    host: str = "localhost",
    port: int = 0,
    *,
    on_ready: Callable[[str], None] | None = None,
    stop: asyncio.Event | None = None,
    grace_seconds: float = GRACE_SECONDS,
) -> None:
    """Serve until SIGTERM, SIGINT or `stop`; a signal after that ends running answers at once.

    Args:
        app: of `create_app`.
        host: see `bind`.
        port: 0 takes a free one.
        on_ready: called with an address that works on this machine, once requests are answered.
        stop: ends it in the same order as a signal does.
        grace_seconds: what running answers get to finish.

    Raises:
        SetupError: cannot listen there, or a wide host without a key.
    """
    stop = stop or asyncio.Event()

    def on_signal() -> None:
        if stop.is_set():
            _end_answers(app)
        stop.set()

    with _signals(on_signal):
        async with running(app, host, port, grace_seconds=grace_seconds) as url:
            if on_ready is not None:
                on_ready(url)
            await stop.wait()


@asynccontextmanager
async def running(
    app: Starlette,
    host: str = "localhost",
    port: int = 0,
    *,
    grace_seconds: float = GRACE_SECONDS,
) -> AsyncIterator[str]:
    """Serve on this event loop while the context lasts; yields the address. An app is served once.

    Raises:
        SetupError: as `serve`.
    """
    sockets = bind(host, port)
    if is_wide(sockets) and not _service(app).guarded:
        for sock in sockets:
            sock.close()
        message = f"Listening on {host} lets other machines in, and no API key is set."
        raise SetupError(message, hint="Set one with --api-key, or use --host localhost.")
    url = local_url(sockets)
    server = _Server(_config(app))
    task = spawn(server.serve(sockets=sockets), name="http server")
    task.add_done_callback(lambda _: server.ready.set())
    await server.ready.wait()
    if task.done():
        task.result()  # the reason why it did not start
    try:
        yield url
    finally:
        server.leave.set()
        _service(app).answers.end_others(_stopped())
        await asyncio.wait((task,), timeout=grace_seconds)
        _end_answers(app)
        await asyncio.wait((task,), timeout=CLOSE_SECONDS)
        for connection in list(server.server_state.connections):
            connection.transport.abort()  # of clients that do not read what they asked for
        await task


class _Server(uvicorn.Server):
    """Uvicorn with events in place of its signal handling and its ten polls a second."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()
        self.leave = asyncio.Event()

    async def main_loop(self) -> None:
        self.ready.set()
        while not self.leave.is_set():
            await self.on_tick(0)  # renews the Date header
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    await self.leave.wait()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _config(app: Starlette) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
    )


def _service(app: Starlette) -> Service:
    service = app.state.service
    assert isinstance(service, Service)
    return service


def _end_answers(app: Starlette) -> None:
    _service(app).answers.end_all(_stopped())


def _stopped() -> ServiceUnavailable:
    return ServiceUnavailable("Inglenook was stopped.", hint="Start it and try again.")


@contextmanager
def _signals(action: Callable[[], None]) -> Iterator[None]:
    """Call `action` on the event loop at SIGTERM and SIGINT; the old handlers come back after."""
    loop = asyncio.get_running_loop()

    def caught(*_: object) -> None:
        loop.call_soon_threadsafe(action)

    previous = {number: signal.signal(number, caught) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            with contextlib.suppress(TypeError):  # a handler that Python did not set
                signal.signal(number, handler)
