"""Forgetting a conversation whatever its worker does: scripted workers, no processes, no sleeps."""

import asyncio
from dataclasses import replace
from pathlib import Path

import msgspec

from engine.config import ModelSettings
from engine.formats.kv_file import KEPT, measure
from engine.hardware.probe import probe
from engine.hub.library import Library
from engine.ipc.messages import Abort, Forget
from engine.supervisor.supervisor import Supervisor
from tests.unit.test_formats_kv_file import write
from tests.unit.test_supervisor_host import LOADED, ScriptedWorker, Stage, drain, run, token
from tests.unit.test_supervisor_reading_ahead import CHAT, HINT, loaded

OTHER = replace(CHAT, cache_key="other")


def told(worker: ScriptedWorker) -> list[msgspec.Struct]:
    return [m for m in worker.sent if isinstance(m, Forget | Abort)]


def test_a_model_that_is_not_loaded_stays_so() -> None:
    async def scenario() -> None:
        stage = Stage()
        await stage.host.forget("k")
        assert (stage.host.state, stage.workers) == ("unloaded", [])

    run(scenario())


def test_what_is_read_ahead_is_dropped_first() -> None:
    async def scenario() -> None:
        stage = Stage()
        worker = await loaded(stage)
        stage.host.read_ahead(HINT)
        (reading,) = worker.generates
        await stage.host.forget("k")
        assert told(worker) == [Abort(reading.request), Forget("k")]

    run(scenario())


def test_an_answer_that_still_runs_is_forgotten_at_its_end_too() -> None:
    async def scenario() -> None:
        stage = Stage()
        answer, other = stage.submit("a", CHAT), stage.submit("b", OTHER)
        await stage.host.forget("k")  # before there is a worker
        worker = await stage.ready()
        worker.says(token("b", "x", finish="length"))
        await drain(other)
        assert told(worker) == []
        worker.says(token("a", "x", finish="stop"))
        await drain(answer)
        assert told(worker) == [Forget("k")]
        assert len(worker.generates) == 2  # nor is the next turn read ahead

    run(scenario())


def test_an_answer_that_is_left_is_stopped_and_then_forgotten() -> None:
    async def scenario() -> None:
        stage = Stage()
        answer = stage.submit("a", CHAT)
        worker = await stage.ready()
        await stage.host.forget("k")
        stage.host.release(answer)
        stage.host.release(answer)
        assert told(worker) == [Forget("k"), Abort("a"), Forget("k")]

    run(scenario())


def test_a_service_that_stops_leaves_nothing_of_it() -> None:
    async def scenario() -> None:
        stage = Stage()
        stage.submit("a", CHAT)
        worker = await stage.ready()
        await stage.host.forget("k")
        await stage.host.stop(finish_answers=False)
        assert told(worker) == [Forget("k"), Abort("a"), Forget("k")]

    run(scenario())


def test_a_worker_of_a_restart_forgets_at_the_end_too() -> None:
    async def scenario() -> None:
        stage = Stage()
        answer = stage.submit("a", CHAT)
        first = await stage.ready()
        await stage.host.forget("k")
        first.dies()
        second = await stage.ready(1)
        second.says(token("a", "x", finish="stop"))
        await drain(answer)
        assert told(second) == [Forget("k")]

    run(scenario())


def test_everything_is_what_is_kept_now() -> None:
    async def scenario() -> None:
        stage = Stage()
        answer = stage.submit("a", CHAT)
        worker = await stage.ready()
        await stage.host.forget("")
        worker.says(token("a", "x", finish="length"))
        await drain(answer)
        assert told(worker) == [Forget("")]

    run(scenario())


class LeavingWorker(ScriptedWorker):
    """Writes down what it holds before it leaves, when the test lets it."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.may_leave = asyncio.Event()
        self.is_leaving = asyncio.Event()
        self._folder = folder

    async def stop(self) -> int:
        self.is_leaving.set()
        await self.may_leave.wait()
        write(self._folder, "late", "k")
        return await super().stop()


def test_files_go_after_a_worker_that_leaves_has_written_its_own(
    tmp_path: Path, tiny_llama: Path
) -> None:
    kept = tmp_path / "cache" / KEPT
    write(kept, "1", "k")
    write(kept, "2", "other")

    async def scenario() -> None:
        worker = LeavingWorker(kept)
        worker.says(LOADED)

        async def start(model: str) -> LeavingWorker:
            return worker

        library = Library(tmp_path / "models")
        library.add(tiny_llama)
        overrides = {"backend": "fake"}
        supervisor = Supervisor(
            library,
            ModelSettings(),
            probe,
            cache_folder=tmp_path / "cache",
            start=start,
            load_overrides=overrides,
        )
        async with asyncio.timeout(20):
            await supervisor.load("tiny-llama")
            unloading = asyncio.ensure_future(supervisor.unload("tiny-llama"))
            await worker.is_leaving.wait()
            forgetting = asyncio.ensure_future(supervisor.forget("k"))
            await asyncio.sleep(0)
            assert measure(kept)[1] == 2
            worker.may_leave.set()
            await forgetting
            await unloading
            assert [path.stem for path in kept.rglob("*.kv")] == ["2"]
            usage = await supervisor.kept()
            assert (usage.files, usage.folder) == (1, str(kept))
            await supervisor.forget(None)
            assert (await supervisor.kept()).files == 0
            await supervisor.close()

    run(scenario())


def test_without_a_folder_there_is_nothing_to_delete(tmp_path: Path) -> None:
    async def scenario() -> None:
        supervisor = Supervisor(Library(tmp_path), ModelSettings(), probe)
        await supervisor.forget(None)
        assert (await supervisor.kept()).folder == ""

    run(scenario())
