"""A client for a command: of the service that runs already, or of one in this process for as long as the command takes."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from engine.cli.composition import compose
from engine.cli.setup import Context
from engine.client import discovery
from engine.client.client import Client
from engine.errors import EngineError
from engine.server.application import create_app
from engine.server.run import running


@asynccontextmanager
async def client_of(context: Context, *, join: bool = True) -> AsyncIterator[Client]:
    """Ready to be asked.

    Args:
        context: settings and folders.
        join: use a service that runs already on the same data.
    """
    found = discovery.read(context.paths) if join else None
    if found is not None:
        async with Client(found.url, found.key or None) as client:
            try:
                await client.health()
            except EngineError:
                pass  # it has just left
            else:
                yield client
                return
    parts = compose(context)
    key = secrets.token_urlsafe(32)
    app = create_app(**parts.for_app, api_keys=(key,), sampling=context.settings.generation)
    try:
        async with running(app, "127.0.0.1", 0, grace_seconds=0) as url, Client(url, key) as client:
            yield client
    finally:
        await parts.close()
