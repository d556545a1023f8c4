"""`kill -9` of worker, service or window at random moments of typing, streaming and saving: nothing is lost."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from app.history import History
from tests.helpers.service_process import ROOT
from tests.helpers.tiny_llama import write_tiny_llama

pytestmark = [
    pytest.mark.gui,
    pytest.mark.skipif(sys.platform == "win32", reason="kill -9"),
]

DRAFT_S, TEXT_S = 1.0, 0.1
"""What may be lost: a draft, and received text, that is younger."""
LATE_S = 0.4
"""A busy test machine may run a timer this much late."""


class Window:
    """A busy window and all that it has told."""

    def __init__(self, folder: Path) -> None:
        env = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tests.helpers.busy_window", str(folder)],
            cwd=ROOT,
            env=env,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.events: list[list] = []
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            with self._news:
                self.events.append(json.loads(line))
                self._news.notify_all()

    def wait_for(self, event: str, *, after: float = 0, timeout: float = 20) -> list:
        def found() -> list | None:
            return next((e for e in self.events if e[1] == event and e[0] > after), None)

        with self._news:
            assert self._news.wait_for(found, timeout), f"no {event} since {after}"
            return found()

    def kill(self) -> float:
        """End it the hard way; its service goes along."""
        service = psutil.Process(self.wait_for("service")[2]) if self.has_service else None
        at = time.monotonic()
        self.process.kill()
        self.process.wait(10)
        self._reader.join(10)
        self.process.stdout.close()
        if service:
            service.wait(15)
        return at

    @property
    def has_service(self) -> bool:
        pids = [e[2] for e in self.events if e[1] == "service"]
        return bool(pids) and psutil.pid_exists(pids[0])


def kill_child(window: Window, target: str) -> None:
    """The service of the window, or that service's worker; then life goes on."""
    service = psutil.Process(window.wait_for("service")[2])
    victims = service.children() if target == "worker" else [service]
    for victim in victims:
        victim.kill()
    at = time.monotonic()
    window.wait_for("received", after=at + 0.2)
    window.wait_for("sent", after=at)


def check(folder: Path, window: Window, killed_at: float, sent: dict[int, str]) -> None:
    """Everything that the user has seen is in the file."""
    history = History(folder / "history.sqlite3")
    assert history.notice == ""
    assert history._file.rows("PRAGMA integrity_check") == [("ok",)]
    chats = history.conversations()
    messages = {m.id: m for chat in chats for m in history.path(chat.id)}
    for number, text in sent.items():
        assert messages[number].content == text
    received: dict[int, str] = {}
    for at, event, *values in window.events:
        if event == "received" and at < killed_at - TEXT_S - LATE_S:
            received[values[0]] = received.get(values[0], "") + values[1]
    for number, text in received.items():
        assert messages[number].content.startswith(text)
        assert messages[number].state in ("complete", "interrupted")
    typed = [e[2] for e in window.events if e[1] == "typed" and e[0] < killed_at - DRAFT_S - LATE_S]
    kept = [chat.draft for chat in chats] + [m.content for m in messages.values()]
    for text in typed[-1:]:
        assert any(words.startswith(text.strip()) for words in kept)
    history.close()


def run_rounds(folder: Path, number_of_rounds: int, seed: int) -> None:
    (folder / "models").mkdir()
    write_tiny_llama(folder / "models" / "tiny.gguf", n_ctx=4096)
    (folder / "config").mkdir()
    settings = "[server]\nport = 0\n[models]\nthreads = 1\n"
    (folder / "config" / "settings.toml").write_text(settings)
    chance = random.Random(seed)
    sent: dict[int, str] = {}
    for number in range(number_of_rounds):
        target = ("window", "service", "worker")[number % 3]
        window = Window(folder)
        try:
            window.wait_for("received" if target == "worker" else "service")
            threading.Event().wait(chance.uniform(0, 2.5))  # the moment of the kill is the input
            if target != "window":
                kill_child(window, target)
                threading.Event().wait(chance.uniform(0, 0.5))
            killed_at = window.kill()
        finally:
            if window.process.poll() is None:
                window.process.send_signal(signal.SIGKILL)
                window.process.wait(10)
        sent |= {e[2]: e[3] for e in window.events if e[1] == "sent"}
        check(folder, window, killed_at, sent)
    assert len(sent) > number_of_rounds


def test_nothing_is_lost_in_six_kills(tmp_path: Path) -> None:
    run_rounds(tmp_path, 6, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_nothing_is_lost_in_thirty_kills(tmp_path: Path) -> None:
    run_rounds(tmp_path, 30, seed=time.time_ns())
