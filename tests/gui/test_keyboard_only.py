"""Without a mouse: Tab comes to every control of every page, and Space presses it."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLineEdit,
    QListView,
    QListWidget,
    QPlainTextEdit,
    QStackedWidget,
    QWidget,
)

from tests.gui.test_chat_page import Desk, desk, dressed, finish, type_and_send

pytestmark = pytest.mark.gui
__all__ = ["desk", "dressed"]

CONTROLS = (QAbstractButton, QAbstractSpinBox, QComboBox, QLineEdit, QListView, QPlainTextEdit)
MOST_TABS = 400


def controls(window: QWidget) -> set[QWidget]:
    """All that can be worked at the moment; parts of a compound control count as that control."""
    return {
        widget
        for widget in window.findChildren(QWidget)
        if isinstance(widget, CONTROLS)
        and widget.isVisible()
        and widget.isEnabled()
        and not isinstance(widget.parent(), (QAbstractSpinBox, QComboBox, QLineEdit))
        and not widget.objectName().startswith("qt_")
        and widget.window() is window
        and "popup" not in widget.objectName()
    }


def reached_by_tab(window: QWidget) -> set[QWidget]:
    window.activateWindow()
    reached: set[QWidget] = set()
    for _ in range(MOST_TABS):
        focus = QApplication.focusWidget()
        if focus is not None:
            reached.add(focus)
            # a text field with its own use of Tab is left with Ctrl+Tab
            QTest.keyClick(focus, Qt.Key.Key_Tab)
            if QApplication.focusWidget() is focus:
                QTest.keyClick(focus, Qt.Key.Key_Tab, Qt.KeyboardModifier.ControlModifier)
    return reached


def names(widgets: set[QWidget]) -> list[str]:
    return sorted(f"{type(w).__name__} {w.objectName()} {w.accessibleName()}" for w in widgets)


def assert_all_reached(desk: Desk) -> None:
    QApplication.processEvents()
    missing = controls(desk.window) - reached_by_tab(desk.window)
    assert names({w for w in missing if w.isVisible()}) == []


def test_tab_comes_to_everything_in_a_chat(desk: Desk, qtbot) -> None:
    type_and_send(desk, qtbot, "Show code")
    finish(desk, qtbot, "Use:\n\n```python\nprint(1)\n```\n\nDone.")
    desk.store.regenerate(desk.store.messages()[-1].id)
    finish(desk, qtbot, "Another answer")
    assert_all_reached(desk)
    desk.page.toggle_parameters()
    assert_all_reached(desk)


def test_undo_is_within_reach_of_tab(desk: Desk, qtbot) -> None:
    type_and_send(desk, qtbot, "One")
    finish(desk, qtbot, "Two")
    desk.page.sidebar.delete_requested.emit(desk.store.conversations()[0].id)
    assert desk.window.toast.isVisible()
    assert_all_reached(desk)


def test_tab_comes_to_everything_on_the_models_page(desk: Desk) -> None:
    desk.window.show_page(1)
    desk.window.models.focus_search()
    assert_all_reached(desk)


def test_tab_comes_to_everything_in_the_settings(desk: Desk) -> None:
    desk.window.show_page(2)
    stack = desk.window.settings.findChild(QStackedWidget)
    assert stack.count() >= 5
    for section in range(stack.count()):
        stack.setCurrentIndex(section)
        desk.window.settings.findChild(QListWidget).setFocus()
        assert_all_reached(desk)
