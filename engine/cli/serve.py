"""`inglenook --serve`: the API service until a signal."""

import argparse
import asyncio
import dataclasses
import sys

from engine.cli.about import VERSION
from engine.cli.setup import Context, ensure_a_model, prepare
from engine.config import ServerSettings
from engine.errors import SetupError
from engine.hardware.probe import probe
from engine.server.application import create_app
from engine.server.run import serve
from engine.supervisor.supervisor import Supervisor


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
    try:
        ensure_a_model(context)
    except SetupError as error:
        sys.stderr.write(
            f"{error}\n"
        )  # a service without a model is still one: it can be added later
    model = getattr(args, "model", None)
    if model:
        context.library.get(model)  # a wrong name should fail now, not at the first request
    asyncio.run(_serve(context, server, model))
    return 0


async def _serve(context: Context, server: ServerSettings, model: str | None) -> None:
    supervisor = Supervisor(context.library, context.settings.models, probe, default_model=model)
    app = create_app(
        supervisor,
        api_keys=(server.api_key,) if server.api_key else (),
        allowed_hosts=server.allowed_hosts,
        allowed_origins=server.allowed_origins,
        sampling=context.settings.generation,
        version=VERSION,
    )
    try:
        await serve(
            app,
            server.host,
            server.port,
            on_ready=lambda url: print(f"Inglenook is ready at {url}", flush=True),
        )
    finally:
        await supervisor.close()
