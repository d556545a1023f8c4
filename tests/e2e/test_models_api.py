"""What the Models page asks for: real HTTP, the real client and supervisor, workers on the fake backend."""

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from engine.api.events import TextDelta
from engine.api.models import ModelInfo, StarterInfo
from engine.api.requests import ChatRequest, Message
from engine.client.client import Client
from engine.errors import InvalidRequest, ModelFormatError, ModelNotFound, OutOfMemory
from engine.hardware.probe import Hardware, probe
from engine.hub.starter import STARTER, Progress, Starter
from engine.supervisor import starter as starter_module
from tests.helpers.fake_service import FakeService, fake_service
from tests.helpers.tiny_gguf import tiny_model, tiny_split
from tests.helpers.tiny_llama import write_tiny_llama

Test = Callable[[Client, FakeService], Awaitable[None]]


def served(folder: Path, test: Test, **options: Any) -> None:
    with fake_service(folder / "models", **options) as service:

        async def main() -> None:
            async with asyncio.timeout(60), Client(service.url) as client:
                await test(client, service)

        asyncio.run(main())


@pytest.fixture(autouse=True)
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The model folder; the system's trash lies beside it."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = tmp_path / "models"
    folder.mkdir()
    return folder


def question(model: str, num_tokens: int = 3) -> ChatRequest:
    messages = [Message("user", "hello")]
    return ChatRequest(model=model, messages=messages, max_tokens=num_tokens, seed=1)


async def ask(client: Client, model: str) -> None:
    async with client.chat(question(model)) as answer:
        assert [event async for event in answer]


async def until(client: Client, condition: Callable[[list[ModelInfo]], bool]) -> list[ModelInfo]:
    """The models, once they are so: asked for when the service says that something changed, never else."""
    async with aclosing(client.changes()) as changes:
        async for _ in changes:
            if condition(models := await client.models()):
                return models
    raise AssertionError


def test_adding_and_forgetting_a_file_from_elsewhere(tmp_path: Path) -> None:
    async def test(client: Client, _: FakeService) -> None:
        file = write_tiny_llama(tmp_path / "elsewhere.gguf")
        added = await client.add(os.fspath(file))
        assert (added.id, added.state, added.path) == ("elsewhere", "unloaded", str(file))
        assert await client.add(os.fspath(file)) == added
        assert [model.id for model in await client.models()] == ["elsewhere", "m"]
        assert (await client.details("elsewhere")).registered
        await ask(client, "elsewhere")
        assert (await client.remove("elsewhere")).outcome == "forgotten"
        assert file.exists()
        assert [model.id for model in await client.models()] == ["m"]
        with pytest.raises(ModelNotFound):
            await client.remove("elsewhere")

    served(tmp_path, test)


def test_what_cannot_be_added(tmp_path: Path) -> None:
    async def test(client: Client, _: FakeService) -> None:
        broken = tmp_path / "broken.gguf"
        broken.write_bytes(b"GGUF")
        for path, error in (
            ("m.gguf", InvalidRequest),
            (str(tmp_path), InvalidRequest),
            (str(tmp_path / "none.gguf"), InvalidRequest),
            (f"{tmp_path}/\0", InvalidRequest),
            ("", InvalidRequest),
            (str(broken), ModelFormatError),
        ):
            with pytest.raises(error) as caught:
                await client.add(path)
            assert caught.value.message
            assert caught.value.hint or "Download" in caught.value.message
        assert [model.id for model in await client.models()] == ["m"]

    served(tmp_path, test)


def test_removing_a_loaded_model_ends_its_worker_and_trashes_its_file(library: Path) -> None:
    async def test(client: Client, service: FakeService) -> None:
        await client.load("m")
        pid = service.worker_pid("m")
        assert (await client.remove("m")).outcome in ("trashed", "set aside")
        assert not psutil.pid_exists(pid)
        assert not (library / "m.gguf").exists()
        assert await client.models() == []

    served(library.parent, test)


def test_a_model_that_is_answering_is_not_removed(library: Path) -> None:
    async def test(client: Client, _: FakeService) -> None:
        async with client.chat(question("m", 5000)) as answer:
            events = aiter(answer)  # kept: one that nobody holds closes the connection
            while not isinstance(await anext(events), TextDelta):
                pass
            (busy,) = await client.models()
            assert (busy.state, busy.num_running) == ("ready", 1)
            with pytest.raises(InvalidRequest, match="answering") as caught:
                await client.remove("m")
            assert caught.value.details["status"] == 409
            assert (library / "m.gguf").exists()
        await until(client, lambda models: models[0].num_running == 0)
        await client.remove("m")
        assert await client.models() == []

    served(library.parent, test, seconds_per_step=0.01, context=8192)


def test_questions_and_loads_during_a_removal_come_through_or_find_nothing(library: Path) -> None:
    async def test(client: Client, _: FakeService) -> None:
        results = await asyncio.gather(
            *(ask(client, "m") for _ in range(4)),
            client.load("m"),
            client.remove("m"),
            *(ask(client, "m") for _ in range(4)),
            return_exceptions=True,
        )
        for result in results:
            if isinstance(result, BaseException):
                assert isinstance(result, ModelNotFound | InvalidRequest), result
        left = [model.id for model in await client.models()]
        assert left == ([] if not isinstance(results[5], BaseException) else ["m"])

    served(library.parent, test)


def test_a_loaded_model_keeps_its_worker_when_its_id_changes(tmp_path: Path) -> None:
    async def test(client: Client, service: FakeService) -> None:
        await client.load("m")
        pid = service.worker_pid("m")
        (tmp_path / "other").mkdir()
        twin = await client.add(str(write_tiny_llama(tmp_path / "other" / "m.gguf")))
        assert (twin.id, twin.state) == ("other/m", "unloaded")
        states = {model.id: model.state for model in await client.models()}
        assert states == {"models/m": "ready", "other/m": "unloaded"}
        assert service.worker_pid("models/m") == pid
        await ask(client, "models/m")
        await client.remove("models/m")
        (alone,) = await client.models()
        assert (alone.id, alone.state, alone.path) == ("m", "unloaded", twin.path)
        await ask(client, "m")
        assert service.worker_pid("m") != pid

    served(tmp_path, test)


def test_another_file_under_the_id_of_a_loaded_one_gets_a_worker_of_its_own(library: Path) -> None:
    async def test(client: Client, service: FakeService) -> None:
        await client.load("m")
        pid = service.worker_pid("m")
        (library / "m.gguf").unlink()  # not through us
        (library / "sub").mkdir()
        write_tiny_llama(library / "sub" / "m.gguf")
        (model,) = await client.models()
        assert (model.id, model.state) == ("m", "unloaded")
        await ask(client, "m")
        assert service.worker_pid("m") != pid

    served(library.parent, test)


def test_details_of_a_model_and_what_loading_adds(tmp_path: Path) -> None:
    async def test(client: Client, _: FakeService) -> None:
        details = await client.details("m")
        assert details.name == "Tiny random llama"
        assert (details.architecture, details.quantization) == ("llama", "F32")
        assert (details.context_length, details.layers, details.embedding_length) == (512, 2, 64)
        assert (details.vocabulary, details.has_chat_template) == (259, True)
        assert details.parameters == 64 * 259 + 2 * 36_992 + 64  # embedding, layers, norm
        assert details.files == (details.path,)
        assert (details.problem, details.plan_problem, details.registered) == (None, None, False)
        assert details.plan is not None
        assert details.plan["backend"] == "llama.cpp"
        assert details.plan["reasons"]
        assert details.plan["needed"]["total"] > details.size_bytes
        before = (await client.models())[0]
        assert (before.loaded_since, before.load_seconds) == (None, None)
        loaded = await client.load("m")
        assert loaded.loaded_since is not None
        assert loaded.load_seconds is not None
        assert 0 <= time.time() - loaded.loaded_since < 60
        again = await client.details("m")
        assert again.plan is not None
        assert tuple(again.plan["reasons"]) == loaded.reasons
        with pytest.raises(ModelNotFound):
            await client.details("none")
        with pytest.raises(InvalidRequest, match="lacks a model"):
            await client.details("")

    served(tmp_path, test)


def test_details_of_odd_files(library: Path) -> None:
    parts = tiny_split(library, "split", 3)
    tiny_split(library, "half", 2)[1].unlink()
    license_text = "Be\nkind. " * 50
    tiny_model(library / "odd.gguf", general__license=license_text, tokenizer__chat_template=5)
    (library / "broken.gguf").write_bytes(b"GGUF")

    async def test(client: Client, _: FakeService) -> None:
        split = await client.details("split")
        assert (split.files, split.parts_total) == (tuple(map(str, parts)), 3)
        assert split.parameters == 3 * 32 * 32
        half = await client.details("half")
        assert (len(half.files), half.parts_total, half.parameters) == (1, 2, None)
        assert half.problem is not None
        assert half.plan is None
        assert half.plan_problem == half.problem
        odd = await client.details("odd")
        assert odd.license.startswith(r"Be\nkind.")
        assert len(odd.license) < 200
        assert not odd.has_chat_template
        broken = await client.details("broken")
        assert (broken.architecture, broken.parameters, broken.layers) == ("", None, None)
        assert broken.problem
        assert broken.plan_problem

    served(library.parent, test, models=())


def test_a_model_that_does_not_fit_says_so_in_its_details(library: Path) -> None:
    def nothing_free() -> Hardware:
        hardware = probe()
        return replace(hardware, memory=replace(hardware.memory, available=10 << 20))

    async def test(client: Client, _: FakeService) -> None:
        details = await client.details("m")
        assert (details.plan, details.problem) == (None, None)
        assert details.plan_problem is not None
        with pytest.raises(OutOfMemory):
            await client.load("m")
        (model,) = await client.models()
        assert (model.state, model.problem) == ("failed", details.plan_problem)
        assert (await client.details("m")).problem == details.plan_problem

    served(library.parent, test, probe=nothing_free)


def test_trouble_with_the_library_is_told_beside_the_models(library: Path) -> None:
    async def test(client: Client, _: FakeService) -> None:
        assert (await client.library()).notice is None
        (library / "library.json").write_text("{")
        listed = await client.library()
        assert [model.id for model in listed.models] == ["m"]
        assert listed.notice is not None
        assert "library.broken-1.json" in listed.notice

    served(library.parent, test)


def test_a_listener_hears_of_a_load_with_progress_an_answer_and_an_unload(library: Path) -> None:
    async def test(client: Client, _: FakeService) -> None:
        seen: list[ModelInfo] = []
        listening = asyncio.Event()

        async def listen() -> None:
            async with aclosing(client.changes()) as changes:
                async for _ in changes:
                    seen.extend(await client.models())
                    listening.set()
                    if seen[-1].state == "unloaded" and len(seen) > 1:
                        return

        listener = asyncio.ensure_future(listen())
        await listening.wait()
        assert [info.state for info in seen] == ["unloaded"]
        await client.load("m")
        await until(client, lambda models: models[0].state == "ready")
        async with client.chat(question("m", 40)) as answer:
            assert [event async for event in answer]
        await client.unload("m")
        await listener
        states = [info.state for info in seen]
        assert [s for i, s in enumerate(states) if s != states[i - 1] or not i][:3] == [
            "unloaded",
            "loading",
            "ready",
        ]
        fractions = [info.progress for info in seen if info.progress is not None]
        assert fractions == sorted(fractions)
        assert any(0 < fraction < 1 for fraction in fractions)
        assert max(info.num_running for info in seen) == 1

    served(library.parent, test, load_seconds=1.0, seconds_per_step=0.02)


def test_a_listener_hears_of_crashes_failures_and_files(library: Path, tmp_path: Path) -> None:
    async def test(client: Client, _: FakeService) -> None:
        with pytest.raises(Exception, match=r"."):
            await client.load("m")
        await until(client, lambda models: models[0].state == "failed")
        waiting = asyncio.ensure_future(until(client, lambda models: len(models) == 2))
        await client.add(str(write_tiny_llama(tmp_path / "x.gguf")))
        await waiting
        waiting = asyncio.ensure_future(until(client, lambda models: len(models) == 1))
        await client.remove("x")
        await waiting

    served(library.parent, test, refuse_load=True)


def test_the_starter_model_is_fetched_beside_everything_else(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()

    def install(folder: Path, progress: Progress, starter: Starter) -> Path:
        for i in range(1000):
            progress("Downloading", i / 1000)
            if go_on.wait(0.02):
                return write_tiny_llama(folder / starter.file_name)
        raise AssertionError

    monkeypatch.setattr(starter_module, "install_starter", install)

    async def stage(client: Client, state: str) -> StarterInfo:
        async with aclosing(client.changes()) as changes:
            async for _ in changes:
                info = await client.starter()
                if info.state == state and (state != "fetching" or info.fraction > 0):
                    return info
        raise AssertionError

    async def test(client: Client, service: FakeService) -> None:
        assert (await client.starter()).state == "absent"
        assert (await client.start_starter()).state == "fetching"
        assert (await client.start_starter()).state == "fetching"
        info = await stage(client, "fetching")
        assert info.stage == "Downloading"
        assert await client.models() == []
        assert (await client.cancel_starter()).state == "absent"
        await client.start_starter()
        go_on.set()
        assert (await stage(client, "installed")).name == STARTER.name
        assert [model.path for model in await client.models()] == [str(library / STARTER.file_name)]
        go_on.clear()
        (library / STARTER.file_name).unlink()
        await client.start_starter()  # the service stops in the middle of it

    served(library.parent, test, models=())


def test_a_listener_costs_nothing_once_it_has_left(library: Path) -> None:
    async def test(client: Client, service: FakeService) -> None:
        changes = client.changes()
        await anext(changes)
        assert service.supervisor._changes.num_listeners == 1
        await changes.aclose()
        async with asyncio.timeout(5):
            while service.supervisor._changes.num_listeners:
                await asyncio.sleep(0)

    served(library.parent, test)
