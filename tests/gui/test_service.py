"""The window's service as a real process: started, killed, restarted, kept, found, ended."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import psutil
import pytest
from PySide6.QtCore import QObject, Slot

from app.service import Service
from app.service_log import TAIL_LINES, ServiceLog
from engine.client import discovery
from engine.client.client import Client
from engine.config import VERSION
from engine.errors import AccessDenied
from engine.paths import Paths

pytestmark = pytest.mark.gui
START_MS = 20_000


class Diary(QObject):
    """What a service signalled, in order."""

    def __init__(self, service: Service) -> None:
        super().__init__()
        self.entries: list[tuple[object, ...]] = []
        service.ready.connect(self.on_ready)
        service.lost.connect(self.on_lost)
        service.restarting.connect(self.on_restarting)
        service.failed.connect(self.on_failed)
        service.noticed.connect(self.on_noticed)

    def names(self) -> list[object]:
        return [entry[0] for entry in self.entries]

    @Slot(str, str)
    def on_ready(self, url: str, key: str) -> None:
        self.entries.append(("ready", url, key))

    @Slot()
    def on_lost(self) -> None:
        self.entries.append(("lost",))

    @Slot(int)
    def on_restarting(self, attempt: int) -> None:
        self.entries.append(("restarting", attempt))

    @Slot(str)
    def on_failed(self, sentence: str) -> None:
        self.entries.append(("failed", sentence))

    @Slot(str)
    def on_noticed(self, sentence: str) -> None:
        self.entries.append(("noticed", sentence))


Make = Callable[..., tuple[Service, Diary]]


@pytest.fixture
def make(qapp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    services: list[Service] = []

    def made(port: int = 0) -> tuple[Service, Diary]:
        monkeypatch.setenv("INGLENOOK_SERVER_PORT", str(port))
        service = Service(Paths.find(tmp_path))
        services.append(service)
        return service, Diary(service)

    yield made
    for service in services:
        service.stop()
    if left := discovery.read(Paths.find(tmp_path)):
        psutil.Process(left.pid).kill()


def until_gone(pid: int) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(pid).wait(timeout=15)


def ask(url: str, key: str) -> int:
    async def main() -> int:
        async with Client(url, key) as client:
            return await client.activity()

    return asyncio.run(main())


def test_start_and_stop(qtbot, make: Make, tmp_path: Path) -> None:
    service, diary = make()
    started = time.perf_counter()
    with qtbot.waitSignal(service.ready, timeout=START_MS):
        service.start()
    print(f"ready after {time.perf_counter() - started:.3f} s")
    ((_, url, key),) = diary.entries
    assert ask(str(url), str(key)) == 0
    with pytest.raises(AccessDenied):
        ask(str(url), "")
    pid = service.pid
    assert pid is not None
    command = psutil.Process(pid).cmdline()
    assert command[:4] == [sys.executable, "-P", "-m", "app"]
    assert str(key) not in " ".join(command)
    assert not service._look.isActive()
    started = time.perf_counter()
    service.stop()
    print(f"stopped after {time.perf_counter() - started:.3f} s")
    assert not psutil.pid_exists(pid)
    assert not (tmp_path / discovery.FILE_NAME).exists()
    assert diary.names() == ["ready"]
    service.stop()


def test_killed_means_lost_then_restarted_at_the_same_place(qtbot, make: Make) -> None:
    service, diary = make()
    with qtbot.waitSignal(service.ready, timeout=START_MS):
        service.start()
    first = service.pid
    assert first is not None
    started = time.perf_counter()
    with qtbot.waitSignal(service.lost, timeout=5000):
        os.kill(first, signal.SIGKILL)
    lost_s = time.perf_counter() - started
    qtbot.waitUntil(lambda: diary.names().count("ready") == 2, timeout=START_MS)
    print(f"lost after {lost_s:.3f} s, back after {time.perf_counter() - started:.3f} s")
    assert diary.names() == ["ready", "lost", "restarting", "ready"]
    assert diary.entries[2] == ("restarting", 1)
    assert diary.entries[0][2] == diary.entries[3][2]
    assert service.pid != first
    assert ask(*diary.entries[3][1:]) == 0  # type: ignore[arg-type]


def test_a_service_that_dies_again_and_again_is_given_up(
    qtbot, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.service.BACKOFF_SECONDS", 0.001)
    monkeypatch.setattr("app.service.MAX_ATTEMPTS", 2)
    service, diary = make()
    service.ready.connect(lambda: os.kill(service.pid or 0, signal.SIGKILL))
    with qtbot.waitSignal(service.failed, timeout=3 * START_MS):
        service.start()
    assert diary.names() == ["ready", "lost", "restarting"] * 2 + ["ready", "lost", "failed"]
    assert [entry[1] for entry in diary.entries if entry[0] == "restarting"] == [1, 2]


def test_wrong_settings_are_told(qtbot, make: Make, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "settings.toml").write_text("[models]\ncontext = 'many'\n")
    service, diary = make()
    service.start()
    ((name, sentence),) = diary.entries
    assert name == "failed"
    assert "settings.toml" in str(sentence)
    (tmp_path / "config" / "settings.toml").unlink()
    with qtbot.waitSignal(service.ready, timeout=START_MS):
        service.start()


def test_a_service_that_cannot_start_says_why_at_once(
    qtbot, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INGLENOOK_SERVER_HOST", "192.0.2.1")
    service, diary = make()
    with qtbot.waitSignal(service.failed, timeout=START_MS):
        service.start()
    ((name, sentence),) = diary.entries
    assert name == "failed"
    assert "192.0.2.1" in str(sentence)
    assert "Traceback" not in str(sentence)
    assert service.log_tail()
    monkeypatch.delenv("INGLENOOK_SERVER_HOST")
    with qtbot.waitSignal(service.ready, timeout=START_MS):
        service.restart()


def test_a_taken_port_is_told_and_another_one_is_used(qtbot, make: Make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        service, diary = make(port)
        with qtbot.waitSignal(service.ready, timeout=START_MS):
            service.start()
    assert diary.names() == ["noticed", "ready"]
    assert str(port) in str(diary.entries[0][1])
    assert not str(diary.entries[1][1]).endswith(f":{port}")


def test_a_kept_service_is_found_and_ended_by_the_next_window(qtbot, make: Make) -> None:
    first, _ = make()
    with qtbot.waitSignal(first.ready, timeout=START_MS):
        first.start()
    pid = first.pid
    assert pid is not None
    first.keep()
    assert first.pid is None
    second, diary = make()
    started = time.perf_counter()
    with qtbot.waitSignal(second.ready, timeout=START_MS):
        second.start()
    print(f"found after {time.perf_counter() - started:.3f} s")
    assert second.pid == pid
    assert second.can_keep
    assert ask(*diary.entries[0][1:]) == 0  # type: ignore[arg-type]
    second.stop()
    until_gone(pid)


def test_a_found_service_that_dies_is_replaced(qtbot, make: Make) -> None:
    first, _ = make()
    with qtbot.waitSignal(first.ready, timeout=START_MS):
        first.start()
    pid = first.pid
    assert pid is not None
    first.keep()
    second, diary = make()
    with qtbot.waitSignal(second.ready, timeout=START_MS):
        second.start()
    os.kill(pid, signal.SIGKILL)
    qtbot.waitUntil(lambda: diary.names().count("ready") == 2, timeout=START_MS)
    assert diary.names() == ["ready", "lost", "restarting", "ready"]
    assert second.pid not in (pid, None)


def test_a_file_of_a_service_that_does_not_answer_is_no_service(
    qtbot, make: Make, tmp_path: Path
) -> None:
    dead = discovery.Found("http://127.0.0.1:1", "k", os.getpid(), VERSION, owned=True)
    discovery.write(Paths.find(tmp_path), dead)
    service, diary = make()
    with qtbot.waitSignal(service.ready, timeout=START_MS):
        service.start()
    assert diary.names() == ["ready"]
    assert service.pid != os.getpid()


def test_a_service_of_another_version_is_left_alone(qtbot, make: Make, tmp_path: Path) -> None:
    paths = Paths.find(tmp_path)
    old, _ = make()
    with qtbot.waitSignal(old.ready, timeout=START_MS):
        old.start()
    found = discovery.read(paths)
    assert found is not None
    discovery.write(paths, msgspec.structs.replace(found, version="0"))
    new, diary = make()
    with qtbot.waitSignal(new.ready, timeout=START_MS):
        new.start()
    assert new.pid != old.pid
    assert diary.entries[0][1] != found.url
    assert psutil.pid_exists(found.pid)


def test_stop_while_it_starts(qtbot, make: Make) -> None:
    service, diary = make()
    service.start()
    pid = service.pid
    assert pid is not None
    service.stop()
    assert not psutil.pid_exists(pid)
    assert diary.entries == []


def test_the_log_keeps_its_end_and_survives_a_folder_that_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    log = ServiceLog(tmp_path)
    with log.open() as file:
        file.write(b"old\n")
    with log.open() as file:
        file.write(b"".join(b"line %d \xff\n" % number for number in range(900)))
    assert len(log.tail()) == TAIL_LINES
    assert log.tail()[-1] == "line 899 \ufffd"
    with log.open() as file:
        file.write(b"new\n")
    assert log.tail(latest=True) == ["new"]
    (tmp_path / "file").touch()
    elsewhere = ServiceLog(tmp_path / "file" / "logs")
    with elsewhere.open() as file:
        file.write(b"still\n")
    assert elsewhere.tail() == ["still"]
