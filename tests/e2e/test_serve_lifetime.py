"""How long `--serve` lives: with its owner, unless that asks it to stay; and what it tells of itself."""

import asyncio
import contextlib
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import psutil
import pytest

from engine.api.events import TextDelta
from engine.api.requests import ChatRequest, Message
from engine.client import discovery
from engine.client.client import Client
from engine.paths import Paths
from engine.server.application import create_app
from engine.server.run import running
from tests.helpers.scripted_engine import ScriptedEngine, endless
from tests.helpers.service_process import ServiceProcess
from tests.helpers.tiny_llama import write_tiny_llama

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "INGLENOOK_SERVER_PORT": "0"}
LONG = ChatRequest(messages=[Message("user", "hi")], ignore_eos=True, max_tokens=8000)
WINDOW = """
import sys
from PySide6.QtCore import QCoreApplication
from app.service import Service
from engine.paths import Paths

app = QCoreApplication([])
service = Service(Paths.find(sys.argv[1]))
service.ready.connect(lambda url, key: print(service.pid, url, key, flush=True))
service.start()
app.exec()
"""


@contextmanager
def owned(
    data: Path, *arguments: str, stdin: int = subprocess.PIPE
) -> Iterator[subprocess.Popen[str]]:
    """`--serve --owner-pipe`, ready."""
    command = [sys.executable, "-P", "-m", "app", "--data-dir", str(data), "--serve"]
    with subprocess.Popen(
        [*command, "--owner-pipe", "--port", "0", *arguments],
        env=ENVIRONMENT,
        stdin=stdin,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert "ready" in process.stdout.readline()
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("last_words", ["", "kee", "keep", "keeper\n", "no\n"])
def test_it_ends_in_order_with_its_owner(tmp_path: Path, last_words: str) -> None:
    with owned(tmp_path) as process:
        assert discovery.path(Paths.find(tmp_path)).exists()
        process.communicate(last_words, timeout=20)
        assert process.returncode == 0
    assert not discovery.path(Paths.find(tmp_path)).exists()


def test_it_stays_when_asked_and_ends_by_a_signal(tmp_path: Path) -> None:
    paths = Paths.find(tmp_path)
    with owned(tmp_path) as process:
        found = discovery.read(paths)
        assert found is not None
        assert (found.pid, found.owned) == (process.pid, True)
        assert process.stdin is not None
        process.stdin.write("keep\n")
        process.stdin.close()
        assert process.stdout is not None
        process.stdout.close()

        async def alive() -> int:
            async with Client(found.url, found.key) as client:
                return await client.activity()

        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)  # the end of stdin would have been heard long ago
        assert asyncio.run(alive()) == 0
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
    assert not discovery.path(paths).exists()


def test_its_file_holds_the_key_for_its_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ENVIRONMENT, "INGLENOOK_SERVER_API_KEY", "sesame")
    paths = Paths.find(tmp_path)
    with owned(tmp_path) as first:
        found = discovery.read(paths)
        assert found is not None
        assert found.key == "sesame"
        assert stat.S_IMODE(discovery.path(paths).stat().st_mode) == 0o600
        with owned(tmp_path) as second:
            first.communicate(timeout=20)
            newer = discovery.read(paths)
            assert newer is not None
            assert newer.pid == second.pid
            second.kill()
            second.wait(timeout=20)
            assert discovery.read(paths) is None


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    discovery.path(Paths.find(tmp_path)).mkdir()
    with owned(tmp_path) as process:
        process.communicate(timeout=20)
        assert process.returncode == 0


def test_without_a_pipe_there_is_no_owner(tmp_path: Path) -> None:
    with owned(tmp_path, stdin=subprocess.DEVNULL) as process:
        assert process.wait(timeout=20) == 0


def test_a_killed_window_takes_service_and_worker_with_it(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    write_tiny_llama(tmp_path / "models" / "tiny.gguf", n_ctx=8192)

    async def kill_in_mid_answer(window: subprocess.Popen[str], url: str, key: str) -> None:
        async with Client(url, key) as client, client.chat(LONG) as stream:
            async for event in stream:
                if isinstance(event, TextDelta):
                    assert await client.activity() == 1
                    processes.extend(service.children())
                    window.kill()
                    return

    with subprocess.Popen(
        [sys.executable, "-P", "-c", WINDOW, str(tmp_path)],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        text=True,
    ) as window:
        try:
            assert window.stdout is not None
            pid, url, key = window.stdout.readline().split()
            service = psutil.Process(int(pid))
            processes = [service]
            asyncio.run(kill_in_mid_answer(window, url, key))
        finally:
            window.kill()
    assert len(processes) == 2
    _, alive = psutil.wait_procs(processes, timeout=15)
    assert not alive
    assert not discovery.path(Paths.find(tmp_path)).exists()


def test_only_answers_count_as_activity() -> None:
    async def main() -> None:
        app = create_app(ScriptedEngine(endless()))
        async with (
            running(app, grace_seconds=0) as url,
            Client(url) as client,
            contextlib.aclosing(client.changes()) as changes,
        ):
            await anext(changes)
            await client.load("tiny")
            assert await client.activity() == 0
            async with client.chat(LONG), client.chat(LONG):
                assert await client.activity() == 2
            async with asyncio.timeout(10):
                while await client.activity():
                    await asyncio.sleep(0.01)

    asyncio.run(main())


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc only")
def test_the_service_has_its_own_heap_settings_and_its_worker_other_ones(
    tiny_llama: Path,
) -> None:
    """Thread caches made a busy service grow by 0.2 MB a minute; workers need theirs for speed, and huge pages."""
    with ServiceProcess(tiny_llama) as service, httpx2.Client(trust_env=False, timeout=60) as http:
        process = psutil.Process(service.process.pid)
        assert "arena_max=2" in process.environ()["GLIBC_TUNABLES"]
        body = {"prompt": "a", "max_tokens": 1}
        assert http.post(f"{service.base_url}/v1/completions", json=body).status_code == 200
        (worker,) = process.children()
        assert worker.environ()["GLIBC_TUNABLES"] == "glibc.malloc.hugetlb=1"
