"""The two endpoints and the model list, in process."""

import json
from collections.abc import Iterable
from typing import Any

import httpx2
import pytest
from openai.types import Completion
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from engine.errors import ContextOverflow, WorkerCrashed
from engine.ipc.messages import ChatPrompt, TextPrompt, TokenPrompt
from engine.supervisor.answer import AnswerRequest, PromptAccepted
from engine.types import SamplingParams, TokenLogprob
from tests.helpers.in_process import with_app
from tests.helpers.scripted_engine import PROMPT_TOKENS, ScriptedEngine, Step, delta, say

CHAT = "/v1/chat/completions"
TEXT = "/v1/completions"
HI = [{"role": "user", "content": "hi"}]


def body_for(path: str, **fields: Any) -> dict[str, Any]:
    return {"messages": HI, **fields} if path == CHAT else {"prompt": "hi", **fields}


def events_of(response: httpx2.Response) -> list[dict[str, Any]]:
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/event-stream")
    *events, last, end = response.text.split("\n\n")
    assert (last, end) == ("data: [DONE]", "")
    return [json.loads(event.removeprefix("data: ")) for event in events]


def post(path: str, engine: ScriptedEngine | None = None, **fields: Any) -> httpx2.Response:
    async def test(http: httpx2.AsyncClient, _: ScriptedEngine) -> httpx2.Response:
        return await http.post(path, json=body_for(path, **fields))

    return with_app(test, engine, version="1.2")


def test_a_whole_chat_reply() -> None:
    reply = post(CHAT, seed=5).json()
    ChatCompletion.model_validate(reply)
    assert reply.pop("created") > 1_700_000_000
    assert reply == {
        "id": "chatcmpl-r1",
        "object": "chat.completion",
        "model": "tiny",
        "system_fingerprint": "b-inglenook-1.2",
        "seed": 5,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Hello world!", "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": PROMPT_TOKENS,
            "completion_tokens": 3,
            "total_tokens": PROMPT_TOKENS + 3,
            "prompt_tokens_details": {"cached_tokens": 3},
        },
        "timings": {
            "queue_ms": 1.0,
            "cache_n": 3,
            "prompt_n": 4,
            "prompt_ms": 20.0,
            "prompt_per_second": 200.0,
            "predicted_n": 3,
            "predicted_ms": 100.0,
            "predicted_per_second": 30.0,
            "restored_n": 0,
            "restore_ms": 0.0,
            "paced_by": "",
            "draft_n": 0,
            "draft_n_accepted": 0,
        },
    }


def test_a_whole_completion() -> None:
    reply = post(TEXT, n=2).json()
    Completion.model_validate(reply)
    assert reply["object"] == "text_completion"
    assert [choice["text"] for choice in reply["choices"]] == ["Hello world!"] * 2
    assert [choice["index"] for choice in reply["choices"]] == [0, 1]
    assert reply["usage"]["completion_tokens"] == 6
    assert reply["timings"]["predicted_n"] == 6


@pytest.mark.parametrize("path", [CHAT, TEXT])
@pytest.mark.parametrize("n", [1, 3])
def test_the_joined_stream_is_the_whole_text(path: str, n: int) -> None:
    pieces = ["a", "", "🦙", "\n", "漢", '"\\', "\x00", " "]
    engine = ScriptedEngine(say(*pieces, finish="length"))
    whole = post(path, engine, n=n).json()
    chunks = events_of(post(path, engine, n=n, stream=True))
    for index in range(n):
        parts = [c for chunk in chunks for c in chunk["choices"] if c["index"] == index]
        if path == CHAT:
            assert parts[0]["delta"] == {"role": "assistant", "content": ""}
            joined = "".join(part["delta"].get("content", "") for part in parts)
            assert joined == whole["choices"][index]["message"]["content"] == "".join(pieces)
        else:
            joined = "".join(part["text"] for part in parts)
            assert joined == whole["choices"][index]["text"] == "".join(pieces)
        finishes = [part["finish_reason"] for part in parts]
        assert finishes == [None] * (len(parts) - 1) + ["length"]
    kind = ChatCompletionChunk if path == CHAT else Completion
    for chunk in chunks:
        kind.model_validate({**chunk, "choices": _finished(chunk["choices"], path)})
    assert len({chunk["id"] for chunk in chunks}) == 1


def _finished(choices: list[dict[str, Any]], path: str) -> list[dict[str, Any]]:
    """The SDK's type for completions does not know that chunks are unfinished."""
    if path == CHAT:
        return choices
    return [{**choice, "finish_reason": choice["finish_reason"] or "stop"} for choice in choices]


@pytest.mark.parametrize("path", [CHAT, TEXT])
def test_usage_comes_only_when_asked_for(path: str) -> None:
    whole = post(path).json()["usage"]
    assert whole["total_tokens"] == whole["prompt_tokens"] + whole["completion_tokens"]
    for options in ({}, {"stream_options": None}, {"stream_options": {"include_usage": False}}):
        chunks = events_of(post(path, stream=True, **options))
        assert all("usage" not in chunk and chunk["choices"] for chunk in chunks)
    *chunks, last = events_of(post(path, stream=True, stream_options={"include_usage": True}))
    assert all(chunk["usage"] is None and chunk["choices"] for chunk in chunks)
    assert (last["choices"], last["usage"]) == ([], whole)


def test_tokens_are_counted_without_timings_too() -> None:
    def script(_: AnswerRequest) -> Iterable[Step]:
        yield PromptAccepted(4)
        yield delta("a", tokens=(1, 2))
        yield delta("b", tokens=(3,))

    assert post(CHAT, ScriptedEngine(script)).json()["usage"]["completion_tokens"] == 3


def test_thoughts_are_kept_apart() -> None:
    def script(_: AnswerRequest) -> Iterable[Step]:
        yield PromptAccepted(4)
        yield delta(reasoning="hm")
        yield delta("yes", reasoning="m")
        yield delta(finish="stop", completion_tokens=3)

    engine = ScriptedEngine(script)
    message = post(CHAT, engine).json()["choices"][0]["message"]
    assert (message["reasoning_content"], message["content"]) == ("hmm", "yes")
    deltas = [c["choices"][0]["delta"] for c in events_of(post(CHAT, engine, stream=True))]
    assert deltas[1:] == [
        {"reasoning_content": "hm"},
        {"content": "yes", "reasoning_content": "m"},
        {},
    ]


PIECES = (
    TokenLogprob(b"a", -0.5, ((b"a", -0.5), (b"b", float("-inf")))),
    TokenLogprob(b"\xf0\x9f", -1.0),
    TokenLogprob(b"\xa6\x99", float("nan")),
    TokenLogprob(b"z", -2.0),
)


def with_logprobs(_: AnswerRequest) -> Iterable[Step]:
    yield PromptAccepted(4)
    yield delta("a", logprobs=PIECES[:1])
    yield delta("", logprobs=PIECES[1:2])
    yield delta("🦙z", logprobs=PIECES[2:])
    yield delta(finish="stop", completion_tokens=4)


def test_chat_logprobs() -> None:
    engine = ScriptedEngine(with_logprobs)
    fields = {"logprobs": True, "top_logprobs": 2}
    reply = post(CHAT, engine, **fields).json()
    ChatCompletion.model_validate(reply)
    content = reply["choices"][0]["logprobs"]["content"]
    assert [token["bytes"] for token in content] == [[97], [0xF0, 0x9F], [0xA6, 0x99], [122]]
    assert [token["token"] for token in content] == [
        "a",
        "bytes:\\xf0\\x9f",
        "bytes:\\xa6\\x99",
        "z",
    ]
    assert [token["logprob"] for token in content] == [-0.5, -1.0, -9999.0, -2.0]
    assert content[0]["top_logprobs"] == [
        {"token": "a", "logprob": -0.5, "bytes": [97]},
        {"token": "b", "logprob": -9999.0, "bytes": [98]},
    ]
    chunks = events_of(post(CHAT, engine, stream=True, **fields))
    streamed = [
        token
        for chunk in chunks
        for choice in chunk["choices"]
        for token in (choice["logprobs"] or {"content": []})["content"]
    ]
    assert streamed == content


def test_completion_logprobs() -> None:
    engine = ScriptedEngine(with_logprobs)
    logprobs = post(TEXT, engine, logprobs=2).json()["choices"][0]["logprobs"]
    assert logprobs == {
        "tokens": ["a", "bytes:\\xf0\\x9f", "bytes:\\xa6\\x99", "z"],
        "token_logprobs": [-0.5, -1.0, -9999.0, -2.0],
        "top_logprobs": [{"a": -0.5, "b": -9999.0}, {}, {}, {}],
        "text_offset": [0, 1, 1, 2],
    }
    chunks = events_of(post(TEXT, engine, stream=True, logprobs=2))
    parts = [c["choices"][0]["logprobs"] for c in chunks if c["choices"][0]["logprobs"]]
    joined = {name: [x for part in parts for x in part[name]] for name in logprobs}
    assert joined == logprobs


def asked(path: str, **fields: Any) -> tuple[str | None, AnswerRequest]:
    engine = ScriptedEngine()
    assert post(path, engine, **fields).status_code == 200
    return engine.requests[0]


def test_what_the_engine_is_asked() -> None:
    model, request = asked(
        CHAT,
        model="org/big.gguf",
        max_tokens=9,
        stop="x",
        n=2,
        seed=4,
        temperature=0,
        ignore_eos=True,
        tools=[{"type": "function", "function": {"name": "f"}}],
        chat_template_kwargs={"enable_thinking": False},
    )
    assert model == "org/big.gguf"
    assert request == AnswerRequest(
        prompt=ChatPrompt(
            messages=HI,
            tools=[{"type": "function", "function": {"name": "f"}}],
            template_args={"enable_thinking": False},
        ),
        sampling=SamplingParams(temperature=0.0, seed=4),
        max_tokens=9,
        stop=("x",),
        num_choices=2,
        ignore_end=True,
    )


def test_tool_choice_none_hides_the_tools() -> None:
    tools = [{"type": "function", "function": {"name": "f"}}]
    prompt = asked(CHAT, tools=tools, tool_choice="none")[1].prompt
    assert isinstance(prompt, ChatPrompt)
    assert prompt.tools is None


@pytest.mark.parametrize(
    ("prompt", "wanted"),
    [("x", TextPrompt("x")), (["x"], TextPrompt("x")), ([1, 2], TokenPrompt([1, 2]))],
)
def test_kinds_of_prompt(prompt: object, wanted: TextPrompt | TokenPrompt) -> None:
    assert asked(TEXT, prompt=prompt)[1].prompt == wanted


@pytest.mark.parametrize("model", [{}, {"model": None}, {"model": ""}])
def test_no_model_means_the_default_one_and_its_name_is_told(model: dict[str, Any]) -> None:
    assert asked(CHAT, **model)[0] is None
    assert post(CHAT, **model).json()["model"] == "tiny"


@pytest.mark.parametrize("path", [CHAT, TEXT])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", ["no-such-99b", "TINY", "tiny.gguf", "/models/tiny", "🦙"])
def test_unknown_models_are_404_with_the_names(path: str, stream: bool, model: str) -> None:
    response = post(path, model=model, stream=stream)
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (404, "model_not_found")
    assert "org/big.gguf" in error["message"]
    assert response.headers["x-should-retry"] == "false"


@pytest.mark.parametrize("stream", [False, True])
def test_what_is_wrong_with_a_prompt_is_a_status(stream: bool) -> None:
    def script(_: AnswerRequest) -> Iterable[Step]:
        yield ContextOverflow("Too long.", hint="Shorten it.", prompt_tokens=9, limit=8)

    response = post(CHAT, ScriptedEngine(script), stream=stream)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "context_length_exceeded"


def test_errors_after_the_start_are_events() -> None:
    def script(_: AnswerRequest) -> Iterable[Step]:
        yield PromptAccepted(4)
        yield "a"
        yield WorkerCrashed("It died.", hint="Try again.", exit_code=-9)

    engine = ScriptedEngine(script)
    response = post(CHAT, engine, stream=True)
    *chunks, last, end = response.text.split("\n\n")
    assert (response.status_code, len(chunks), end) == (200, 2, "")
    assert json.loads(last.removeprefix("data: "))["error"]["details"] == {"exit_code": -9}
    assert post(CHAT, engine).status_code == 502


@pytest.mark.parametrize("path", [CHAT, TEXT])
def test_faults_tell_nothing_and_keep_the_shape(
    path: str, caplog: pytest.LogCaptureFixture
) -> None:
    def script(_: AnswerRequest) -> Iterable[Step]:
        yield RuntimeError("secret")

    def late(_: AnswerRequest) -> Iterable[Step]:
        yield PromptAccepted(4)
        yield RuntimeError("secret")

    async def test(http: httpx2.AsyncClient, engine: ScriptedEngine) -> list[httpx2.Response]:
        replies = [await http.post(path, json=body_for(path, stream=s)) for s in (False, True)]
        engine.script = late
        return [*replies, await http.post(path, json=body_for(path, stream=True))]

    *early, streamed = with_app(test, ScriptedEngine(script), raise_faults=False)
    for response in early:
        assert response.status_code == 500
        assert response.json()["error"]["code"] == "engine_error"
    assert "engine_error" in streamed.text.split("\n\n")[-2]
    assert all("secret" not in response.text for response in [*early, streamed])
    assert "a streamed answer failed" in caplog.text


def test_progress_events_come_only_when_asked_for() -> None:
    async def test(http: httpx2.AsyncClient, _: ScriptedEngine) -> list[dict[str, Any]]:
        headers = {"x-inglenook-events": "1"}
        response = await http.post(CHAT, json=body_for(CHAT, stream=True), headers=headers)
        return events_of(response)

    chunks = with_app(test)
    own = [chunk for chunk in chunks if "inglenook" in chunk]
    assert (own[0]["choices"], own[0]["inglenook"]) == (
        [],
        {"reading": {"done": 7, "total": 7, "again": False}},
    )
    counts = [chunk["inglenook"]["tokens"] for chunk in own[1:]]
    assert counts == list(range(1, len(counts) + 1))
    assert counts
    assert all("inglenook" not in chunk for chunk in events_of(post(CHAT, stream=True)))


def test_the_model_list() -> None:
    async def test(http: httpx2.AsyncClient, _: ScriptedEngine) -> list[httpx2.Response]:
        return [
            await http.get(path)
            for path in (
                "/v1/models",
                "/v1/models/org/big.gguf",
                "/v1/models/org%2Fbig.gguf",
                "/v1/models/no",
                "/v1/models/",
            )
        ]

    listed, one, quoted, missing, empty = with_app(test)
    assert [model["id"] for model in listed.json()["data"]] == ["org/big.gguf", "tiny"]
    assert one.json() == quoted.json() == listed.json()["data"][0]
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "model_not_found")
    assert empty.status_code == 404
