"""The client against the real app over sockets, and against servers that misbehave."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from engine.client.client import Client
from engine.errors import (
    AccessDenied,
    EngineError,
    InvalidRequest,
    ModelNotFound,
    ServiceUnavailable,
)
from engine.server.application import create_app
from engine.server.run import running
from tests.helpers.scripted_engine import ScriptedEngine


def test_every_method() -> None:
    async def main() -> None:
        app = create_app(ScriptedEngine(), api_keys=("k",), version="9")
        async with running(app) as url, Client(url, api_key="k") as client:
            await client.health()
            assert await client.version() == "9"
            assert [m.id for m in await client.models()] == ["org/big.gguf", "tiny"]
            assert (await client.load("tiny")).state == "ready"
            assert (await client.unload("tiny")).state == "unloaded"
            assert (await client.hardware())["cores"] == 2
            assert (await client.plan("org/big.gguf"))["backend"] == "fake"
            assert (await client.library()).notice is None
            assert (await client.details("tiny")).files == ("/models/tiny",)
            assert (await client.add("/x/new")).id == "new"
            assert (await client.remove("new")).outcome == "trashed"
            assert (await client.starter()).state == "absent"
            assert (await client.start_starter()).fraction == 0.5
            assert (await client.cancel_starter()).state == "absent"
            with pytest.raises(ModelNotFound, match="no model nope") as caught:
                await client.load("nope")
            assert "tiny" in caught.value.hint
            with pytest.raises(InvalidRequest):
                await client.load("")
            async with Client(url, api_key="wrong") as stranger:
                await stranger.health()
                with pytest.raises(AccessDenied):
                    await stranger.models()

    asyncio.run(main())


def test_changes() -> None:
    async def main() -> None:
        engine = ScriptedEngine()
        async with asyncio.timeout(10):
            async with running(create_app(engine, api_keys=("k",)), grace_seconds=0) as url:
                client, stranger = Client(url, api_key="k"), Client(url)
                changes = client.changes()
                await anext(changes)
                waiting = asyncio.ensure_future(anext(changes))
                await client.load("tiny")
                await waiting
                with pytest.raises(AccessDenied):
                    await anext(stranger.changes())
            with pytest.raises(ServiceUnavailable, match="stopped"):  # the service says good-bye
                await anext(changes)
            with pytest.raises(ServiceUnavailable, match="cannot be reached"):
                await anext(client.changes())
            await client.close()
            await stranger.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("rest", "error"),
    [
        (b"", ServiceUnavailable),
        (b"data: nonsense\n\n", EngineError),
        (b'data: {"models"', ServiceUnavailable),
        (b'data: {"error":{"code":"model_not_found","message":"No."}}\n\n', ModelNotFound),
    ],
)
def test_changes_that_end_badly(rest: bytes, error: type[EngineError]) -> None:
    async def test(client: Client) -> None:
        changes = client.changes()
        await anext(changes)
        with pytest.raises(EngineError) as caught:
            await anext(changes)
        assert type(caught.value) is error

    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    against(head + b': ping\n\ndata: {"models":true,"news":1}\n\n' + rest, test)


def test_nobody_there() -> None:
    async def main() -> None:
        async with Client("http://127.0.0.1:1") as client:
            with pytest.raises(ServiceUnavailable, match=r"127\.0\.0\.1:1") as caught:
                await client.models()
            assert caught.value.hint

    asyncio.run(main())


def against(reply: bytes, test: Callable[[Client], Awaitable[None]]) -> None:
    """Run `test` against a server that says `reply` and hangs up."""

    async def main() -> None:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(reply)
            writer.close()
            await writer.wait_closed()

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            async with Client(f"http://127.0.0.1:{port}") as client:
                await test(client)

    asyncio.run(main())


def http(status: str, body: bytes) -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (b"", ServiceUnavailable),
        (b"garbage\r\n\r\n", ServiceUnavailable),
        (http("200 OK", b"x" * 10)[:-5], ServiceUnavailable),
        (http("500 No", b"x" * 10)[:-5], ServiceUnavailable),
        (http("503 Busy", b"busy"), ServiceUnavailable),
        (http("200 OK", b"<html>"), EngineError),
        (http("200 OK", b'{"models":[{}]}'), EngineError),
        (http("500 No", b"\xff"), EngineError),
        (http("302 Found", b""), EngineError),
    ],
)
def test_servers_that_are_not_ours(reply: bytes, error: type[EngineError]) -> None:
    async def test(client: Client) -> None:
        with pytest.raises(EngineError) as caught:
            await client.models()
        assert type(caught.value) is error
        assert caught.value.message

    against(reply, test)


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
def test_loopback_traffic_goes_through_no_proxy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:1")

    async def main(**settings: Any) -> None:
        async with running(create_app(ScriptedEngine(), **settings)) as url:
            port = url.rpartition(":")[2]
            for host in ("127.0.0.1", "localhost", "[::1]"):
                async with Client(f"http://{host}:{port}") as client:
                    await client.health()

    asyncio.run(main())
