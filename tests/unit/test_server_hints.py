"""Hints of what is being typed, on an engine that follows a script."""

from typing import Any

import httpx2
import pytest

from engine.ipc.messages import ChatPrompt
from tests.helpers.in_process import with_app
from tests.helpers.scripted_engine import ScriptedEngine

DRAFT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is the cap"}]


def body(**fields: Any) -> dict[str, Any]:
    return {"model": "tiny", "messages": DRAFT, **fields}


def test_a_hint_becomes_the_same_prompt_as_the_request_that_follows() -> None:
    async def test(http: httpx2.AsyncClient, engine: ScriptedEngine) -> None:
        await engine.load("tiny")
        fields: dict[str, Any] = {
            "prompt_cache_key": "mine",
            "chat_template_kwargs": {"enable_thinking": False},
            "tools": [{"type": "function", "function": {"name": "f"}}],
        }
        hinted = await http.post("/api/prefill", json=body(**fields, temperature=0.1, n=3))
        assert (hinted.status_code, hinted.json()) == (202, {})
        await http.post("/v1/chat/completions", json=body(**fields))
        ((name, reading),) = engine.readings
        (_, sent) = engine.requests[0]
        assert name == "tiny"
        assert isinstance(reading.prompt, ChatPrompt)
        assert reading.prompt == sent.prompt
        assert reading.cache_key == sent.cache_key == "mine"
        assert (reading.reads_only, reading.priority, reading.num_choices) == (True, 2, 1)
        assert (sent.reads_only, sent.priority) == (False, 0)

    with_app(test)


def test_a_model_that_is_not_loaded_stays_so() -> None:
    async def test(http: httpx2.AsyncClient, engine: ScriptedEngine) -> None:
        reply = await http.post("/api/prefill", json=body())
        assert (reply.status_code, reply.json()) == (202, {"accepted": False})
        assert not engine.readings
        models = (await http.get("/api/models")).json()["models"]
        assert {model["state"] for model in models} == {"unloaded"}

    with_app(test)


def test_a_hint_is_no_running_answer() -> None:
    async def test(http: httpx2.AsyncClient, engine: ScriptedEngine) -> None:
        await engine.load("tiny")
        await http.post("/api/prefill", json=body())
        assert (await http.get("/api/activity")).json() == {
            "running_answers": 0,
            "running_downloads": 0,
        }
        assert not engine.requests

    with_app(test)


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({"messages": []}, 400),
        ({"messages": [{"role": "assistant", "content": "Hello"}]}, 400),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, 400),
        ({"prompt_cache_key": "x" * 513}, 400),
        ({"prompt_cache_key": 5}, 400),
        ({"model": "none-such"}, 404),
    ],
)
def test_what_is_wrong_with_a_hint_is_said(wrong: dict[str, Any], status: int) -> None:
    async def test(http: httpx2.AsyncClient, engine: ScriptedEngine) -> None:
        await engine.load("tiny")
        reply = await http.post("/api/prefill", json=body(**wrong))
        assert reply.status_code == status
        assert reply.json()["error"]["message"]
        assert not engine.readings

    with_app(test)


def test_the_door_is_as_everywhere() -> None:
    async def test(http: httpx2.AsyncClient, _: ScriptedEngine) -> None:
        assert (await http.post("/api/prefill", json=body())).status_code == 401
        key = {"authorization": "Bearer k"}
        assert (await http.post("/api/prefill", json=body(), headers=key)).status_code == 202
        assert (await http.get("/api/prefill", headers=key)).status_code == 405
        form = await http.post("/api/prefill", content=b"{}", headers=key)
        assert form.status_code == 415

    with_app(test, api_keys=("k",))
