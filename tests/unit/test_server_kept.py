"""What is kept of conversations, on an engine that follows a script."""

import asyncio

import httpx2
import pytest

from engine.client.client import Client
from engine.errors import InvalidRequest
from engine.server.application import create_app
from engine.server.run import running
from tests.helpers.in_process import with_app
from tests.helpers.scripted_engine import ScriptedEngine

PATH = "/api/prefix-cache"
KEYS = ["a-1", "ä/ö?#%&=+ x", "..", ".", "/", "//x//", "a/../../b", "a\nb\n", "😀", "\0", "x" * 512]


def test_how_much_it_is() -> None:
    async def test(http: httpx2.AsyncClient, _: ScriptedEngine) -> None:
        assert (await http.get(PATH)).json() == {
            "disk_bytes": 5_000_000,
            "files": 3,
            "folder": "/cache/conversations",
        }

    with_app(test)


def test_one_owner_and_everything() -> None:
    async def test(http: httpx2.AsyncClient, engine: ScriptedEngine) -> None:
        for path in (f"{PATH}/mine", f"{PATH}/mine", PATH):
            reply = await http.delete(path)
            assert (reply.status_code, reply.content) == (204, b"")
        assert engine.forgotten == ["mine", "mine", None]

    with_app(test)


def test_a_key_that_is_none_forgets_nothing_least_of_all_everything() -> None:
    async def test(http: httpx2.AsyncClient, engine: ScriptedEngine) -> None:
        for path in (f"{PATH}/", f"{PATH}/{'x' * 513}"):
            reply = await http.delete(path)
            assert reply.status_code == 400
            assert reply.json()["error"]["param"] == "key"
        for method, path in (("POST", PATH), ("GET", f"{PATH}/mine"), ("PUT", PATH)):
            assert (await http.request(method, path)).status_code == 405
        assert not engine.forgotten

    with_app(test)


def test_the_door_is_as_everywhere() -> None:
    async def test(http: httpx2.AsyncClient, engine: ScriptedEngine) -> None:
        page = {"origin": "https://elsewhere.example"}
        for method, path in (("GET", PATH), ("DELETE", PATH), ("DELETE", f"{PATH}/mine")):
            assert (await http.request(method, path)).status_code == 401
            stranger = page | {"authorization": "Bearer k"}
            assert (await http.request(method, path, headers=stranger)).status_code == 403
        assert not engine.forgotten

    with_app(test, api_keys=("k",))


def test_the_client_and_any_key() -> None:
    engine = ScriptedEngine()

    async def main() -> None:
        async with running(create_app(engine)) as url, Client(url) as client:
            assert (await client.kept()).files == 3
            for key in KEYS:
                await client.forget(key)
            await client.forget(None)
            with pytest.raises(InvalidRequest, match="0 characters"):
                await client.forget("")

    asyncio.run(main())
    assert engine.forgotten == [*KEYS, None]
