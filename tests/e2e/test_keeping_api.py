"""Keeping models through the whole service: defaults of one model, verification, disk use, what other programs keep."""

import asyncio
import hashlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from engine.api.keeping import Verified
from engine.client.client import Client
from engine.errors import InvalidRequest
from tests.helpers.service_process import ServiceProcess
from tests.helpers.tiny_llama import write_tiny_llama


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ServiceProcess]:
    service = ServiceProcess(
        write_tiny_llama(tmp_path / "a.gguf", n_ctx=1024),
        write_tiny_llama(tmp_path / "b.gguf", n_ctx=1024),
        arguments=("--host", "127.0.0.1", "--threads", "1"),
    )
    with service:
        yield service


async def verified(client: Client, model: str) -> Verified:
    found = await client.keeping.verify(model)
    for _ in range(200):
        if found.state != "running":
            break
        await asyncio.to_thread(threading.Event().wait, 0.02)
        found = await client.keeping.verification(model)
    return found


def test_defaults_of_one_model_hold_for_it_alone(service: ServiceProcess) -> None:
    async def walk() -> None:
        async with Client(service.base_url) as client:
            chosen = {"context": 512, "temperature": 0.0, "system": "Be brief."}
            told = await client.keeping.choose("a", chosen)
            assert told.chosen == chosen
            assert (await client.keeping.defaults("b")).chosen == {}
            assert (await client.load("a")).n_ctx == 512
            assert (await client.load("b")).n_ctx == 1024
            for wrong in ({"colour": 1}, {"temperature": -1}, {"kv_type": "q1"}):
                with pytest.raises(InvalidRequest):
                    await client.keeping.choose("a", wrong)
            assert (await client.keeping.defaults("a")).chosen == chosen
            assert (await client.keeping.choose("a", {})).chosen == {}

    asyncio.run(walk())


def test_a_request_that_is_silent_gets_the_models_own_sampling(service: ServiceProcess) -> None:
    def answers(model: str) -> set[str]:
        body = {"model": model, "prompt": "once upon", "max_tokens": 8, "ignore_eos": True}
        with httpx2.Client(trust_env=False, timeout=60) as http:
            replies = [
                http.post(f"{service.base_url}/v1/completions", json=body | {"seed": seed}).json()
                for seed in range(4)
            ]
        return {reply["choices"][0]["text"] for reply in replies}

    async def choose() -> None:
        async with Client(service.base_url) as client:
            await client.keeping.choose("a", {"temperature": 0.0})

    asyncio.run(choose())
    assert len(answers("a")) == 1  # greedy: the seed does not matter
    assert len(answers("b")) > 1


def test_files_are_read_whole_and_a_change_is_noticed(
    service: ServiceProcess, tmp_path: Path
) -> None:
    async def walk() -> None:
        async with Client(service.base_url) as client:
            assert (await client.keeping.verification("a")).state == "unknown"
            first = await verified(client, "a")
            expected = hashlib.sha256((tmp_path / "a.gguf").read_bytes()).hexdigest()
            assert first.sha256 == (expected,)
            size = (tmp_path / "a.gguf").stat().st_size
            disk = await client.keeping.disk()
            assert disk.models == {"a": size, "b": size}
            assert disk.total == 2 * size
            assert disk.free > 0

    asyncio.run(walk())


def test_a_download_of_another_tool_is_found_where_it_lies(service: ServiceProcess) -> None:
    """In the Hugging Face cache's layout; removing it hides it, and only a second, explicit wish deletes the file."""
    model = write_tiny_llama(service.data_folder / "x.gguf", n_ctx=256).read_bytes()
    digest = hashlib.sha256(model).hexdigest()
    repo = service.data_folder / "hub" / "models--maker--tiny"
    blob = repo / "blobs" / digest
    snapshot = repo / "snapshots" / ("c" * 40) / "tiny-F32.gguf"
    blob.parent.mkdir(parents=True)
    snapshot.parent.mkdir(parents=True)
    blob.write_bytes(model)
    snapshot.symlink_to(blob)

    async def walk() -> None:
        async with Client(service.base_url) as client:
            found = {info.id: info for info in await client.models()}
            assert found["tiny-F32"].origin == "Hugging Face"
            assert (await verified(client, "tiny-F32")).state == "ok"
            await client.remove("tiny-F32")
            assert "tiny-F32" not in {info.id for info in await client.models()}
            assert blob.read_bytes() == model
            assert (await client.add(str(snapshot))).id == "tiny-F32"
            await client.remove("tiny-F32", delete_file=True)
            assert not blob.exists()

    asyncio.run(walk())


def test_what_a_load_took_corrects_the_next_prediction(service: ServiceProcess) -> None:
    """llama.cpp's own figures and the worker's memory are compared in spare time, once."""
    measured = service.data_folder / "cache" / "measured"

    async def walk() -> None:
        async with Client(service.base_url) as client:
            before = await client.plan("a")
            assert (await client.load("a")).state == "ready"
            for _ in range(600):
                if list(measured.glob("*.memory.json")):
                    break
                await asyncio.to_thread(threading.Event().wait, 0.05)
            (file,) = measured.glob("*.memory.json")
            outcome = json.loads(file.read_bytes())
            assert 0 < outcome["private"] < 500 << 20
            assert 0 < outcome["predicted"] < 500 << 20
            after = await client.plan("a")
            overhead = [plan["needed"]["overhead"] for plan in (before, after)]
            assert overhead[1] - overhead[0] == outcome["private"] - outcome["predicted"]

    asyncio.run(walk())
