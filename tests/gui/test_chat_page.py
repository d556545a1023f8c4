"""The chat page and the window as a user works them, over a real history and played streams."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QTextOption
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QWidget

from app.history import History
from app.stores.attachments import AttachmentsStore
from app.stores.chat import ChatStore
from app.stores.diagnostics import DiagnosticsStore
from app.stores.downloads import DownloadsStore
from app.stores.hub import HubStore
from app.stores.kept import KeptStore
from app.stores.models import ModelsStore
from app.stores.network import NetworkStore
from app.stores.settings import SettingsStore
from app.theme import Theme
from app.widgets.chat.page import ChatPage
from app.widgets.keyboard_map import KeyboardMap
from app.widgets.library.page import ModelsPage
from app.widgets.main_window import MainWindow
from app.widgets.settings.page import SettingsPage
from engine.api.hub import Access, ConnectionList, DownloadList
from engine.api.models import ModelInfo, ModelList, StarterInfo
from engine.api.requests import Message
from engine.errors import ServiceUnavailable
from engine.paths import Paths
from tests.helpers.fake_bridge import FakeBridge
from tests.helpers.fake_streams import FakeStreams

pytestmark = pytest.mark.gui


def info(name: str, **fields: Any) -> ModelInfo:
    base: dict[str, Any] = {
        "state": "unloaded",
        "path": f"/m/{name}",
        "size_bytes": 98_000_000,
        "created": 1,
    }
    return ModelInfo(id=name, **{**base, **fields})


class Desk:
    """A window without a service."""

    def __init__(self, folder: Path) -> None:
        self.history = History(folder / "history.sqlite3")
        self.streams = FakeStreams()
        self.bridge = FakeBridge(
            library=ModelList([info("first"), info("second", created=2, n_ctx=4096)]),
            details=ServiceUnavailable("not here"),
            hardware=ServiceUnavailable("not here"),
            kept=ServiceUnavailable("not here"),
            starter=ServiceUnavailable("not here"),
            downloads=DownloadList([]),
            search=ServiceUnavailable("not here"),
            access=Access(endpoint="https://hub.example", offline=False),
            connections=ConnectionList([]),
        )
        self.store = ChatStore(self.history, self.streams)
        self.models = ModelsStore(self.bridge)
        self.attachments = AttachmentsStore(self.history, self.store)
        self.page = ChatPage(self.store, self.models, self.attachments)
        settings = SettingsStore(Paths.find(folder))
        self.hub = HubStore(self.bridge)
        self.downloads = DownloadsStore(self.bridge)
        self.network = NetworkStore(self.bridge, settings)
        self.window = MainWindow(
            self.page,
            ModelsPage(self.models, settings, self.hub, self.downloads),
            SettingsPage(
                settings,
                DiagnosticsStore(self.bridge, "0", {}),
                KeptStore(self.bridge),
                self.network,
                KeyboardMap.meanings,
            ),
        )

    def close(self) -> None:
        self.page.save_draft()
        self.store.close()
        self.history.close()


@pytest.fixture(scope="module")
def dressed(qapp) -> Theme:
    theme = Theme()
    theme.apply(qapp)
    return theme


@pytest.fixture
def desk(tmp_path: Path, qtbot, dressed) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    qtbot.addWidget(desk.window)
    desk.window.show()
    desk.models.refresh()
    desk.bridge.run()
    yield desk
    desk.close()


def type_and_send(desk: Desk, qtbot, text: str) -> None:
    qtbot.keyClicks(desk.page.composer.editor, text)
    qtbot.keyClick(desk.page.composer.editor, Qt.Key.Key_Return)


def finish(desk: Desk, qtbot, text: str) -> None:
    desk.streams.says(text)
    with qtbot.waitSignal(desk.store.message_changed):
        desk.streams.ends()


def test_the_newest_usable_model_is_ready_to_answer(desk: Desk) -> None:
    assert desk.store.model == "second"
    assert "second" in desk.page.composer.chip.text()


def test_type_send_read_and_ask_again(desk: Desk, qtbot) -> None:
    assert desk.page.empty.isVisible()
    type_and_send(desk, qtbot, "Hello")
    assert desk.page.composer.text == ""
    assert desk.streams.requests[0].messages == [Message("user", "Hello")]
    assert "Stop" in desk.page.composer.send_button.toolTip()
    finish(desk, qtbot, "Hi **there**")
    assert "Send" in desk.page.composer.send_button.toolTip()
    assert not desk.page.empty.isVisible()
    assert desk.page.title.text() == "Hello"
    type_and_send(desk, qtbot, "More")
    assert [m.content for m in desk.streams.requests[1].messages] == [
        "Hello",
        "Hi **there**",
        "More",
    ]


def test_shift_return_breaks_the_line_and_nothing_empty_is_sent(desk: Desk, qtbot) -> None:
    editor = desk.page.composer.editor
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.keyClicks(editor, "one")
    qtbot.keyClick(editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClicks(editor, "two")
    assert desk.page.composer.text == "one\ntwo"
    assert desk.streams.requests == []


def test_escape_stops(desk: Desk, qtbot) -> None:
    type_and_send(desk, qtbot, "Hello")
    qtbot.keyClick(desk.window, Qt.Key.Key_Escape)
    assert desk.streams.cancelled == [1]
    assert desk.store.messages()[-1].state == "stopped"


def test_drafts_stay_with_their_chats(desk: Desk, qtbot) -> None:
    type_and_send(desk, qtbot, "First")
    finish(desk, qtbot, "ok")
    qtbot.keyClicks(desk.page.composer.editor, "unsent")
    first = desk.store.conversation
    assert first is not None
    desk.page.new_chat()
    assert desk.page.composer.text == ""
    desk.page.open(first.id)
    assert desk.page.composer.text == "unsent"


def test_a_draft_reaches_the_disk_by_itself(desk: Desk, qtbot) -> None:
    qtbot.keyClicks(desk.page.composer.editor, "half a thought")
    qtbot.waitUntil(
        lambda: any(c.draft == "half a thought" for c in desk.history.conversations()), timeout=1000
    )


def test_delete_offers_undo(desk: Desk, qtbot) -> None:
    type_and_send(desk, qtbot, "Precious")
    finish(desk, qtbot, "ok")
    current = desk.store.conversation
    assert current is not None
    desk.page.sidebar.delete_requested.emit(current.id)
    assert desk.store.conversations() == []
    undo = desk.window.toast.findChild(QAbstractButton, "toast_action")
    assert "Precious" in "".join(
        w.text() for w in desk.window.toast.findChildren(QWidget) if hasattr(w, "text")
    )
    undo.click()
    assert [c.title for c in desk.store.conversations()] == ["Precious"]


def test_search_finds_by_what_was_said(desk: Desk, qtbot) -> None:
    for text in ("about lighthouses", "about soup"):
        desk.page.new_chat()
        type_and_send(desk, qtbot, text)
        finish(desk, qtbot, "fine")
    qtbot.keyClicks(desk.page.sidebar.search, "soup")
    model = desk.page.sidebar.model
    qtbot.waitUntil(lambda: model.rowCount() == 2, timeout=1000)  # a heading and one chat
    assert model.data(model.index(1)) == "about soup"


def test_choose_a_model_with_the_keyboard(desk: Desk, qtbot) -> None:
    desk.page.choose_model()
    picker = desk.page.picker
    qtbot.keyClicks(picker.search, "fir")
    with qtbot.waitSignal(picker.chosen):
        qtbot.keyClick(picker.search, Qt.Key.Key_Return)
    assert desk.store.model == "first"


def test_parameters_go_with_the_request(desk: Desk, qtbot) -> None:
    desk.page.toggle_parameters()
    panel = desk.page.parameters
    panel.system.setPlainText("Be brief.")
    panel.temperature.setValue(0.25)
    panel.seed.setValue(7)
    type_and_send(desk, qtbot, "Hi")
    request = desk.streams.requests[0]
    assert request.messages[0] == Message("system", "Be brief.")
    assert (request.temperature, request.seed, request.top_k) == (0.25, 7, None)
    desk.page.new_chat()
    assert panel.system.toPlainText() == ""
    assert panel.values() == {}


def test_without_models_the_models_page_is_shown(desk: Desk, qtbot) -> None:
    desk.bridge.answers["library"] = ModelList([])
    desk.bridge.answers["starter"] = StarterInfo(
        state="absent",
        stage="",
        fraction=0.0,
        error="",
        name="",
        license="",
        size_bytes=0,
        download_bytes=0,
    )
    desk.models.refresh()
    desk.bridge.run()
    desk.store.set_model("")
    type_and_send(desk, qtbot, "Hello")
    assert desk.window.pages.currentIndex() == 1
    assert desk.page.composer.text == "Hello"
    desk.window.show_page(0)
    button = desk.page.empty.findChild(QAbstractButton, "empty_action")
    assert button.text() == "Get a model"
    button.click()
    assert desk.window.pages.currentIndex() == 1


@pytest.mark.parametrize("text", ["x" * 1_000_000, "`" * 1_000_000, "word " * 200_000])
def test_a_huge_draft_of_old_is_sent_whole(desk: Desk, qtbot, text: str) -> None:
    """C39; without the other way to break lines, the first two take about a minute each."""
    desk.page.composer.set_text(text)
    qtbot.keyClick(desk.page.composer.editor, Qt.Key.Key_Return)
    assert desk.store.messages()[0].content.strip() == text.strip()
    assert desk.page.composer.text == ""
    wrap = desk.page.composer.editor.wordWrapMode()
    assert wrap == QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere


def test_typing_without_a_pause_is_kept_too(desk: Desk, qtbot) -> None:
    for _ in range(200):
        qtbot.keyClicks(desk.page.composer.editor, "x")
        qtbot.wait(10)
        if any(chat.draft for chat in desk.store.conversations()):
            return
    raise AssertionError("not kept while typing")


def test_copy_the_last_answer_exactly(desk: Desk, qtbot) -> None:
    type_and_send(desk, qtbot, "Code?")
    finish(desk, qtbot, "```python\n\tx = 1  \n```\n")
    desk.page.copy_last_answer()
    assert QGuiApplication.clipboard().text() == "```python\n\tx = 1  \n```\n"


def test_window_size_survives(desk: Desk) -> None:
    desk.window.resize(770, 540)  # the offscreen screen is small
    text = desk.window.geometry_text()
    desk.window.resize(790, 600)
    desk.window.restore_geometry_text(text)
    assert (desk.window.width(), desk.window.height()) == (770, 540)
    desk.window.restore_geometry_text("nonsense")


def test_pages_by_shortcut_and_the_question_mark(desk: Desk, qtbot) -> None:
    qtbot.keyClick(desk.window, Qt.Key.Key_2, Qt.KeyboardModifier.ControlModifier)
    assert desk.window.pages.currentIndex() == 1
    qtbot.keyClick(desk.window, Qt.Key.Key_1, Qt.KeyboardModifier.ControlModifier)
    desk.page.composer.editor.setFocus()
    desk.window._on_question_mark()
    assert desk.page.composer.text == "?"


def test_closing_asks_first_and_saves(desk: Desk, qtbot) -> None:
    with qtbot.waitSignal(desk.window.close_asked):
        desk.window.close()
    assert desk.window.isVisible()
    with qtbot.waitSignal(desk.window.closing):
        desk.window.close_now()
    assert not desk.window.isVisible()


def test_every_control_has_a_name_for_screen_readers(desk: Desk) -> None:
    desk.page.toggle_parameters()
    unnamed = [
        f"{type(widget).__name__} {widget.objectName()}"
        for widget in desk.window.findChildren(QWidget)
        if widget.focusPolicy() != Qt.FocusPolicy.NoFocus
        and not widget.accessibleName()
        and not widget.isHidden()
        and widget.isVisibleTo(desk.window)
        and not isinstance(widget, QLabel)  # selectable text speaks for itself
        and "ComboBox" not in type(widget.parent()).__name__
        and not (isinstance(widget, QAbstractButton) and widget.text())
        and not widget.objectName().startswith("qt_")
        and "ScrollArea" not in type(widget).__name__
    ]
    assert not unnamed, "; ".join(sorted(set(unnamed)))


def test_pages_as_pictures(desk: Desk, qtbot, tmp_path) -> None:
    type_and_send(desk, qtbot, "Count words")
    finish(
        desk, qtbot, "Use `Counter`:\n\n```python\nfrom collections import Counter\n```\n\nDone."
    )
    for number in range(3):
        desk.window.show_page(number)
        QApplication.processEvents()
        picture = desk.window.grab()
        assert picture.save(str(tmp_path / f"page-{number}.png"))
        assert not picture.isNull()
