"""Disconnects, silence, slow readers and many clients, over real sockets."""

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from engine.errors import ContextOverflow
from engine.server.application import create_app
from engine.server.outbox import FULL_BYTES
from engine.server.run import running
from engine.supervisor.answer import AnswerRequest, Loading, PromptAccepted
from tests.helpers.scripted_engine import (
    Script,
    ScriptedEngine,
    Step,
    delta,
    endless,
    say,
    stuck_loading,
    stuck_reading,
)

CHAT = "/v1/chat/completions"
HI = [{"role": "user", "content": "hi"}]
Test = Callable[[str, ScriptedEngine], Awaitable[None]]


def served(test: Test, script: Script | None = None, **settings: Any) -> None:
    async def main() -> None:
        engine = ScriptedEngine(script)
        async with running(create_app(engine, **settings)) as url:
            await test(url, engine)

    asyncio.run(main())


async def raw_post(url: str, **fields: Any) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Send a request and leave the connection open."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    body = json.dumps({"messages": HI, **fields}).encode()
    head = (
        f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    await writer.drain()
    return reader, writer


async def hang_up(writer: asyncio.StreamWriter) -> None:
    writer.close()
    await writer.wait_closed()


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("script", [stuck_loading, stuck_reading, endless()])
def test_a_client_that_leaves_frees_the_compute_at_once(script: Script, stream: bool) -> None:
    async def test(url: str, engine: ScriptedEngine) -> None:
        _, writer = await raw_post(url, stream=stream)
        await engine.until(lambda: bool(engine.running))
        left = time.monotonic()
        await hang_up(writer)
        await engine.until(lambda: engine.aborted == ["r1"])
        assert time.monotonic() - left < 1.0
        assert not engine.running
        engine.script = say("fine")
        async with httpx2.AsyncClient(base_url=url, trust_env=False) as http:
            assert (await http.post(CHAT, json={"messages": HI})).status_code == 200

    served(test, script)


def test_a_client_that_leaves_in_the_middle_of_a_stream() -> None:
    async def test(url: str, engine: ScriptedEngine) -> None:
        reader, writer = await raw_post(url, stream=True)
        await reader.readuntil(b"word ")
        await hang_up(writer)
        await engine.until(lambda: engine.aborted == ["r1"])

    served(test, endless())


def test_a_client_that_leaves_while_sending() -> None:
    async def test(url: str, engine: ScriptedEngine) -> None:
        parts = urlsplit(url)
        _, writer = await asyncio.open_connection(parts.hostname, parts.port)
        writer.write(
            f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            "Content-Length: 100\r\n\r\n{".encode()
        )
        await writer.drain()
        await hang_up(writer)
        async with httpx2.AsyncClient(base_url=url, trust_env=False) as http:
            assert (await http.post(CHAT, json={"messages": HI})).status_code == 200
        assert len(engine.requests) == 1

    served(test)


def test_silence_is_filled_with_comments() -> None:
    async def test(url: str, engine: ScriptedEngine) -> None:
        reader, writer = await raw_post(url, stream=True)
        text = await reader.readuntil(b": ping\n\n")
        assert text.startswith(b"HTTP/1.1 200")
        await reader.readuntil(b": ping\n\n")
        await hang_up(writer)
        await engine.until(lambda: engine.aborted == ["r1"])

    served(test, stuck_loading, ping_seconds=0.05)


def test_errors_after_a_ping_are_events() -> None:
    release = asyncio.Event()

    def script(_: AnswerRequest) -> Iterable[Step]:
        yield Loading(0.5)
        yield release
        yield ContextOverflow("Too long.", hint="Shorten it.")

    async def test(url: str, engine: ScriptedEngine) -> None:
        reader, writer = await raw_post(url, stream=True)
        await reader.readuntil(b": ping\n\n")
        release.set()
        rest = await reader.readuntil(b"0\r\n\r\n")
        assert b"context_length_exceeded" in rest
        assert b"[DONE]" not in rest
        await hang_up(writer)

    served(test, script, ping_seconds=0.05)


def test_events_that_are_ready_together_share_a_write() -> None:
    async def test(url: str, engine: ScriptedEngine) -> None:
        reader, writer = await raw_post(url, stream=True, n=8)
        await reader.readuntil(b"\r\n\r\n")
        size = int((await reader.readline()).strip(), 16)
        chunk = await reader.readexactly(size)
        assert chunk.count(b"data: ") > 8 * 12
        assert chunk.endswith(b"data: [DONE]\n\n")
        await hang_up(writer)

    served(test, say(*"Hello, world"))


def test_a_slow_reader_holds_the_answer_back() -> None:
    given = 0
    total = 4000
    piece = "x" * 5000

    def script(_: AnswerRequest) -> Iterable[Step]:
        nonlocal given
        yield PromptAccepted(4)
        for _ in range(total):
            given += 1
            yield piece
            yield 0.0
        yield delta(finish="stop", completion_tokens=total)

    async def test(url: str, engine: ScriptedEngine) -> None:
        reader, writer = await raw_post(url, stream=True)
        before = -1
        for _ in range(200):  # until nothing more is taken from the engine
            await asyncio.sleep(0.02)
            if given == before:
                break
            before = given
        assert given < total
        assert engine.running
        received = 0
        while not (part := await reader.read(1 << 20)).endswith(b"0\r\n\r\n"):
            assert part
            received += part.count(b"x")
        received += part.count(b"x")
        assert given == total
        assert received >= total * len(piece) > FULL_BYTES
        await hang_up(writer)

    served(test, script)


def test_eighty_requests_with_some_that_leave() -> None:
    """C22: half streamed, a quarter killed at random moments; then a normal one."""
    pieces = [f"{i} " for i in range(20)]

    def script(request: AnswerRequest) -> Iterable[Step]:
        for step in say(*pieces)(request):
            yield step
            yield 0.001

    async def one(http: httpx2.AsyncClient, url: str, number: int) -> None:
        stream = number % 2 == 0
        if number % 4 == 0:
            _, writer = await raw_post(url, stream=number % 8 == 0)
            await asyncio.sleep(random.Random(number).random() * 0.05)
            await hang_up(writer)
            return
        response = await http.post(CHAT, json={"messages": HI, "stream": stream})
        assert response.status_code == 200
        if stream:
            events = [json.loads(e[6:]) for e in response.text.split("\n\n")[:-2]]
            text = "".join(e["choices"][0]["delta"].get("content", "") for e in events)
        else:
            text = response.json()["choices"][0]["message"]["content"]
        assert text == "".join(pieces)

    async def test(url: str, engine: ScriptedEngine) -> None:
        async with httpx2.AsyncClient(base_url=url, trust_env=False) as http:

            async def client(first: int) -> None:
                for number in range(first, first + 10):
                    await one(http, url, number)

            await asyncio.gather(*(client(10 * i) for i in range(8)))
            await engine.until(lambda: not engine.running)
            await one(http, url, 1)

    served(test, script)
