"""Attaching as a user does it: long pastes, files, the view of one, editing; nothing is lost on the way."""

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtWidgets import QAbstractButton, QPlainTextEdit

from app.widgets.chat.attachment_view import SHOWN_CHARACTERS, AttachmentView
from app.widgets.chat.user_message import UserMessage
from engine.errors import SetupError
from tests.gui.test_chat_page import Desk, desk, dressed, finish, type_and_send

pytestmark = pytest.mark.gui
__all__ = ["desk", "dressed"]

LONG = "word " * 4000


def paste(field, text: str) -> None:
    data = QMimeData()
    data.setText(text)
    field.insertFromMimeData(data)


def drop(field, *paths: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    assert field.canInsertFromMimeData(data)
    field.insertFromMimeData(data)


def button(widget, name: str) -> QAbstractButton:
    found = widget.findChild(QAbstractButton, name)
    assert found is not None, name
    return found


def names(desk: Desk) -> list[str]:
    return [item.name for item in desk.page.composer.attachments.items]


def test_a_long_paste_becomes_an_attachment_and_goes_with_the_message(desk: Desk, qtbot) -> None:
    composer = desk.page.composer
    paste(composer.editor, "short")
    paste(composer.editor, LONG)
    paste(composer.editor, LONG + "2")
    assert composer.text == "short"
    assert names(desk) == ["Pasted text", "Pasted text 2"]
    assert composer.attachments.isVisible()
    type_and_send(desk, qtbot, ", please")
    assert names(desk) == []
    asked = desk.streams.requests[0].messages[0].content
    assert (
        asked
        == f"Pasted text:\n```\n{LONG}\n```\n\nPasted text 2:\n```\n{LONG}2\n```\n\nshort, please"
    )
    finish(desk, qtbot, "Read.")
    type_and_send(desk, qtbot, "And?")
    assert desk.streams.requests[1].messages[0].content == asked, "later turns read it again"


@pytest.mark.parametrize(
    "text",
    ["w " * 500_000, "line\n" * 200_000, "\U0001f600" * 100_000, "שלום " * 200_000, "`" * 10**6,
     "[" * 10**6, "*" * 10**6, "<" * 10**6],
    ids=["line", "lines", "emoji", "rtl", "ticks", "brackets", "stars", "tags"],
)  # fmt: skip
def test_a_megabyte_is_sent_to_the_letter_without_a_word(desk: Desk, qtbot, text: str) -> None:
    paste(desk.page.composer.editor, text)
    assert desk.page.composer.text == ""
    qtbot.keyClick(desk.page.composer.editor, Qt.Key.Key_Return)
    content = desk.streams.requests[0].messages[0].content
    assert isinstance(content, str)
    assert text.removesuffix("\n") in content
    desk.store.stop()
    attachment = desk.store.messages()[0].attachments[0]
    assert desk.attachments.text(attachment) == text


def test_attachments_belong_to_the_draft(desk: Desk, qtbot, tmp_path: Path) -> None:
    paste(desk.page.composer.editor, LONG)
    conversation = desk.store.conversation
    assert conversation is not None
    desk.page.new_chat()
    assert names(desk) == []
    desk.page.open(conversation.id)
    assert names(desk) == ["Pasted text"]


def test_files_are_dropped_and_those_that_are_no_text_are_named(
    desk: Desk, qtbot, tmp_path: Path
) -> None:
    good, bad = tmp_path / "a & b.md", tmp_path / "photo.jpg"
    good.write_text("# Title", encoding="utf-8")
    bad.write_bytes(b"\xff\xd8\x00")
    said: list[str] = []
    desk.page.said.connect(said.append)
    drop(desk.page.composer.editor, good, bad, tmp_path / "gone.txt")
    assert names(desk) == ["a & b.md"]
    assert [s.split(" ")[0] for s in said] == ["photo.jpg", "gone.txt"]
    chip = button(desk.page.composer, "attachment")
    assert "a && b.md" in chip.text()
    assert "7" in chip.text()


def test_one_is_removed_and_brought_back(desk: Desk, qtbot) -> None:
    paste(desk.page.composer.editor, LONG)
    button(desk.page.composer, "detach").click()
    assert names(desk) == []
    assert not desk.page.composer.send_button.isEnabled()
    button(desk.window.toast, "toast_action").click()
    assert names(desk) == ["Pasted text"]
    assert desk.attachments.text(desk.attachments.items[0]) == LONG


def test_its_text_is_shown_and_may_be_put_into_the_message(desk: Desk, qtbot) -> None:
    paste(desk.page.composer.editor, LONG)
    qtbot.keyClicks(desk.page.composer.editor, "See ")
    button(desk.page.composer, "attachment").click()
    view = desk.page.findChild(AttachmentView)
    assert view is not None
    field = view.findChild(QPlainTextEdit)
    assert field is not None
    assert field.toPlainText() == LONG
    button(view, "move_into_message").click()
    assert desk.page.composer.text == "See " + LONG
    assert names(desk) == []
    conversation = desk.store.conversation
    assert conversation is not None
    assert conversation.draft == "See " + LONG


def test_a_huge_one_shows_its_beginning(desk: Desk, qtbot) -> None:
    paste(desk.page.composer.editor, "x" * (SHOWN_CHARACTERS + 1))
    qtbot.keyClick(desk.page.composer.editor, Qt.Key.Key_Return)
    desk.store.stop()
    message = desk.page.transcript.message(desk.store.messages()[0].id)
    assert message is not None
    button(message, "attachment").click()
    view = desk.page.findChild(AttachmentView)
    assert view is not None
    field = view.findChild(QPlainTextEdit)
    assert field is not None
    assert field.toPlainText() == "x" * SHOWN_CHARACTERS
    assert view.findChild(QAbstractButton, "move_into_message") is None


def test_editing_keeps_removes_and_adds_attachments(desk: Desk, qtbot) -> None:
    paste(desk.page.composer.editor, LONG)
    type_and_send(desk, qtbot, "v1")
    finish(desk, qtbot, "ok")

    def edit() -> UserMessage:
        message = desk.page.transcript.message(desk.store.messages()[0].id)
        assert isinstance(message, UserMessage)
        message.start_editing()
        return message

    paste(edit()._editor.field, "new " * 4000)
    button(desk.page.transcript, "send_edited").click()
    second = desk.store.messages()[0]
    assert [desk.attachments.text(a) for a in second.attachments] == [LONG, "new " * 4000]
    finish(desk, qtbot, "ok")
    editor = edit()._editor
    button(editor, "detach").click()
    button(editor, "send_edited").click()
    assert [desk.attachments.text(a) for a in desk.store.messages()[0].attachments] == [
        "new " * 4000
    ]


def test_a_full_disk_is_said_and_nothing_changes(desk: Desk, qtbot, monkeypatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise SetupError("The disk is full.")

    said: list[str] = []
    desk.page.said.connect(said.append)
    paste(desk.page.composer.editor, LONG)
    with monkeypatch.context() as disk:
        disk.setattr(desk.history, "attach", full)
        disk.setattr(desk.history, "detach", full)
        paste(desk.page.composer.editor, LONG)
        button(desk.page.composer, "detach").click()
    assert said == ["The disk is full."] * 2
    assert names(desk) == ["Pasted text"]
    button(desk.page.composer, "detach").click()
    with monkeypatch.context() as disk:
        disk.setattr(desk.history, "attach", full)
        button(desk.window.toast, "toast_action").click()
    assert said[2:] == ["The disk is full."]
