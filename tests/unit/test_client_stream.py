"""Streamed answers as the desktop sees them."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

import pytest

from engine.api.events import (
    ChatEvent,
    Counted,
    Finished,
    Loading,
    Reading,
    Started,
    TextDelta,
)
from engine.api.requests import ChatRequest, Message
from engine.client.client import Client
from engine.errors import (
    ContextOverflow,
    EngineError,
    ModelNotFound,
    ServiceUnavailable,
    WorkerCrashed,
)
from engine.server.application import create_app
from engine.server.run import running
from engine.supervisor import answer
from engine.supervisor.answer import AnswerRequest, PromptAccepted, PromptReading
from tests.helpers.scripted_engine import (
    Script,
    ScriptedEngine,
    Step,
    delta,
    endless,
    stuck_loading,
    stuck_reading,
)

HI = ChatRequest(messages=[Message("user", "hi")])


def served(script: Script, test: Callable[[Client, ScriptedEngine], Awaitable[None]]) -> None:
    async def main() -> None:
        engine = ScriptedEngine(script)
        async with running(create_app(engine)) as url, Client(url) as client:
            await test(client, engine)

    asyncio.run(main())


async def read_into(text: list[str], client: Client) -> None:
    async with client.chat(HI) as stream:
        async for event in stream:
            text += [event.content] if isinstance(event, TextDelta) else []


def test_events_in_order() -> None:
    def script(_: AnswerRequest) -> Iterable[Step]:
        yield answer.Loading(0.5)
        yield PromptReading(2, 9, 0, again=False)
        yield PromptAccepted(9)
        yield delta(reasoning="hm")
        yield PromptReading(3, 10, 0, again=True)
        yield delta("yes", choice=1)
        yield delta(finish="length", choice=0, completion_tokens=1)
        yield delta("!", finish="stop", choice=1, completion_tokens=2)

    async def test(client: Client, _: ScriptedEngine) -> None:
        request = ChatRequest(messages=[Message("user", "hi")], n=2, seed=3)
        async with client.chat(request) as stream:
            events: list[ChatEvent] = [event async for event in stream]
        ends = [event for event in events if isinstance(event, Finished)]
        assert [(end.choice, end.reason) for end in ends] == [(0, "length"), (1, "stop")]
        assert ends[1].pace is not None
        assert (ends[1].pace.predicted_n, ends[1].pace.cache_n) == (2, 3)
        last = events.pop()
        assert isinstance(last, Counted)
        assert (last.usage.prompt_tokens, last.usage.completion_tokens) == (9, 3)
        assert [event for event in events if not isinstance(event, Finished)] == [
            Loading(0.5),
            Reading(2, 9, again=False),
            Started("chatcmpl-r1", "tiny", 3),
            TextDelta(0, "", "hm", 1),
            Reading(3, 10, again=True),
            TextDelta(1, "yes", "", 1),
            TextDelta(1, "!", "", 2),
        ]

    served(script, test)


@pytest.mark.parametrize("script", [stuck_loading, stuck_reading, endless()])
def test_leaving_aborts(script: Script) -> None:
    async def test(client: Client, engine: ScriptedEngine) -> None:
        async with client.chat(HI) as stream:
            async for _ in stream:
                break
        await engine.until(lambda: engine.aborted == ["r1"], 1.0)

    served(script, test)


@pytest.mark.parametrize("script", [stuck_loading, endless()])
def test_cancelling_aborts(script: Script) -> None:
    async def test(client: Client, engine: ScriptedEngine) -> None:
        async def read() -> None:
            async with client.chat(HI) as stream:
                async for _ in stream:
                    pass

        reader = asyncio.ensure_future(read())
        await engine.until(lambda: bool(engine.running))
        reader.cancel()
        await engine.until(lambda: engine.aborted == ["r1"], 1.0)
        with pytest.raises(asyncio.CancelledError):
            await reader

    served(script, test)


def test_errors_come_as_the_class_that_was_raised() -> None:
    def early(_: AnswerRequest) -> Iterable[Step]:
        yield ContextOverflow("Too long.", hint="Shorten it.", prompt_tokens=9, limit=8)

    def late(_: AnswerRequest) -> Iterable[Step]:
        yield PromptAccepted(9)
        yield "part"
        yield WorkerCrashed("It died.", hint="Try again.", exit_code=-11)

    async def test(client: Client, engine: ScriptedEngine) -> None:
        with pytest.raises(ContextOverflow) as caught:
            async with client.chat(HI):
                pytest.fail("it began")
        assert caught.value.details == {"prompt_tokens": 9, "limit": 8}
        assert (caught.value.message, caught.value.hint) == ("Too long.", "Shorten it.")
        engine.script = late
        text: list[str] = []
        with pytest.raises(WorkerCrashed) as crashed:
            await read_into(text, client)
        assert ("".join(text), crashed.value.details) == ("part", {"exit_code": -11})
        with pytest.raises(ModelNotFound):
            async with client.chat(ChatRequest(messages=HI.messages, model="no")):
                pytest.fail("it began")

    served(early, test)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
PART = b'data: {"choices":[{"delta":{"content":"part"}}]}\n\n'
END = b"data: [DONE]\n\n"


def chunked(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


@pytest.mark.parametrize(
    ("tail", "error"),
    [
        (chunked(PART) + chunked(END) + b"0\r\n\r\n", None),
        (chunked(PART) + b"0\r\n\r\n", ServiceUnavailable),
        (chunked(PART), ServiceUnavailable),
        (chunked(PART) + b"ff\r\nda", ServiceUnavailable),
        (chunked(PART) + chunked(b"data: <html>\n\n"), EngineError),
        (chunked(PART) + chunked(b'data: {"error":{"message":"odd"}}\n\n'), EngineError),
        (chunked(PART) + chunked(b'data: {"error":{}}\n\n'), EngineError),
    ],
)
def test_what_came_before_a_loss_is_kept(tail: bytes, error: type[EngineError] | None) -> None:
    async def main() -> None:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(HEAD + tail)
            writer.close()
            await writer.wait_closed()

        text: list[str] = []

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            async with Client(f"http://127.0.0.1:{port}") as client:
                if error is None:
                    await read_into(text, client)
                else:
                    with pytest.raises(EngineError) as caught:
                        await read_into(text, client)
                    assert type(caught.value) is error
        assert "".join(text) == "part"

    asyncio.run(main())


def test_nobody_there() -> None:
    async def main() -> None:
        async with Client("http://127.0.0.1:1") as client:
            stream = client.chat(HI)
            with pytest.raises(ServiceUnavailable, match="cannot be reached"):
                async with stream:
                    pytest.fail("it began")
            with pytest.raises(ValueError, match="enter"):
                await anext(aiter(stream))

    asyncio.run(main())
