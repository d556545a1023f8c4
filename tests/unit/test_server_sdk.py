"""The real OpenAI SDK against our server, sync and async, streamed and not."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import openai
import pytest

from engine.errors import WorkerCrashed
from engine.server.application import create_app
from engine.server.run import running
from engine.supervisor.answer import AnswerRequest, PromptAccepted
from tests.helpers.scripted_engine import Script, ScriptedEngine, Step, say

T = TypeVar("T")
HI: Any = [{"role": "user", "content": "hi"}]
KEY = "sk-test"


def with_sync(test: Callable[[openai.OpenAI], T], script: Script | None = None) -> T:
    async def main() -> T:
        app = create_app(ScriptedEngine(script), api_keys=(KEY,))
        async with running(app) as url:

            def call() -> T:
                with openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=2) as client:
                    return test(client)

            return await asyncio.to_thread(call)

    return asyncio.run(main())


def test_sync() -> None:
    def test(client: openai.OpenAI) -> None:
        assert [model.id for model in client.models.list()] == ["org/big.gguf", "tiny"]
        assert client.models.retrieve("org/big.gguf").owned_by == "inglenook"
        whole = client.chat.completions.create(model="tiny", messages=HI, seed=1)
        assert whole.choices[0].message.content == "Hello world!"
        assert whole.usage is not None
        assert whole.usage.total_tokens == 10
        text = ""
        usage = None
        for chunk in client.chat.completions.create(
            model="tiny", messages=HI, stream=True, stream_options={"include_usage": True}
        ):
            if chunk.choices:
                text += chunk.choices[0].delta.content or ""
            usage = chunk.usage
        assert text == "Hello world!"
        assert usage == whole.usage
        completion = client.completions.create(model="tiny", prompt="hi", logprobs=1)
        assert completion.choices[0].text == "Hello world!"
        pieces = client.completions.create(model="tiny", prompt="hi", stream=True)
        assert "".join(piece.choices[0].text for piece in pieces) == "Hello world!"

    with_sync(test)


def test_stream_helper() -> None:
    def test(client: openai.OpenAI) -> None:
        with client.chat.completions.stream(model="tiny", messages=HI, n=2) as stream:
            for _ in stream:
                pass
            final = stream.get_final_completion()
        assert [choice.message.content for choice in final.choices] == ["Hello world!"] * 2
        assert [choice.finish_reason for choice in final.choices] == ["stop", "stop"]

    with_sync(test)


def test_errors_are_the_sdks_own_classes() -> None:
    def test(client: openai.OpenAI) -> None:
        with pytest.raises(openai.NotFoundError) as missing:
            client.chat.completions.create(model="no", messages=HI)
        assert missing.value.code == "model_not_found"
        with pytest.raises(openai.BadRequestError) as bad:
            client.chat.completions.create(model="tiny", messages=HI, n=99)
        assert bad.value.param == "n"
        with (
            openai.OpenAI(base_url=client.base_url, api_key="wrong") as stranger,
            pytest.raises(openai.AuthenticationError),
        ):
            stranger.models.list()
        stream = client.chat.completions.create(model="tiny", messages=HI, stream=True)
        assert [next(stream).choices[0].delta.content for _ in range(2)] == ["", "part"]
        with pytest.raises(openai.APIError, match="It died"):
            next(stream)

    def late(_: AnswerRequest) -> Iterable[Step]:
        yield PromptAccepted(9)
        yield "part"
        yield WorkerCrashed("It died.", hint="Try again.")

    with_sync(test, late)


def test_what_cannot_help_is_not_repeated() -> None:
    engine = ScriptedEngine(lambda _: [WorkerCrashed("It died.", hint="Try again.")])

    async def main() -> None:
        async with (
            running(create_app(engine)) as url,
            openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="unused") as client,
        ):
            with pytest.raises(openai.InternalServerError):
                await client.chat.completions.create(model="tiny", messages=HI)

    asyncio.run(main())
    assert len(engine.requests) == 1


def test_async_and_closing_a_stream() -> None:
    async def main() -> None:
        engine = ScriptedEngine()
        async with (
            running(create_app(engine)) as url,
            openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="unused") as client,
        ):
            whole = await client.chat.completions.create(model="tiny", messages=HI)
            assert whole.choices[0].message.content == "Hello world!"
            stream = await client.chat.completions.create(model="tiny", messages=HI, stream=True)
            text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
            assert text == "Hello world!"
            endless = ScriptedEngine().script
            engine.script = lambda request: [*endless(request), 600.0]
            stream = await client.chat.completions.create(model="tiny", messages=HI, stream=True)
            await anext(aiter(stream))
            await stream.close()
            await engine.until(lambda: len(engine.aborted) == 1, 1.0)

    asyncio.run(main())


def test_eight_at_once_each_get_their_own_answer() -> None:
    def script(request: AnswerRequest) -> Iterable[Step]:
        return say(*(f"{request.max_tokens}-{i} " for i in range(30)))(request)

    async def main() -> None:
        async with (
            running(create_app(ScriptedEngine(script))) as url,
            openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="unused") as client,
        ):

            async def one(number: int) -> str:
                stream = await client.chat.completions.create(
                    model="tiny", messages=HI, stream=True, max_tokens=number
                )
                return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

            texts = await asyncio.gather(*(one(number) for number in range(1, 9)))
        assert texts == ["".join(f"{n}-{i} " for i in range(30)) for n in range(1, 9)]

    asyncio.run(main())
