"""The whole desktop with all real parts: window, child service, worker, llama.cpp on a tiny model."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QMessageBox

from app.application import Desktop, open_desktop
from app.history import History
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
    desktop.start()
    qtbot.waitUntil(lambda: bool(desktop.models_store.models), timeout=15000)
    yield desktop
    desktop.window.close_now()
    desktop.close()


def send(desktop: Desktop, qtbot, text: str, *, max_tokens: int) -> None:
    # The model's noise may hold an end token. Set at each message: a change of settings sets the defaults anew.
    desktop.chat_store.defaults = {"ignore_eos": True}
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


def test_what_is_kept_of_a_deleted_chat_goes_now_or_when_the_service_is_back(
    desktop: Desktop, qtbot, tmp_path: Path
) -> None:
    kept = tmp_path / "cache" / "conversations"

    def files() -> list[Path]:
        return [path for path in kept.rglob("*.kv") if path.is_file()]

    def chat_until_kept(text: str) -> int:
        desktop.chat_store.open(None)
        send(desktop, qtbot, text, max_tokens=3)
        qtbot.waitUntil(lambda: bool(files()), timeout=20000)
        return desktop.chat_store.ensure_conversation().id

    desktop.chat_store.delete(chat_until_kept("a long enough text that is worth keeping"))
    qtbot.waitUntil(lambda: not files(), timeout=10000)
    later = chat_until_kept("another text that is worth keeping, too")
    desktop.bridge.disconnect_client()
    desktop.chat_store.delete(later)
    with qtbot.waitSignal(desktop.service.ready, timeout=30000):
        desktop.service.restart()
    qtbot.waitUntil(lambda: not files(), timeout=10000)


def test_a_deleted_chat_leaves_the_file_when_the_window_closes(tmp_path: Path, qtbot) -> None:
    """Not one whose undo is still in reach."""
    path = tmp_path / "history.sqlite3"
    for secret, ago in (("an old secret", 3600), ("a fresh secret", 0)):
        history = History(path, clock=lambda ago=ago: time.time() - ago)
        conversation = history.create(model="tiny").id
        history.add_user(conversation, secret, None)
        history.delete(conversation)
        history.close()
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    desktop = Desktop(app, Paths.find(tmp_path))
    desktop.start()
    desktop.window.close_now()
    desktop.close()
    held = b"".join(file.read_bytes() for file in tmp_path.glob("history.sqlite3*"))
    assert b"an old secret" not in held
    assert b"a fresh secret" in held


def test_what_is_typed_is_read_along(desktop: Desktop, qtbot) -> None:
    send(desktop, qtbot, "Hello", max_tokens=3)
    qtbot.waitUntil(lambda: len(desktop.chat_store.messages()) == 2, timeout=5000)
    qtbot.waitUntil(lambda: not desktop.chat_store.busy, timeout=20000)
    accepted: list[bool] = []
    original = desktop.bridge.call

    def call(make, ok, failed):
        return original(make, lambda reply: (accepted.append(reply), ok(reply)), failed)

    desktop.hinting._calls = SimpleNamespace(call=call)
    qtbot.keyClicks(desktop.chat.composer.editor, "And what else?")
    qtbot.waitUntil(lambda: accepted[:1] == [True], timeout=5000)
    desktop.settings.set("desktop.read_along", value=False)
    desktop.hinting.tell("And what else? Something longer.")
    assert not desktop.hinting._asking


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


def click_in_box(words: str, boxes: list[str], before: Callable[[], None]) -> None:
    """Once the event loop runs: note what the box says, do `before`, press its button."""

    def press() -> None:
        box = QApplication.activeModalWidget()
        assert isinstance(box, QMessageBox)
        boxes.append(f"{box.text()} {box.informativeText()}")
        before()
        next(b for b in box.buttons() if b.text().replace("&", "") == words).click()

    QTimer.singleShot(0, press)


def test_a_forced_backend_answers_after_the_service_has_started_again(
    desktop: Desktop, qtbot
) -> None:
    pytest.importorskip("torch")
    models = desktop.window.models
    desktop.models_store.select("tiny")
    qtbot.waitUntil(lambda: desktop.models_store.details is not None, timeout=10000)
    choice = models.findChild(QComboBox, "model-backend")
    assert choice is not None
    choice.setCurrentIndex(choice.findData("torch-cpu"))
    choice.activated.emit(choice.currentIndex())
    before = desktop.service.pid
    models.restart_wanted.emit()
    qtbot.waitUntil(lambda: desktop.service.pid not in (None, before), timeout=15000)

    def shown() -> str:
        label = models.findChild(QLabel, "plan-reasons")
        return label.text() if label else ""

    qtbot.waitUntil(lambda: "torch on the CPU, as chosen" in shown(), timeout=15000)
    send(desktop, qtbot, "Hello", max_tokens=20)
    qtbot.waitUntil(lambda: len(desktop.chat_store.messages()) == 2, timeout=5000)
    qtbot.waitUntil(lambda: not desktop.chat_store.busy, timeout=30000)
    assert desktop.chat_store.messages()[-1].state == "complete"
    qtbot.waitUntil(
        lambda: (info := desktop.models_store.get("tiny")) and info.backend == "torch-cpu",
        timeout=5000,
    )
    send(desktop, qtbot, "Tell me a story", max_tokens=3500)
    qtbot.waitUntil(lambda: len(desktop.chat_store.messages()[-1].content) > 20, timeout=20000)
    desktop.chat_store.stop()
    assert desktop.chat_store.messages()[-1].state == "stopped"


def test_a_data_folder_that_cannot_be_used_is_said_and_tried_again(tmp_path: Path, qtbot) -> None:
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    in_the_way = tmp_path / "data"
    in_the_way.write_text("a file where the folder should be")
    boxes: list[str] = []
    click_in_box("Try again", boxes, in_the_way.unlink)
    desktop = open_desktop(app, Paths.find(in_the_way))
    assert desktop is not None
    desktop.window.close_now()
    desktop.close()
    assert len(boxes) == 1
    assert str(in_the_way) in boxes[0]


def test_a_start_can_be_given_up(tmp_path: Path, qtbot) -> None:
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    in_the_way = tmp_path / "data"
    in_the_way.write_text("a file where the folder should be")
    boxes: list[str] = []
    click_in_box("Close", boxes, lambda: None)
    assert open_desktop(app, Paths.find(in_the_way)) is None
    assert len(boxes) == 1
