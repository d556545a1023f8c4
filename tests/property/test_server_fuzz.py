"""Malformed bodies never give a 500, and never reach the engine unchecked (C14)."""

import asyncio
import json
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.server.application import create_app
from tests.helpers.scripted_engine import ScriptedEngine

CHAT = "/v1/chat/completions"
TEXT = "/v1/completions"
HI = {"role": "user", "content": "hi"}

JUNK = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(),
        st.text(max_size=8),
        st.sampled_from(["user", "text", "auto", "", "\x00", "\ud83d"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(["role", "content", "type", "text", "function", "name", "1", "x"]),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=8,
)
FIELDS = [
    "messages",
    "prompt",
    "model",
    "stream",
    "stream_options",
    "n",
    "seed",
    "max_tokens",
    "max_completion_tokens",
    "stop",
    "ignore_eos",
    "temperature",
    "top_k",
    "top_p",
    "min_p",
    "typical_p",
    "repetition_penalty",
    "repeat_penalty",
    "repeat_last_n",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "response_format",
    "grammar",
    "json_schema",
    "tools",
    "tool_choice",
    "chat_template_kwargs",
    "logprobs",
    "top_logprobs",
    "functions",
    "function_call",
    "echo",
    "best_of",
    "suffix",
    "unknown",
]


def send(path: str, *bodies: bytes) -> list[httpx2.Response]:
    async def main() -> list[httpx2.Response]:
        transport = httpx2.ASGITransport(create_app(ScriptedEngine()))
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
            headers = {"content-type": "application/json"}
            return [await http.post(path, content=body, headers=headers) for body in bodies]

    return asyncio.run(main())


def check(response: httpx2.Response) -> None:
    if response.status_code == 200:
        return
    assert response.status_code in (400, 404, 501), response.text
    error = response.json()["error"]
    assert error["message"]
    assert error["type"]
    assert error["code"]


@given(st.sampled_from([CHAT, TEXT]), st.dictionaries(st.sampled_from(FIELDS), JUNK, max_size=4))
@settings(max_examples=300, deadline=None)
def test_junk_in_the_fields(path: str, fields: dict[str, Any]) -> None:
    body = {"messages": [HI], "prompt": "hi", **fields}
    for response in send(path, json.dumps(body).encode()):
        check(response)


@given(st.sampled_from([CHAT, TEXT]), st.binary(max_size=40), st.integers(0, 60))
@settings(max_examples=150, deadline=None)
def test_junk_in_the_bytes(path: str, junk: bytes, place: int) -> None:
    good = json.dumps({"messages": [HI], "prompt": "hi"}).encode()
    for response in send(path, junk, good[:place], good[:place] + junk + good[place:]):
        check(response)


def chat(content: str) -> bytes:
    return b'{"messages":[{"role":"user","content":%s}]}' % content.encode()


@pytest.mark.parametrize("path", [CHAT, TEXT])
def test_the_bodies_of_the_case(path: str) -> None:
    gbk = '{"messages":[{"role":"user","content":"中文"}],"prompt":"中文"}'.encode("gbk")
    bodies = [
        b"",
        b"{:",
        b"null",
        b"[]",
        b'"x"',
        b"\xff\xfe{\x00}\x00",
        gbk,
        chat('"\\ud83d"'),
        b"{" * 100_000,
        b'{"messages":' + b"[" * 100_000,
        b'{"prompt":' + b"[" * 100_000,
        b'{"zzz":' + b'{"a":' * 100_000,
        b'{"max_tokens":' + b"9" * 10_000 + b"}",
        b'{"messages":[{"role":"user","content":NaN}],"prompt":NaN}',
    ]
    for response in send(path, *bodies):
        assert response.status_code == 400
        check(response)


def test_large_and_odd_but_legal_bodies() -> None:
    big = json.dumps({"messages": [{"role": "user", "content": "x" * 20_000_000}]}).encode()
    for response in send(CHAT, chat('"a\\u0000b"'), chat('"\\ud83e\\udd99"'), big, chat('"hi"')):
        assert response.status_code == 200
