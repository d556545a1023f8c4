"""Widgets that every page shares: what they show, say, emit, and how they follow the theme."""

import gc
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QEvent, QSize, Qt, QTimer
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QLabel,
    QPlainTextEdit,
    QProgressBar,
    QPushButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.theme import DARK, LIGHT, Theme, palette
from app.widgets.chat.composer import Composer
from app.widgets.common.buttons import (
    HIT_AREA,
    IconButton,
    describe,
    icon_button,
    plain_button,
    primary_button,
)
from app.widgets.common.empty_state import EmptyState
from app.widgets.common.error_box import ErrorBox
from app.widgets.common.labels import ElidedLabel, IconLabel, label, set_role
from app.widgets.common.menus import menu
from app.widgets.common.progress_line import ProgressLine
from app.widgets.common.toast import STAY_MS, Toast

pytestmark = [
    pytest.mark.gui,
    pytest.mark.qt_log_ignore("This plugin does not support"),  # the offscreen platform
]
HTML = "<b>bold</b> & <img src='http://example.org/x.png'>"


@pytest.fixture
def page(qtbot: QtBot) -> QWidget:
    page = QWidget()
    page.resize(600, 400)
    qtbot.addWidget(page)
    page.show()
    return page


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    before = qapp.palette(), qapp.font(), qapp.styleSheet()
    theme = Theme()
    theme.set_mode("light")
    theme.apply(qapp)
    yield theme
    theme.deleteLater()
    qapp.setStyleSheet(before[2])
    qapp.setFont(before[1])
    qapp.setPalette(before[0])


def child(parent: QWidget, kind: type[QWidget], name: str) -> QWidget:
    found = parent.findChild(kind, name)
    assert found is not None
    return found


def button(parent: QWidget, name: str) -> QAbstractButton:
    found = child(parent, QAbstractButton, name)
    assert isinstance(found, QAbstractButton)
    return found


def test_icon_buttons_say_what_they_do_and_are_large_enough(qtbot: QtBot) -> None:
    made = icon_button("plus", "New chat (Ctrl+N)", object_name="new")
    qtbot.addWidget(made)
    assert made.objectName() == "new"
    assert made.toolTip() == "New chat (Ctrl+N)"
    assert made.accessibleName() == "New chat"
    assert made.minimumWidth() >= HIT_AREA <= made.minimumHeight()
    describe(made, "Stop (Esc)")
    assert (made.toolTip(), made.accessibleName()) == ("Stop (Esc)", "Stop")


def test_icons_follow_the_theme_and_what_is_on(theme: Theme, qtbot: QtBot) -> None:
    made = icon_button("cube", "Models", object_name="models")
    push = primary_button("Download", object_name="get", icon_name="download-simple")
    picture = IconLabel("warning", "error")
    for widget in (made, push, picture):
        qtbot.addWidget(widget)
        widget.show()

    def images() -> list[object]:
        size = QSize(20, 20)
        return [
            made.icon().pixmap(size).toImage(),
            push.icon().pixmap(size).toImage(),
            picture.pixmap().toImage(),
        ]

    light = images()
    theme.set_mode("dark")
    dark = images()
    assert all(a != b for a, b in zip(light, dark, strict=True))
    at_rest = made.icon().pixmap(20).toImage()
    made.set_on(True)
    assert made.icon().pixmap(20).toImage() != at_rest
    theme.set_mode("light")
    made.set_on(False)
    assert images() == light


def test_an_icon_can_change_with_the_function(qtbot: QtBot) -> None:
    made = IconButton("arrow-up")
    qtbot.addWidget(made)
    send = made.icon().pixmap(20).toImage()
    made.set_icon("stop")
    assert made.icon().pixmap(20).toImage() != send


def test_push_buttons_have_name_and_kind(qtbot: QtBot) -> None:
    for made, kind in (
        (primary_button("Download", object_name="a"), "primary"),
        (plain_button("Cancel", object_name="b"), "plain"),
    ):
        qtbot.addWidget(made)
        assert made.property("kind") == kind
        assert made.accessibleName() == made.text()


def test_labels_never_read_markup(qtbot: QtBot) -> None:
    for made in (label(HTML), ElidedLabel(HTML)):
        qtbot.addWidget(made)
        assert made.textFormat() is Qt.TextFormat.PlainText
        assert made.text() == HTML


def test_a_role_changes_while_it_is_shown(theme: Theme, page: QWidget) -> None:
    words = label("8 tok/s", "soft", parent=page)
    words.show()
    assert words.palette().windowText().color().name().upper() == LIGHT.soft
    set_role(words, "error")
    assert words.palette().windowText().color().name().upper() == LIGHT.error


def test_an_elided_label_has_the_whole_text_in_its_tooltip(page: QWidget) -> None:
    words = ElidedLabel("A lighthouse\nin winter", parent=page)
    words.resize(400, 20)
    words.show()
    assert words.shown_text() == words.text() == "A lighthouse in winter"
    assert words.toolTip() == ""
    words.resize(60, 20)
    assert words.shown_text().endswith("…")
    assert words.toolTip() == "A lighthouse in winter"
    assert words.minimumSizeHint().width() < 60


def test_a_toast_acts_once_and_closes(page: QWidget, qtbot: QtBot) -> None:
    toast = Toast(page)
    done: list[str] = []
    toast.show_text("Deleted.", "Undo", lambda: done.append("undone"))
    assert toast.isVisible()
    qtbot.mouseClick(button(toast, "toast_action"), Qt.MouseButton.LeftButton)
    assert done == ["undone"]
    assert not toast.isVisible()
    button(toast, "toast_action").click()
    assert done == ["undone"]


def test_a_toast_leaves_by_itself_without_acting(page: QWidget, qtbot: QtBot) -> None:
    toast = Toast(page)
    timer = toast.findChild(QTimer)
    assert timer is not None
    assert (timer.interval(), timer.isSingleShot()) == (STAY_MS, True)
    timer.setInterval(1)
    done: list[str] = []
    toast.show_text("Deleted.", "Undo", lambda: done.append("undone"))
    qtbot.waitUntil(lambda: not toast.isVisible())
    assert done == []
    assert not timer.isActive()


def test_a_new_toast_replaces_the_old_and_its_action(page: QWidget) -> None:
    toast = Toast(page)
    done: list[str] = []
    toast.show_text("Deleted.", "Undo", lambda: done.append("old"))
    toast.show_text("Copied.")
    assert not button(toast, "toast_action").isVisible()
    button(toast, "toast_action").click()
    assert done == []


def test_a_toast_stays_inside_its_window(page: QWidget, qtbot: QtBot) -> None:
    toast = Toast(page)
    toast.show_text("A sentence that is longer than the window is wide. " * 3, "Undo")
    for width in (600, 320, 900):
        page.resize(width, 300)
        qtbot.waitUntil(lambda: page.rect().contains(toast.geometry()))
        words = toast.findChild(QLabel)
        assert words is not None
        assert words.height() >= words.heightForWidth(words.width())


def test_a_toast_takes_no_focus(page: QWidget, qtbot: QtBot) -> None:
    field = QPlainTextEdit(page)
    field.show()
    page.activateWindow()
    qtbot.waitUntil(page.isActiveWindow)
    field.setFocus()
    toast = Toast(page)
    toast.show_text("Deleted.", "Undo")
    assert field.hasFocus()
    toast.dismiss()
    assert field.hasFocus()


def test_an_error_is_a_sentence_a_button_and_details_to_unfold(page: QWidget, qtbot: QtBot) -> None:
    box = ErrorBox(page)
    assert not box.isVisible()
    box.show_error(HTML, hint="Choose a smaller model.", action="Choose", details="line 1\nline 2")
    assert box.accessibleName() == HTML
    shown = [words.text() for words in box.findChildren(QLabel) if words.isVisible()]
    assert HTML in shown
    assert "Choose a smaller model." in shown
    details = child(box, QPlainTextEdit, "error_details")
    assert not details.isVisible()
    button(box, "error_fold").click()
    assert details.isVisible()
    with qtbot.waitSignal(box.acted):
        button(box, "error_action").click()
    box.show_error("Something else.")
    assert not details.isVisible()
    assert not button(box, "error_action").isVisible()
    assert not button(box, "error_fold").isVisible()
    box.clear()
    assert not box.isVisible()


def test_an_empty_state_has_one_action(page: QWidget, qtbot: QtBot) -> None:
    state = EmptyState("cube", "No model yet", "One fits here.", "Install", parent=page)
    state.show()
    with qtbot.waitSignal(state.acted):
        button(state, "empty_action").click()
    state.set_words("Nothing found")
    assert not button(state, "empty_action").isVisible()
    assert [words.text() for words in state.findChildren(QLabel) if words.isVisible()][1:] == [
        "Nothing found"
    ]


@pytest.mark.parametrize(("fraction", "value"), [(-1, 0), (0.25, 250), (7, 1000)])
def test_progress_has_a_number_in_words(fraction: float, value: int, page: QWidget) -> None:
    line = ProgressLine(page)
    line.set_progress(fraction, "312 of 1,024 MB")
    bar = line.findChild(QProgressBar)
    assert bar is not None
    assert bar.value() == value
    assert bar.accessibleName() == "312 of 1,024 MB"


def test_a_menu_is_translucent_and_named(page: QWidget) -> None:
    made = menu(page, object_name="more")
    assert made.objectName() == "more"
    assert made.testAttribute(Qt.WidgetAttribute.WA_TranslucentBackground)


def test_everything_to_press_has_a_name(page: QWidget) -> None:
    toast = Toast(page)
    toast.show_text("Deleted.", "Undo")
    box = ErrorBox(page)
    box.show_error("No.", action="Retry", details="x")
    EmptyState("cube", "None", "", "Add", parent=page)
    buttons = page.findChildren(QAbstractButton)
    assert len(buttons) >= 5
    for found in buttons:
        assert found.objectName(), found
        assert found.accessibleName(), found.objectName()
        assert found.toolTip() or isinstance(found, QPushButton), found.objectName()


def test_the_palette_reaches_what_no_rule_reaches(qapp: QApplication) -> None:
    for tokens in (LIGHT, DARK):
        colours = palette(tokens)
        assert colours.text().color().name().upper() == tokens.ink
        assert colours.placeholderText().color().name().upper() == tokens.soft


def test_a_frame_may_be_destroyed_while_its_field_has_the_focus(qapp) -> None:
    """Ended the process once: the ring was drawn on a frame that was half gone."""
    for delete in (lambda frame: frame.deleteLater(), lambda frame: None):
        composer = Composer()
        composer.show()
        composer.activateWindow()
        composer.editor.setFocus()
        QApplication.processEvents()
        assert composer.editor.hasFocus()
        delete(composer)
        del composer
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
        gc.collect()
