"""A service that is killed again and again in the middle of a download finishes it, fetching at most one part anew each time."""

import asyncio
import hashlib
import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.api.hub import DownloadInfo, DownloadRequest
from engine.client.client import Client
from tests.helpers.mock_hub import ALWAYS, MockFile, MockHub, MockRepo
from tests.helpers.service_process import ServiceProcess
from tests.helpers.tiny_llama import write_tiny_llama

REPO = "maker/large-GGUF"
SIZE = 320 << 20
PART = 16 << 20
"""Bytes that one kill may cost."""


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[MockHub]:
    with MockHub({REPO: MockRepo({"large-Q4_K_M.gguf": MockFile(size=SIZE, seed=3)})}) as served:
        yield served


def service_on(hub: MockHub, model: Path) -> ServiceProcess:
    service = ServiceProcess(model, arguments=("--host", "127.0.0.1"))
    config = service.data_folder / "config"
    config.mkdir()
    (config / "settings.toml").write_text(f'[network]\nendpoint = "{hub.url}"\n')
    return service


async def until(service: ServiceProcess, enough: int) -> DownloadInfo:
    """The download, once it has so many bytes, or has ended."""
    async with Client(service.base_url) as client, asyncio.timeout(60):
        while True:
            (info,) = (await client.hub.downloads()).downloads
            if info.done_bytes >= enough or info.state in ("done", "failed"):
                return info
            await asyncio.to_thread(threading.Event().wait, 0.01)


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_in_mid_download(hub: MockHub, tmp_path: Path, kills: int) -> None:
    hub.fault("throttle", "large-Q4_K_M.gguf", ALWAYS, bytes_per_s=10 << 20)
    rng = random.Random(kills)
    with service_on(hub, write_tiny_llama(tmp_path / "own.gguf", n_ctx=256)) as service:

        async def begin() -> None:
            async with Client(service.base_url) as client:
                await client.hub.download(DownloadRequest(REPO, "Q4_K_M"))

        asyncio.run(begin())
        for number in range(kills):
            stop_at = int(SIZE * (number + rng.random()) / (kills + 1))
            asyncio.run(until(service, stop_at))
            service.process.kill()
            service.stop()
            service.start()
        info = asyncio.run(until(service, SIZE + 1))
        assert (
            info.state == "failed"
        )  # complete, but only bytes: the library says that it is no model
        assert "not a GGUF" in info.problem
        blob = next((service.data_folder / "hub").rglob("blobs/*"))
        with blob.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        assert digest == hub.repos[REPO].files["large-Q4_K_M.gguf"].sha256
        assert [file.name for file in blob.parent.iterdir()] == [blob.name]
    fetched = sum(hub.sent.values())
    assert fetched - SIZE <= kills * PART
