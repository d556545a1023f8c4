"""Every flow from its beginning to its end with keys alone; no test here touches a widget with anything else."""

import pytest
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QListWidget, QWidget

from app.history import Conversation
from app.widgets.chat.attachment_view import AttachmentView
from engine.api.models import Removed
from tests.gui.test_chat_page import Desk, desk, dressed, finish
from tests.helpers.library_values import details, info

pytestmark = [
    pytest.mark.gui,
    pytest.mark.qt_log_ignore("This plugin does not support"),  # the offscreen platform
]
__all__ = ["desk", "dressed"]

MOST_TABS = 200


def press(*keys: str) -> None:
    """As "Ctrl+N" or "Return", to whatever has the focus."""
    for key in keys:
        combination = QKeySequence(key)[0]
        QTest.keyClick(focused(), combination.key(), combination.keyboardModifiers())
        QApplication.processEvents()


def write(text: str) -> None:
    QTest.keyClicks(focused(), text)
    QApplication.processEvents()


def focused() -> QWidget:
    popup = QApplication.activePopupWidget()
    found = (popup and popup.focusWidget()) or QApplication.focusWidget()
    found = found or QApplication.activeWindow()
    assert found is not None, "nothing has the focus"
    return found


def tab_to(name: str, key: str = "Tab") -> None:
    for _ in range(MOST_TABS):
        if focused().objectName() == name:
            return
        press(key)
    raise AssertionError(f"{key} does not come to {name}")


def current(desk: Desk) -> Conversation:
    assert desk.store.conversation is not None
    return desk.store.conversation


@pytest.fixture
def keys(desk: Desk, qtbot) -> Desk:
    desk.window.activateWindow()
    with qtbot.waitActive(desk.window):
        desk.window.show()
    desk.page.composer.editor.setFocus()
    return desk


def chat(desk: Desk, qtbot, question: str, answer: str) -> None:
    press("Ctrl+L")
    write(question)
    press("Return")
    finish(desk, qtbot, answer)


def test_ask_stop_and_go_on(keys: Desk, qtbot) -> None:
    press("Ctrl+L")
    write("Tell me")
    press("Shift+Return")
    write("a story")
    press("Return")
    keys.streams.says("Once upon")
    press("Esc")
    assert keys.store.messages()[0].content == "Tell me\na story"
    assert keys.store.messages()[1].state == "stopped"
    tab_to("continue")
    press("Space")
    assert len(keys.streams.requests) == 2
    finish(keys, qtbot, " a time")
    assert keys.store.messages()[1].content == "Once upon a time"


def test_another_answer_and_back_to_the_first(keys: Desk, qtbot) -> None:
    chat(keys, qtbot, "Question", "one")
    press("Ctrl+R")
    finish(keys, qtbot, "two")
    tab_to("previous_version")
    press("Space")
    assert keys.store.messages()[1].content == "one"


def test_edit_a_question_and_leave_another_edit(keys: Desk, qtbot) -> None:
    chat(keys, qtbot, "Question", "one")
    tab_to("edit")
    press("Space")
    write(" again")
    press("Return")
    finish(keys, qtbot, "two")
    assert [m.content for m in keys.store.messages()] == ["Question again", "two"]
    tab_to("edit")
    press("Space")
    write(" never")
    press("Esc")
    assert focused().objectName() == "edit"
    assert [m.content for m in keys.store.messages()] == ["Question again", "two"]


def test_find_open_rename_delete_and_bring_back(keys: Desk, qtbot) -> None:
    chat(keys, qtbot, "About soup", "one")
    press("Ctrl+N")
    chat(keys, qtbot, "About lighthouses", "two")
    press("Ctrl+F")
    with qtbot.waitSignal(keys.page.sidebar.search_changed):
        write("soup")
    tab_to("conversations")
    press("Down", "Return")
    assert current(keys).title == "About soup"
    press("F2")
    write("Dinner")
    press("Return")
    assert current(keys).title == "Dinner"
    tab_to("conversations", "Shift+Tab")
    press("Del")
    assert [c.title for c in keys.store.conversations()] == ["About lighthouses"]
    tab_to("toast_action")
    press("Space")
    assert {c.title for c in keys.store.conversations()} == {"About lighthouses", "Dinner"}


def test_choose_a_model_and_set_parameters(keys: Desk, qtbot) -> None:
    press("Ctrl+M")
    write("fir")
    press("Return")
    assert keys.store.model == "first"
    press("Ctrl+P")
    tab_to("system_prompt")
    write("Be brief.")
    tab_to("temperature")
    press("Ctrl+A")
    write("0.5")
    press("Ctrl+P")
    chat(keys, qtbot, "Hi", "ok")
    request = keys.streams.requests[-1]
    assert request.messages[0].content == "Be brief."
    assert request.temperature == 0.5


def test_attach_look_and_remove(keys: Desk, qtbot) -> None:
    QGuiApplication.clipboard().setText("line\n" * 4000)
    press("Ctrl+L", "Ctrl+V")
    assert [a.name for a in keys.attachments.items] == ["Pasted text"]
    tab_to("attachment", "Shift+Tab")
    press("Space")
    view = keys.page.findChild(AttachmentView)
    assert view is not None
    with qtbot.waitSignal(view.finished):
        press("Esc")
    keys.window.activateWindow()  # what a window manager does
    QApplication.processEvents()
    assert focused().objectName() == "attachment"
    tab_to("detach")
    press("Space")
    assert keys.attachments.items == []
    tab_to("toast_action")
    press("Space")
    assert [a.name for a in keys.attachments.items] == ["Pasted text"]
    press("Ctrl+L", "Return")
    assert "line\nline" in str(keys.streams.requests[0].messages[0].content)


def test_copy_an_answer_and_one_of_its_code_blocks(keys: Desk, qtbot) -> None:
    chat(keys, qtbot, "Code?", "So:\n\n```python\nprint(1)\n```\n")
    press("Ctrl+Shift+C")
    assert QGuiApplication.clipboard().text() == "So:\n\n```python\nprint(1)\n```\n"
    tab_to("copy_code")
    press("Space")
    assert QGuiApplication.clipboard().text().strip() == "print(1)"


def test_load_remove_and_bring_back_a_model(keys: Desk, qtbot) -> None:
    bridge = keys.bridge
    bridge.answers |= {
        "details": details,
        "load": lambda name: info(name, state="ready"),
        "remove": lambda name: Removed("trashed"),
    }
    press("Ctrl+2")
    tab_to("models")
    press("End")
    bridge.run()
    chosen = keys.models.selected
    tab_to("model-load")
    press("Space")
    assert ("load", chosen) in bridge.calls
    bridge.run()
    tab_to("model-remove")
    press("Space")
    assert keys.models.get(chosen) is None
    tab_to("toast_action")
    press("Space")
    assert keys.models.get(chosen) is not None


def test_change_a_setting_read_the_sheet_and_quit(keys: Desk, qtbot) -> None:
    press("Ctrl+,")
    names = keys.window.settings.findChild(QListWidget, "settings-sections")
    tab_to("settings-sections")
    press("Down", "Down", "Up", "Up")
    assert names is not None
    assert names.currentRow() == 0
    tab_to("settings-theme")
    press("Down")
    assert keys.window.settings._store.theme == "light"
    press("Ctrl+/")
    sheet = keys.window.findChild(QDialog, "keyboard_map")
    assert sheet is not None
    assert sheet.isVisible()
    press("Esc")
    assert not sheet.isVisible()
    keys.window.activateWindow()  # what a window manager does
    QApplication.processEvents()
    with qtbot.waitSignal(keys.window.close_asked):
        press("Ctrl+Q")
