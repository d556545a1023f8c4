"""An attachment's text, to read and to copy."""

from collections.abc import Callable

from PySide6.QtCore import Signal
from PySide6.QtGui import QTextOption
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from app.attachments import Attachment
from app.theme import UNIT, code_font
from app.widgets.chat.copy_button import CopyButton
from app.widgets.common.buttons import plain_button
from app.widgets.common.labels import label

SHOWN_CHARACTERS = 50_000
"""Qt lays out so much in a moment, whatever it is."""
_SIZE = (640, 480)


class AttachmentView(QDialog):
    """Opens over the window, closes by Escape.

    Signals:
        move_requested(): the text should be written into the message instead.
    """

    move_requested = Signal()

    def __init__(
        self, attachment: Attachment, text: Callable[[], str], *, can_move: bool, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.setObjectName("attachment_view")
        self.setWindowTitle(attachment.name)
        self.resize(*_SIZE)
        self._text = text
        whole = text()
        field = QPlainTextEdit(self)
        field.setReadOnly(True)
        field.setAccessibleName(attachment.name)
        field.setFont(code_font())
        field.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        field.setPlainText(whole[:SHOWN_CHARACTERS])
        foot = QHBoxLayout()
        if len(whole) > SHOWN_CHARACTERS:
            words = self.tr("The first {0} of {1} characters").format(
                f"{SHOWN_CHARACTERS:,}", f"{len(whole):,}"
            )
            foot.addWidget(label(words, "soft"))
        foot.addStretch(1)
        if can_move and len(whole) <= SHOWN_CHARACTERS:
            move = plain_button(self.tr("Put into the message"), object_name="move_into_message")
            move.clicked.connect(self.move_requested)
            foot.addWidget(move)
        foot.addWidget(CopyButton(self._copied, object_name="copy_attachment", parent=self))
        close = plain_button(self.tr("Close"), object_name="close_attachment")
        close.clicked.connect(self.accept)
        foot.addWidget(close)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(2 * UNIT, 2 * UNIT, 2 * UNIT, 2 * UNIT)
        layout.setSpacing(2 * UNIT)
        layout.addWidget(field)
        layout.addLayout(foot)

    def _copied(self) -> str:
        return self._text()
