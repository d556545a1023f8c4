from collections.abc import AsyncIterator

import httpx2
import pytest

from engine.server import body
from tests.helpers.in_process import with_app
from tests.helpers.scripted_engine import ScriptedEngine

GOOD = b'{"messages":[{"role":"user","content":"x"}]}'
PATH = "/v1/chat/completions"


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json", 200),
        ("application/json; charset=utf-8", 200),
        ("Application/JSON", 200),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data", 415),
        ("", 415),
        (None, 415),
    ],
)
def test_only_json_is_taken(kind: str | None, status: int) -> None:
    async def test(http: httpx2.AsyncClient, _: ScriptedEngine) -> httpx2.Response:
        headers = {} if kind is None else {"content-type": kind}
        return await http.post(PATH, content=GOOD, headers=headers)

    response = with_app(test)
    assert response.status_code == status
    if status == 415:
        assert "application/json" in response.json()["error"]["message"]


@pytest.mark.parametrize("known_length", [True, False])
def test_too_large(known_length: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "MAX_BODY_BYTES", 1000)

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b"x" * 100

    async def test(http: httpx2.AsyncClient, engine: ScriptedEngine) -> None:
        content = b"x" * 1001 if known_length else pieces()
        headers = {"content-type": "application/json"}
        response = await http.post(PATH, content=content, headers=headers)
        assert (response.status_code, engine.requests) == (413, [])
        assert response.json()["error"]["hint"]

    with_app(test)
