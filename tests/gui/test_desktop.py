"""The whole desktop with all real parts: window, child service, worker, llama.cpp on a tiny model."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from app.application import Desktop
from engine.paths import Paths
from tests.helpers.tiny_llama import write_tiny_llama

pytestmark = pytest.mark.gui


@pytest.fixture
def desktop(tmp_path: Path, qtbot) -> Iterator[Desktop]:
    (tmp_path / "models").mkdir()
    write_tiny_llama(tmp_path / "models" / "tiny.gguf", n_ctx=4096)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "settings.toml").write_text(
        "[server]\nport = 0\n[models]\nthreads = 1\n"
    )
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    desktop = Desktop(app, Paths.find(tmp_path))
    desktop.chat_store.set_defaults({"ignore_eos": True})  # the model's noise may hold an end token
    desktop.start()
    qtbot.waitUntil(lambda: bool(desktop.models_store.models), timeout=15000)
    yield desktop
    desktop.window.close_now()
    desktop.close()


def send(desktop: Desktop, qtbot, text: str, *, max_tokens: int) -> None:
    desktop.chat.parameters.max_tokens.setValue(max_tokens)
    qtbot.keyClicks(desktop.chat.composer.editor, text)
    qtbot.keyClick(desktop.chat.composer.editor, Qt.Key.Key_Return)


def test_a_message_is_answered_and_remembered(desktop: Desktop, qtbot) -> None:
    send(desktop, qtbot, "Hello", max_tokens=30)
    qtbot.waitUntil(lambda: len(desktop.chat_store.messages()) == 2, timeout=5000)
    qtbot.waitUntil(lambda: not desktop.chat_store.busy, timeout=20000)
    answer = desktop.chat_store.messages()[-1]
    assert answer.state == "complete"
    assert answer.content
    assert answer.figures["tokens"] <= 30
    qtbot.waitUntil(lambda: desktop.chat.composer.gauge.isVisible(), timeout=5000)
    assert "4,096" in desktop.chat.composer.context_label.text()


def test_the_service_may_die_in_mid_answer(desktop: Desktop, qtbot) -> None:
    send(desktop, qtbot, "Tell me a story", max_tokens=3500)
    qtbot.waitUntil(
        lambda: desktop.chat_store.busy and len(desktop.chat_store.messages()[-1].content) > 20,
        timeout=20000,
    )
    pid = desktop.service.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    qtbot.waitUntil(lambda: not desktop.chat_store.busy, timeout=10000)
    part = desktop.chat_store.messages()[-1]
    assert part.state == "interrupted"
    assert len(part.content) > 20
    qtbot.waitUntil(lambda: desktop.service.pid not in (None, pid), timeout=15000)
    qtbot.waitUntil(lambda: desktop._connected, timeout=15000)
    desktop.chat.parameters.max_tokens.setValue(5)
    desktop.chat_store.continue_answer(part.id)
    qtbot.waitUntil(lambda: not desktop.chat_store.busy, timeout=20000)
    whole = desktop.chat_store.messages()[-1]
    assert whole.state == "complete"
    assert whole.content.startswith(part.content)


def test_stop(desktop: Desktop, qtbot) -> None:
    send(desktop, qtbot, "Tell me a story", max_tokens=3500)
    qtbot.waitUntil(lambda: len(desktop.chat_store.messages()[-1].content) > 5, timeout=20000)
    qtbot.keyClick(desktop.window, Qt.Key.Key_Escape)
    assert not desktop.chat_store.busy
    assert desktop.chat_store.messages()[-1].state == "stopped"
