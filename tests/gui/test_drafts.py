"""Whatever the user has typed, in the composer or in place of a message, is still there afterwards."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from app.widgets.chat.user_message import UserMessage
from engine.errors import SetupError
from tests.gui.test_chat_page import Desk, desk, dressed, finish, type_and_send

pytestmark = pytest.mark.gui
__all__ = ["desk", "dressed"]


def question(desk: Desk) -> UserMessage:
    message = desk.page.transcript.message(desk.store.messages()[0].id)
    assert isinstance(message, UserMessage)
    return message


def asked(desk: Desk, qtbot) -> None:
    type_and_send(desk, qtbot, "Question")
    finish(desk, qtbot, "one")


def edit(desk: Desk, qtbot, text: str) -> None:
    question(desk).start_editing()
    qtbot.keyClicks(question(desk)._editor.field, text)


def edited(desk: Desk) -> str | None:
    editor = question(desk)._editor
    return editor.field.toPlainText() if editor else None


def test_what_is_being_typed_survives_another_answer_an_edit_and_another_version(
    desk: Desk, qtbot
) -> None:
    type_and_send(desk, qtbot, "Question")
    finish(desk, qtbot, "one")
    qtbot.keyClicks(desk.page.composer.editor, "half")
    desk.page.regenerate_last()
    finish(desk, qtbot, "two")
    assert desk.page.composer.text == "half"
    qtbot.keyClicks(desk.page.composer.editor, " a")
    desk.page.transcript.sibling_requested.emit(desk.store.messages()[-1].id, -1)
    assert desk.page.composer.text == "half a"
    qtbot.keyClicks(desk.page.composer.editor, " thought")
    desk.page.transcript.edited.emit(desk.store.messages()[0].id, "Other question", ())
    finish(desk, qtbot, "three")
    assert desk.page.composer.text == "half a thought"
    conversation = desk.store.conversation
    assert conversation is not None
    stored = desk.history.conversation(conversation.id)
    assert stored is not None
    assert stored.draft == "half a thought"


def test_an_edit_that_was_begun_is_there_at_the_next_start(
    desk: Desk, qtbot, tmp_path: Path
) -> None:
    asked(desk, qtbot)
    edit(desk, qtbot, " again")
    qtbot.waitUntil(lambda: desk.store.messages()[0].edit == "Question again", timeout=2000)
    other = Desk(tmp_path)
    qtbot.addWidget(other.window)
    other.window.show()
    other.store.open(desk.store.conversations()[0].id)
    assert edited(other) == "Question again"
    other.close()


def test_an_edit_stays_while_other_chats_are_read(desk: Desk, qtbot) -> None:
    asked(desk, qtbot)
    chat = desk.store.conversations()[0].id
    edit(desk, qtbot, " again")
    desk.page.new_chat()
    desk.page.open(chat)
    assert edited(desk) == "Question again"
    desk.page.regenerate_last()
    finish(desk, qtbot, "two")
    assert edited(desk) == "Question again"


def test_an_edit_that_is_given_up_or_sent_is_gone(desk: Desk, qtbot) -> None:
    asked(desk, qtbot)
    chat = desk.store.conversations()[0].id
    edit(desk, qtbot, " again")
    qtbot.keyClick(question(desk)._editor.field, Qt.Key.Key_Escape)
    desk.page.open(chat)
    assert edited(desk) is None
    edit(desk, qtbot, " and again")
    qtbot.keyClick(question(desk)._editor.field, Qt.Key.Key_Return)
    finish(desk, qtbot, "two")
    assert edited(desk) is None
    desk.page.transcript.sibling_requested.emit(desk.store.messages()[0].id, -1)
    assert (desk.store.messages()[0].content, edited(desk)) == ("Question", None)


def test_an_edit_that_cannot_be_saved_stays_open(desk: Desk, qtbot, monkeypatch) -> None:
    asked(desk, qtbot)
    edit(desk, qtbot, " again")

    def full(*_: object, **__: object) -> None:
        raise SetupError("The disk is full.")

    monkeypatch.setattr(desk.history, "add_user", full)
    with qtbot.waitSignal(desk.store.failed):
        qtbot.keyClick(question(desk)._editor.field, Qt.Key.Key_Return)
    assert edited(desk) == "Question again"
