"""What the user said: a bubble on the right, with editing in place. Always plain text."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QMimeData, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QTextCursor
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from app.attachments import Attachment
from app.theme import UNIT
from app.widgets.chat.attachment_row import AttachmentRow
from app.widgets.chat.composer import Editor
from app.widgets.chat.copy_button import CopyButton
from app.widgets.chat.markdown_view import MarkdownView
from app.widgets.chat.message import Message
from app.widgets.chat.versions import Versions
from app.widgets.common.buttons import (
    PushButton,
    describe,
    icon_button,
    plain_button,
    primary_button,
)
from app.widgets.common.focus import FocusWithin

BUBBLE_WIDTH = 520
CUT_CHARACTERS = 4000
"""A longer message shows its beginning, until all of it is asked for."""


class UserMessage(QWidget):
    """Shows a message of the user's.

    Signals:
        edited(str text, object attachments): the message should be sent again, with these instead.
        edit_changed(object text): what is being typed instead; None: editing was given up.
        sibling_requested(int step): the version before (-1) or after (1) is wanted.
        attachment_opened(object Attachment): its text is wanted.
    """

    edited = Signal(str, object)
    edit_changed = Signal(object)
    sibling_requested = Signal(int)
    attachment_opened = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("question")
        self._content = ""
        self._width = BUBBLE_WIDTH
        self._versions: Versions | None = None
        self._edit = icon_button("pencil-simple", "", object_name="edit", size=16, parent=self)
        self._edit.clicked.connect(self.start_editing)
        self.copy = CopyButton(self._copied, object_name="copy_question", parent=self)
        self._text = MarkdownView()
        self._more: PushButton | None = None
        self._bubble = QFrame(self)
        self._bubble.setObjectName("bubble")
        self._inside = QVBoxLayout(self._bubble)
        self._inside.setContentsMargins(2 * UNIT, 8, 2 * UNIT, 12)
        self._attachments = AttachmentRow(can_remove=False, parent=self._bubble)
        self._attachments.opened.connect(self.attachment_opened)
        self._inside.addWidget(self._attachments)
        self._inside.addWidget(self._text)
        self._shown = QWidget(self)
        self._row = QHBoxLayout(self._shown)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(2)
        self._row.addStretch(1)
        for widget in (self._edit, self.copy):
            self._row.addWidget(widget, alignment=Qt.AlignmentFlag.AlignBottom)
        self._row.addSpacing(UNIT // 2)
        self._row.addWidget(self._bubble)
        self._editor: _Editor | None = None
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.addWidget(self._shown)
        self._retranslate()

    @property
    def content(self) -> str:
        """The text as it was sent."""
        return self._content

    def set_width(self, width: int) -> None:
        """Tell the width in pixels that the message will get."""
        self._width = width
        self._fit()

    def set_message(self, message: Message) -> None:
        """Show a message."""
        self._content = message.content
        self._attachments.show_items(message.attachments)
        self._text.show_plain(message.content[:CUT_CHARACTERS])
        self._text.setVisible(bool(message.content.strip()))
        if len(message.content) > CUT_CHARACTERS:
            self._offer_all()
        elif self._more is not None:
            self._more.hide()
        if message.num_siblings > 1 and self._versions is None:
            self._versions = Versions(self)
            self._versions.step_requested.connect(self.sibling_requested)
            self._row.insertWidget(1, self._versions, alignment=Qt.AlignmentFlag.AlignBottom)
        if self._versions is not None:
            self._versions.show_place(message.sibling, message.num_siblings)
        self._retranslate()
        self._fit()

    @Slot()
    def start_editing(self) -> None:
        """Turn the bubble into a text field."""
        field = self._editing(self._content).field
        field.moveCursor(QTextCursor.MoveOperation.End)
        field.setFocus()

    def resume_editing(self, text: str) -> None:
        """Go on with an edit that was begun before; the focus stays where it is."""
        self._editing(text)

    def _editing(self, text: str) -> "_Editor":
        if self._editor is None:
            self._editor = _Editor(text, self._attachments.items, self)
            self._editor.opened.connect(self.attachment_opened)
            self._editor.sent.connect(self._send)
            self._editor.cancelled.connect(self._stop_editing)
            self._editor.changed.connect(self.edit_changed)
            self._layout.addWidget(self._editor)
        self._shown.hide()
        return self._editor

    def changeEvent(self, event: QEvent) -> None:
        """Qt's hook."""
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
        super().changeEvent(event)

    def _copied(self) -> str:
        return self._content

    @Slot(str, object)
    def _send(self, text: str, attachments: Sequence[Attachment]) -> None:
        # Stays open: only when the message is saved is the conversation shown anew, without it.
        if text.strip() or attachments:
            self.edited.emit(text, attachments)

    @Slot()
    def _stop_editing(self) -> None:
        if self._editor is not None:
            self._editor.deleteLater()
            self._editor = None
            self.edit_changed.emit(None)
        self._shown.show()
        self._edit.setFocus()

    def _offer_all(self) -> None:
        if self._more is None:
            self._more = plain_button("", object_name="show_all", parent=self)
            self._more.clicked.connect(self._show_all)
            self._inside.addWidget(self._more, alignment=Qt.AlignmentFlag.AlignLeft)
        self._more.show()

    @Slot()
    def _show_all(self) -> None:
        if self._more is not None:
            self._more.hide()
        self._text.show_plain(self._content)
        self._fit()

    def _fit(self) -> None:
        """As narrow as the text, at most `BUBBLE_WIDTH` and what the window has."""
        room = min(BUBBLE_WIDTH, self._width - 96) - 4 * UNIT
        self._text.setFixedWidth(max(min(room, self._text.ideal_width() + 1), 3 * UNIT))

    def _retranslate(self) -> None:
        self.setAccessibleName(self.tr("Your message"))
        describe(self._edit, self.tr("Edit and send again"))
        if self._more is not None:
            words = self.tr("Show all {0} characters").format(f"{len(self._content):,}")
            self._more.setText(words)
            self._more.setAccessibleName(words)
            self._more.setToolTip(words)


class _Editor(QFrame):
    """A text field with Send and Cancel, and the message's attachments."""

    sent = Signal(str, object)
    cancelled = Signal()
    changed = Signal(object)
    opened = Signal(object)

    def __init__(self, text: str, attachments: Sequence[Attachment], parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("composer")
        self._attachments = AttachmentRow(can_remove=True, parent=self)
        self._attachments.show_items(attachments)
        self._attachments.removed.connect(self._remove)
        self._attachments.opened.connect(self.opened)
        self.field = _Field(text, self)
        self.field.submitted.connect(self._send)
        self.field.long_pasted.connect(self._paste)
        self.field.textChanged.connect(self._tell)
        self.field.escaped.connect(self.cancelled)
        self.focus = FocusWithin(self, self.field)
        send = primary_button(self.tr("Send"), object_name="send_edited", parent=self)
        send.setToolTip(self.tr("Send again (Enter)"))
        send.clicked.connect(self._send)
        cancel = plain_button(self.tr("Cancel"), object_name="cancel_edit", parent=self)
        cancel.setToolTip(self.tr("Leave the message as it is (Esc)"))
        cancel.clicked.connect(self.cancelled)
        buttons = QHBoxLayout()
        buttons.setSpacing(UNIT)
        buttons.addStretch(1)
        buttons.addWidget(cancel)
        buttons.addWidget(send)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(14, 10, 10, 10)
        layout.addWidget(self._attachments)
        layout.addWidget(self.field)
        layout.addLayout(buttons)

    @Slot()
    def _send(self) -> None:
        self.sent.emit(self.field.toPlainText(), self._attachments.items)

    @Slot()
    def _tell(self) -> None:
        self.changed.emit(self.field.toPlainText())

    @Slot(str)
    def _paste(self, text: str) -> None:
        pasted = Attachment.new(self.tr("Pasted text"), text)
        self._attachments.show_items((*self._attachments.items, pasted))

    @Slot(object)
    def _remove(self, attachment: Attachment) -> None:
        """Cancel brings it back."""
        self._attachments.show_items([a for a in self._attachments.items if a is not attachment])


class _Field(Editor):
    """The composer's editor, which Esc leaves. Text only: files are for the composer."""

    escaped = Signal()

    def __init__(self, text: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("edit_question")
        self.setAccessibleName(self.tr("Edit your message"))
        self.setToolTip(self.tr("Enter sends, Shift+Enter begins a line"))
        self.replace_text(text)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        """Qt's hook."""
        return source.hasText() and not source.hasUrls()

    def event(self, event: QEvent) -> bool:
        """Qt's hook: here Esc is no shortcut of the page (which stops the answer)."""
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.key() == Qt.Key.Key_Escape
        ):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt's hook."""
        if event.key() == Qt.Key.Key_Escape:
            self.escaped.emit()
        else:
            super().keyPressEvent(event)
