"""`inglenook --serve`: the API service until a signal, or until the window that started it is gone."""

import argparse
import asyncio
import contextlib
import dataclasses
import logging
import os
import sys
import threading

from engine.cli.composition import compose
from engine.cli.setup import Context, ensure_a_model, prepare
from engine.client import discovery
from engine.client.discovery import Found
from engine.config import VERSION, ServerSettings
from engine.errors import EngineError
from engine.heap import settle
from engine.server.application import create_app
from engine.server.run import serve

logger = logging.getLogger(__name__)
KEEP = b"keep"
"""The line with which an owner that leaves asks us to stay."""


def run(args: argparse.Namespace) -> int:
    """Serve; the ready line on stdout ends with an address that works on this machine."""
    context = prepare(args)
    given = {
        "host": args.host,
        "port": args.port,
        "api_key": args.api_key,
        "allowed_hosts": tuple(args.allow_host) if args.allow_host else None,
        "allowed_origins": tuple(args.allow_origin) if args.allow_origin else None,
    }
    server = dataclasses.replace(
        context.settings.server, **{k: v for k, v in given.items() if v is not None}
    )
    if not args.owner_pipe:  # a window must not wait for a download; it offers one itself
        try:
            ensure_a_model(context)
        except EngineError as error:
            # a service without a model is still one: it can be added later
            sys.stderr.write(f"{error}\n")
    model = getattr(args, "model", None)
    if model:
        context.library.get(model)  # a wrong name should fail now, not at the first request
    asyncio.run(_serve(context, server, model, owned=args.owner_pipe))
    return 0


async def _serve(
    context: Context, server: ServerSettings, model: str | None, *, owned: bool
) -> None:
    parts = compose(context, default_model=model)
    app = create_app(
        **parts.for_app,
        api_keys=(server.api_key,) if server.api_key else (),
        allowed_hosts=server.allowed_hosts,
        allowed_origins=server.allowed_origins,
        sampling=context.settings.generation,
    )
    stop = asyncio.Event()
    if owned:
        _stop_without_owner(stop)

    def ready(url: str) -> None:
        found = Found(url, server.api_key, os.getpid(), VERSION, owned)
        try:
            discovery.write(context.paths, found)
        except OSError as error:
            logger.warning("no window will find this service: %s", error)
        settle()
        print(f"Inglenook is ready at {url}", flush=True)

    try:
        await serve(app, server.host, server.port, on_ready=ready, stop=stop)
    finally:
        discovery.remove(context.paths, os.getpid())
        await parts.close()


def _stop_without_owner(stop: asyncio.Event) -> None:
    """Set `stop` at the end of stdin, which comes however our owner dies; not after a line `keep`."""
    loop = asyncio.get_running_loop()

    def read() -> None:
        received = b""
        with contextlib.suppress(OSError):
            # Not through sys.stdin: a daemon thread that waits in there breaks the interpreter's end.
            while sys.stdin is not None and (data := os.read(sys.stdin.fileno(), 1024)):
                received = (received + data)[-1024:]
        if KEEP in received.split(b"\n")[:-1]:
            logger.info("the window left; staying, as it asked")
            return
        with contextlib.suppress(RuntimeError):  # the loop has ended by itself
            loop.call_soon_threadsafe(stop.set)

    threading.Thread(target=read, name="owner", daemon=True).start()
