"""Our own addresses, on an engine that follows a script."""

import asyncio
from urllib.parse import urlsplit

import httpx2

from engine.server.application import create_app
from engine.server.run import running
from tests.helpers.in_process import with_app
from tests.helpers.scripted_engine import ScriptedEngine


def test_health_is_open_and_private() -> None:
    async def test(http: httpx2.AsyncClient, _: ScriptedEngine) -> None:
        response = await http.get("/health")
        assert (response.status_code, response.json()) == (200, {"status": "ok"})
        assert (await http.head("/health")).status_code == 200

    with_app(test, api_keys=("k",))


def test_load_and_unload() -> None:
    async def test(http: httpx2.AsyncClient, _: ScriptedEngine) -> None:
        loaded = await http.post("/api/models/load", json={"model": "tiny"})
        assert loaded.json()["state"] == "ready"
        models = (await http.get("/api/models")).json()["models"]
        assert [(m["id"], m["state"]) for m in models] == [
            ("org/big.gguf", "unloaded"),
            ("tiny", "ready"),
        ]
        unloaded = await http.post("/api/models/unload", json={"model": "tiny"})
        assert unloaded.json()["state"] == "unloaded"
        for path in ("/api/models/load", "/api/models/unload"):
            assert (await http.post(path, json={"model": "no"})).status_code == 404
            for body in ({}, {"model": ""}, {"model": 5}, []):
                response = await http.post(path, json=body)
                assert response.status_code == 400

    with_app(test)


def test_library_notice_details_adding_and_removing() -> None:
    async def test(http: httpx2.AsyncClient, engine: ScriptedEngine) -> None:
        assert (await http.get("/api/models")).json()["notice"] is None
        engine.notice = "The list was damaged."
        assert (await http.get("/api/models")).json()["notice"] == engine.notice
        details = (await http.get("/api/models/details", params={"model": "org/big.gguf"})).json()
        assert (details["id"], details["plan"]["backend"]) == ("org/big.gguf", "fake")
        missing = await http.get("/api/models/details")
        assert missing.status_code == 400
        assert "/api/models/details?model=" in missing.json()["error"]["hint"]
        assert (await http.get("/api/models/details?model=no")).status_code == 404
        added = await http.post("/api/models/add", json={"path": "/x/new.gguf"})
        assert (added.json()["id"], added.json()["num_running"]) == ("new.gguf", 0)
        removed = await http.post("/api/models/remove", json={"model": "new.gguf"})
        assert removed.json() == {"outcome": "trashed"}
        engine.running.add("r")
        busy = await http.post("/api/models/remove", json={"model": "tiny"})
        assert (busy.status_code, busy.json()["error"]["code"]) == (409, "invalid_request")
        for body in ({}, {"path": ""}, {"path": 5}, []):
            assert (await http.post("/api/models/add", json=body)).status_code == 400

    with_app(test)


def test_starter_model() -> None:
    async def test(http: httpx2.AsyncClient, _: ScriptedEngine) -> None:
        address = "/api/models/starter"
        assert (await http.get(address)).json()["state"] == "absent"
        assert (await http.post(address, json={})).json()["state"] == "fetching"
        told = (await http.get(address)).json()
        assert (told["stage"], told["fraction"], told["error"]) == ("Downloading", 0.5, "")
        assert (await http.post(f"{address}/cancel", json={})).json()["state"] == "absent"
        for path in (address, f"{address}/cancel"):  # what a form on some page could send
            assert (await http.post(path, data={"a": "b"})).status_code == 415
            assert (await http.post(path)).status_code == 415

    with_app(test)


async def raw_events(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    assert head.startswith(b"http/1.1 200")
    assert b"content-type: text/event-stream" in head
    return reader, writer


CHANGE = b'data: {"models":true}'


def test_changes_come_as_events_silence_as_pings_and_leaving_is_noticed() -> None:
    async def main() -> None:
        engine = ScriptedEngine()
        async with running(create_app(engine, ping_seconds=0.3)) as url, asyncio.timeout(10):
            reader, writer = await raw_events(url)
            await reader.readuntil(CHANGE)
            assert b"data" not in await reader.readuntil(b": ping")
            for _ in range(50):
                engine.listeners.note()
            await reader.readuntil(CHANGE)
            assert b"data" not in await reader.readuntil(b": ping")  # fifty notes were one event
            assert engine.listeners.num_listeners == 1
            writer.close()
            await writer.wait_closed()
            while engine.listeners.num_listeners:
                await asyncio.sleep(0)

    asyncio.run(main())


def test_a_service_that_stops_tells_its_listeners() -> None:
    async def main() -> None:
        async with asyncio.timeout(10):
            async with running(create_app(ScriptedEngine()), grace_seconds=0) as url:
                reader, writer = await raw_events(url)
            rest = await reader.read()
            writer.close()
        assert CHANGE in rest
        assert b'"code":"service_unavailable"' in rest

    asyncio.run(main())


def test_head_of_the_events_does_not_listen() -> None:
    async def test(http: httpx2.AsyncClient, engine: ScriptedEngine) -> None:
        reply = await http.head("/api/events")
        assert reply.status_code == 200
        assert reply.headers["content-type"].startswith("text/event-stream")
        assert not engine.listeners.num_listeners

    with_app(test)


def test_machine_plan_and_version() -> None:
    async def test(http: httpx2.AsyncClient, _: ScriptedEngine) -> None:
        assert (await http.get("/api/hardware")).json()["cores"] == 2
        plan = await http.get("/api/plan", params={"model": "org/big.gguf"})
        assert plan.json()["model"] == "org/big.gguf"
        assert (await http.get("/api/plan")).status_code == 400
        assert (await http.get("/api/plan?model=no")).status_code == 404
        version = (await http.get("/api/version")).json()
        assert version == {"name": "inglenook", "version": "3"}

    with_app(test, version="3")


def test_wrong_addresses_and_methods_have_the_error_shape() -> None:
    async def test(http: httpx2.AsyncClient, _: ScriptedEngine) -> None:
        for path in ("/", "/v1", "/v2/models", "//v1/models", "/v1/Models", "/health/"):
            response = await http.get(path)
            assert (response.status_code, response.json()["error"]["code"]) == (404, "not_found")
        for method, path in (("DELETE", "/v1/models"), ("GET", "/v1/chat/completions")):
            response = await http.request(method, path)
            assert response.status_code == 405
            assert response.json()["error"]["code"] == "method_not_allowed"
            assert response.headers["allow"]
        assert (await http.options("/v1/models")).status_code == 405

    with_app(test)
