"""The model hub through the whole service: search, a card with what each file would cost here, a download that can be used."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import pytest

from engine.api.hub import DownloadChange, DownloadInfo, DownloadRequest
from engine.client.client import Client
from engine.errors import HubDenied, InvalidRequest, Offline
from tests.helpers.mock_hub import ALWAYS, MockFile, MockHub, MockRepo
from tests.helpers.service_process import ServiceProcess
from tests.helpers.tiny_llama import write_tiny_llama

REPO = "maker/tiny-GGUF"
PARTS = [f"split/tiny-F16-0000{n}-of-00002.gguf" for n in (1, 2)]
WAIT_S = 30.0


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[MockHub]:
    model = write_tiny_llama(tmp_path / "remote.gguf", n_ctx=1024).read_bytes()
    files = {
        "tiny-Q8_0.gguf": MockFile(model),
        PARTS[0]: MockFile(size=60 << 20, seed=1),
        PARTS[1]: MockFile(size=9 << 20, seed=2),
    }
    repo = MockRepo(files, readme="---\nlicense: mit\n---\n# Tiny\n\n<img src=x>", downloads=7)
    gated = MockRepo({"secret-Q4_K_M.gguf": MockFile(model)}, gated=True)
    with MockHub({REPO: repo, "maker/gated-GGUF": gated}) as served:
        yield served


@pytest.fixture
def service(hub: MockHub, tmp_path: Path) -> Iterator[ServiceProcess]:
    own = write_tiny_llama(tmp_path / "own.gguf", n_ctx=512)
    service = ServiceProcess(own, arguments=("--host", "127.0.0.1"))
    config = service.data_folder / "config"
    config.mkdir()
    (config / "settings.toml").write_text(f'[network]\nendpoint = "{hub.url}"\n')
    with service:
        yield service


async def ended(client: Client, download: str, *states: str) -> DownloadInfo:
    async with asyncio.timeout(WAIT_S), aclosing(client.hub.download_changes()) as changes:
        async for news in changes:
            for info in news.downloads:
                if info.id == download and info.state in (states or ("done", "failed")):
                    return info
    raise AssertionError("the stream ended")


def parts_left(service: ServiceProcess) -> list[Path]:
    """Once nobody writes any more."""
    for _ in range(100):
        left = [f for f in (service.data_folder / "hub").rglob("*") if ".part" in f.name]
        if not left:
            break
        threading.Event().wait(0.05)
    return left


def test_from_a_search_to_an_answer(service: ServiceProcess, hub: MockHub) -> None:
    async def walk() -> None:
        async with Client(service.base_url) as client:
            page = await client.hub.search("tiny")
            assert [model.repo for model in page.models] == [REPO]
            card = await client.hub.card(REPO)
            by_name = {choice.quantization: choice for choice in card.choices}
            assert set(by_name) == {"Q8_0", "F16"}
            assert len(by_name["F16"].files) == 2
            fit = by_name["Q8_0"].fit
            assert fit is not None
            assert fit.verdict == "fits"
            assert fit.needed_bytes > 0
            exact = await client.hub.fit(REPO, by_name["Q8_0"].name)
            assert exact.exact
            assert abs(exact.needed_bytes - fit.needed_bytes) <= 0.05 * exact.needed_bytes
            started = await client.hub.download(DownloadRequest(REPO, "Q8_0"))
            again = await client.hub.download(DownloadRequest(REPO, by_name["Q8_0"].name))
            assert again.id == started.id
            done = await ended(client, started.id)
            assert (done.state, done.problem) == ("done", "")
            models = {model.id: model for model in await client.models()}
            assert done.model in models
            assert (await client.load(done.model)).state == "ready"
            assert all(
                c.downloaded == (c.quantization == "Q8_0")
                for c in (await client.hub.card(REPO)).choices
            )
            hosts = {line.purpose for line in (await client.hub.connections()).connections}
            assert {"search", "card", "header", "download"} <= hosts

    asyncio.run(walk())


def test_a_killed_service_goes_on_where_it_was(service: ServiceProcess, hub: MockHub) -> None:
    hub.fault("throttle", PARTS[0], ALWAYS, bytes_per_s=4 << 20)

    async def begin() -> str:
        async with Client(service.base_url) as client:
            started = await client.hub.download(DownloadRequest(REPO, "F16"))
            async with asyncio.timeout(WAIT_S), aclosing(client.hub.download_changes()) as changes:
                async for news in changes:
                    if news.downloads[0].done_bytes > 24 << 20:
                        return started.id
            raise AssertionError

    download = asyncio.run(begin())
    service.process.kill()
    service.stop()
    sent = sum(hub.sent.values())
    hub.faults.clear()
    service.start()

    async def finish() -> None:
        async with Client(service.base_url) as client:
            info = await ended(client, download)
            assert (info.state, info.total_bytes) == ("failed", 69 << 20)
            assert "not a GGUF" in info.problem  # complete, but only bytes

    asyncio.run(finish())
    assert sum(hub.sent.values()) - sent <= (69 << 20) - (24 << 20) + (16 << 20)


def test_pause_limit_and_cancel(service: ServiceProcess, hub: MockHub) -> None:
    for path in PARTS:
        hub.fault("throttle", path, ALWAYS, bytes_per_s=4 << 20)

    async def walk() -> None:
        async with Client(service.base_url) as client:
            started = await client.hub.download(DownloadRequest(REPO, "F16"))
            await ended(client, started.id, "running")
            await client.hub.change(started.id, DownloadChange(action="pause"))
            paused = await ended(client, started.id, "paused")
            assert not paused.bytes_per_s
            assert (await client.hub.set_limit(1 << 20)).limit_bytes_per_s == 1 << 20
            await client.hub.change(started.id, DownloadChange(action="cancel"))
            assert (await client.hub.downloads()).downloads == []

    asyncio.run(walk())
    assert parts_left(service) == []


def test_what_the_hub_refuses_is_a_sentence(service: ServiceProcess) -> None:
    async def walk() -> None:
        async with Client(service.base_url) as client:
            with pytest.raises(HubDenied) as denied:
                await client.hub.download(DownloadRequest("maker/gated-GGUF", "Q4_K_M"))
            assert "licence" in str(denied.value) or "log" in str(denied.value).lower()
            with pytest.raises(InvalidRequest):
                await client.hub.download(DownloadRequest("../../etc", "x"))
            with pytest.raises(InvalidRequest):
                await client.hub.download(DownloadRequest(REPO, "Q3_K_S"))
            assert (await client.hub.set_token("hf_revoked")).token_refused
            kept = await client.hub.set_token("hf_good")
            assert (kept.user, kept.token_refused) == ("me", False)
            assert (await client.hub.set_offline(True)).offline
            with pytest.raises(Offline):
                await client.hub.card("maker/other-GGUF")
            page = await client.hub.search("")
            assert page.offline
            assert page.models
            stopped = (await client.hub.connections()).connections
            assert any(line.refused for line in stopped)

    asyncio.run(walk())
