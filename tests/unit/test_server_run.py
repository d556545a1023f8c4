"""Starting, refusing to start, and stopping in order."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from engine.api.events import TextDelta
from engine.api.requests import ChatRequest, Message
from engine.client.client import Client
from engine.errors import ServiceUnavailable, SetupError
from engine.server import run
from engine.server.application import create_app
from engine.server.run import running
from tests.helpers.scripted_engine import ScriptedEngine, endless, stuck_reading

ROOT = Path(__file__).parents[2]
HI = ChatRequest(messages=[Message("user", "hi")])


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_a_wide_host_needs_a_key(host: str) -> None:
    async def main() -> None:
        with pytest.raises(SetupError, match="API key") as caught:
            async with running(create_app(ScriptedEngine()), host):
                pytest.fail("it listens")
        assert "--api-key" in caught.value.hint
        guarded = create_app(ScriptedEngine(), api_keys=("k",))
        async with running(guarded, host) as url, Client(url, api_key="k") as client:
            assert len(await client.models()) == 2

    asyncio.run(main())


def test_every_name_of_this_machine_reaches_it() -> None:
    async def main() -> None:
        async with running(create_app(ScriptedEngine())) as url:
            port = url.rpartition(":")[2]
            async with httpx2.AsyncClient(trust_env=False) as http:
                for host in ("localhost", "127.0.0.1", "[::1]"):
                    response = await http.get(f"http://{host}:{port}/health")
                    assert response.status_code == 200

    asyncio.run(main())


@pytest.mark.parametrize("script", [endless(), stuck_reading])
def test_stopping_ends_running_answers_with_a_clear_event(script: object) -> None:
    async def main() -> None:
        engine = ScriptedEngine(script)  # type: ignore[arg-type]
        entered = asyncio.Event()

        async def read(url: str) -> str:
            text = ""
            async with Client(url) as client, client.chat(HI) as stream:
                entered.set()
                async for event in stream:
                    text += event.content if isinstance(event, TextDelta) else ""
            return text

        async with running(create_app(engine), grace_seconds=0.2) as url:
            reader = asyncio.ensure_future(read(url))
            await entered.wait()
            began = time.monotonic()
        assert time.monotonic() - began < 2.0
        with pytest.raises(ServiceUnavailable, match="stopped"):
            await reader
        assert engine.aborted == ["r1"]

    asyncio.run(main())


def test_stopping_lets_short_answers_finish() -> None:
    async def main() -> None:
        engine = ScriptedEngine()
        release = asyncio.Event()
        script = engine.script
        engine.script = lambda request: [release, *script(request)]

        async def ask(url: str) -> httpx2.Response:
            async with httpx2.AsyncClient(base_url=url, trust_env=False) as http:
                body = {"messages": [{"role": "user", "content": "x"}]}
                return await http.post("/v1/chat/completions", json=body)

        async with running(create_app(engine)) as url:
            asked = asyncio.ensure_future(ask(url))
            await engine.until(lambda: bool(engine.running))
            asyncio.get_running_loop().call_later(0.15, release.set)
        assert (await asked).status_code == 200
        assert engine.finished == ["r1"]

    asyncio.run(main())


def test_a_client_that_does_not_read_cannot_hold_up_the_stop(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(run, "CLOSE_SECONDS", 0.2)

    async def main() -> None:
        engine = ScriptedEngine(endless("x" * 100_000, every=0.0))
        async with running(create_app(engine), grace_seconds=0.2) as url:
            _, port = url.rsplit(":", 1)
            _, writer = await asyncio.open_connection("127.0.0.1", int(port), limit=1)
            body = b'{"messages":[{"role":"user","content":"x"}],"stream":true}'
            writer.write(
                b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
                b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
            )
            writer.write(body)
            await engine.until(lambda: bool(engine.running))
            began = time.monotonic()
        assert time.monotonic() - began < 2.0
        assert engine.aborted == ["r1"]
        writer.close()

    asyncio.run(main())
    assert not caplog.records


SERVE = """
import asyncio, sys
from engine.server.application import create_app
from engine.server.run import serve
from tests.helpers.scripted_engine import ScriptedEngine, endless
def ready(url): print(url, flush=True)
asyncio.run(serve(create_app(ScriptedEngine(endless())), on_ready=ready, grace_seconds=float(sys.argv[1])))
print("end", flush=True)
"""


@pytest.fixture
def service(request: pytest.FixtureRequest) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-c", SERVE, str(request.param)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.parametrize("service", [0.2], indirect=True)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_in_order(
    service: tuple[subprocess.Popen[str], str], number: signal.Signals
) -> None:
    process, url = service
    with httpx2.Client(trust_env=False) as http:
        assert http.get(url + "/health").json() == {"status": "ok"}
        body = {"messages": [{"role": "user", "content": "x"}], "stream": True}
        with http.stream("POST", url + "/v1/chat/completions", json=body) as response:
            lines = (line for line in response.iter_lines() if line)
            assert "assistant" in next(lines)
            process.send_signal(number)
            *_, last = lines
    assert json.loads(last.removeprefix("data: "))["error"]["code"] == "service_unavailable"
    assert process.wait(5) == 0
    assert process.stdout is not None
    assert process.stdout.read() == "end\n"


def wait_until_refused(url: str) -> None:
    _, port = url.rsplit(":", 1)
    for _ in range(500):
        try:
            socket.create_connection(("127.0.0.1", int(port)), timeout=1).close()
        except ConnectionRefusedError:
            return
        time.sleep(0.01)
    pytest.fail("it still listens")


@pytest.mark.parametrize("service", [60.0], indirect=True)
def test_a_second_signal_does_not_wait(service: tuple[subprocess.Popen[str], str]) -> None:
    process, url = service
    with httpx2.Client(trust_env=False) as http:
        body = {"messages": [{"role": "user", "content": "x"}], "stream": True}
        with http.stream("POST", url + "/v1/chat/completions", json=body) as response:
            lines = (line for line in response.iter_lines() if line)
            next(lines)
            process.send_signal(signal.SIGTERM)
            wait_until_refused(url)  # two signals of one moment would be one
            process.send_signal(signal.SIGTERM)
            *_, last = lines
    assert "service_unavailable" in last
    assert process.wait(5) == 0


def test_a_taken_port_is_said_in_one_sentence() -> None:
    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            with pytest.raises(SetupError, match=f"Port {port} is already in use") as caught:
                async with running(create_app(ScriptedEngine()), port=port):
                    pytest.fail("it listens")
            assert f"--port {port + 1}" in caught.value.hint

    asyncio.run(main())


def test_importing_the_front_loads_nothing_heavy() -> None:
    code = (
        "import sys, engine.server.application, engine.server.run;"
        "print([m for m in ('torch', 'llama_cpp', 'numpy', 'PySide6', 'httpx2', 'jinja2',"
        " 'huggingface_hub', 'pydantic') if m in sys.modules])"
    )
    output = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert output.stdout.strip() == "[]"
