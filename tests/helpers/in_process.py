"""The app without sockets, for tests that need neither disconnects nor streams in time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import httpx2

from engine.server.application import create_app
from tests.helpers.scripted_engine import ScriptedEngine

T = TypeVar("T")
BASE = "http://localhost:1"


def with_app(
    test: Callable[[httpx2.AsyncClient, ScriptedEngine], Awaitable[T]],
    engine: ScriptedEngine | None = None,
    *,
    raise_faults: bool = True,
    **settings: Any,
) -> T:
    """Run `test` with a client of a fresh app."""

    async def main() -> T:
        served = engine or ScriptedEngine()
        transport = httpx2.ASGITransport(
            create_app(served, **settings), raise_app_exceptions=raise_faults
        )
        async with httpx2.AsyncClient(transport=transport, base_url=BASE) as http:
            return await test(http, served)

    return asyncio.run(main())
