"""Where the user writes: the text, the model that answers, how full the context is, Send or Stop."""

import re
from collections.abc import Sequence

from PySide6.QtCore import QMimeData, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeyEvent, QResizeEvent, QTextCursor, QTextOption
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPlainTextEdit, QVBoxLayout, QWidget

from app.attachments import Attachment
from app.theme import UNIT
from app.widgets.chat.attachment_row import AttachmentRow
from app.widgets.chat.gauge import Gauge
from app.widgets.common.buttons import chip_button, describe, icon_button
from app.widgets.common.focus import FocusWithin

_LEAST_HEIGHT, _MOST_HEIGHT = 48, 220
_MEASURED_BLOCKS = 40
"""Past so many lines the editor is at its full height anyway; measuring more would cost time."""

PAUSE_MS, GOING_ON_MS = 300, 500
"""Without a key so long, or typing on so long: time to tell what is written so far."""

_LONG = 10_000
"""Characters; a longer paste is better beside the text than in it."""
_LONG_WORD = re.compile(rf"\S{{{_LONG}}}")
"""Qt looks for a place between words anew in each line: 1 MB without a space would take a minute."""


class Editor(QPlainTextEdit):
    """Grows with its text. Return sends, Shift+Return breaks the line.

    Signals:
        submitted(): Return was pressed outside an input method's composition.
        long_pasted(str text): a text came that is too long for a text field; it was not put in.
        files_given(list paths): local files were pasted or dropped.
    """

    submitted = Signal()
    long_pasted = Signal(str)
    files_given = Signal(list)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("composer_text")
        self.setTabChangesFocus(True)
        self.textChanged.connect(self._fit)
        self._fit()

    def _fit(self) -> None:
        document = self.document()
        if document.blockCount() > _MEASURED_BLOCKS or document.characterCount() > _LONG:
            wanted = _MOST_HEIGHT
        else:
            lines = document.size().height()  # QPlainTextEdit counts in lines
            wanted = round(lines * self.fontMetrics().lineSpacing()) + 2 * UNIT
        self.setFixedHeight(max(_LEAST_HEIGHT, min(_MOST_HEIGHT, wanted)))

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        """Qt's hook: may it be dropped here?"""
        return source.hasUrls() or super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Qt's hook: paste and drop. Not in the text field: Qt lays out 1 MB on one line anew at each key."""
        files = [url.toLocalFile() for url in source.urls() if url.isLocalFile()]
        if files:
            self.files_given.emit(files)
        elif len(text := source.text()) > _LONG:
            self.long_pasted.emit(text)
        else:
            super().insertFromMimeData(source)

    def insert_at_cursor(self, text: str) -> None:
        """Put `text` where the user writes."""
        if _LONG_WORD.search(text):
            self.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        self.insertPlainText(text)
        self.setFocus()

    def replace_text(self, text: str) -> None:
        """Put `text` in place of everything, and forget what could be undone."""
        is_long = _LONG_WORD.search(text)
        if is_long:
            self.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        self.setPlainText(text)
        if not is_long:  # not before: what was there would be laid out once more
            self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.moveCursor(QTextCursor.MoveOperation.End)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        is_return = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if is_return and not event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.submitted.emit()
            return
        super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()


class Composer(QFrame):
    """The frame at the foot of the chat page.

    Signals:
        submitted(str text): the user wants this sent.
        stop_requested(): the user wants the answer stopped.
        text_changed(): the draft changed.
        paused(str text): the draft or what goes along changed, and now is a moment to look at it.
        model_menu_requested(): the model chip was pressed.
        attach_requested(): the user wants to choose files.
    """

    submitted = Signal(str)
    stop_requested = Signal()
    text_changed = Signal()
    paused = Signal(str)
    model_menu_requested = Signal()
    attach_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("composer")
        self._busy = False
        self.editor = Editor(self)
        self.editor.setAccessibleName(self.tr("Message"))
        self.editor.setPlaceholderText(self.tr("Ask anything. Nothing leaves this machine."))
        self.attachments = AttachmentRow(can_remove=True, parent=self)
        self._attach = icon_button(
            "paperclip", self.tr("Attach text files (Ctrl+U)"), object_name="attach", size=18
        )
        self.chip = chip_button("", object_name="model_chip", icon_name="cube")
        self.chip.setAccessibleName(self.tr("Model"))
        self.chip.setToolTip(self.tr("Choose the model (Ctrl+M)"))
        self.context_label = QLabel()
        self.context_label.setProperty("role", "soft")
        self.context_label.setTextFormat(Qt.TextFormat.PlainText)
        self.gauge = Gauge(self)
        self.send_button = icon_button("arrow-up", "", object_name="send", size=18)
        self.send_button.set_tone("on_ember")
        foot = QHBoxLayout()
        foot.setSpacing(UNIT)
        foot.addWidget(self._attach)
        foot.addWidget(self.chip)
        foot.addStretch(1)
        foot.addWidget(self.context_label)
        foot.addWidget(self.gauge)
        foot.addWidget(self.send_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(14, 10, 10, UNIT)
        layout.setSpacing(0)
        layout.addWidget(self.attachments)
        layout.addWidget(self.editor)
        layout.addLayout(foot)
        FocusWithin(self, self.editor)
        self._pause, self._going_on = self._timer(PAUSE_MS), self._timer(GOING_ON_MS)
        self.editor.submitted.connect(self._submit)
        self.editor.textChanged.connect(self._on_text)
        self.send_button.clicked.connect(self._on_button)
        self.chip.clicked.connect(self.model_menu_requested)
        self._attach.clicked.connect(self.attach_requested)
        self.set_context(0, 0)
        self.set_busy(busy=False)

    def minimumSizeHint(self) -> QSize:
        return QSize(320, super().minimumSizeHint().height())

    @property
    def text(self) -> str:
        """What is typed."""
        return self.editor.toPlainText()

    def set_text(self, text: str) -> None:
        """Replace what is typed; the cursor goes to its end."""
        self.editor.replace_text(text)

    def show_attachments(self, items: Sequence[Attachment]) -> None:
        """Show what goes along with the text."""
        self.attachments.show_items(items)
        self._update_button()
        self._expect_pause()

    @property
    def _can_send(self) -> bool:
        return bool(self.text.strip() or self.attachments.items)

    def set_busy(self, *, busy: bool) -> None:
        """Send becomes Stop while an answer is written."""
        self._busy = busy
        self.send_button.set_icon("stop" if busy else "arrow-up")
        tip = self.tr("Stop (Esc)") if busy else self.tr("Send (Return)")
        describe(self.send_button, tip)
        self._update_button()

    def set_model(self, name: str, note: str = "") -> None:
        """Name the model that answers, with what it is doing."""
        shown = name or self.tr("No model")
        self.chip.setText(f"{shown} · {note} ▾" if note else f"{shown} ▾")

    def set_context(self, used: int, total: int) -> None:
        """Show how full the context is, in tokens; 0 of 0 hides it."""
        self.gauge.setVisible(total > 0)
        self.context_label.setVisible(total > 0)
        self.gauge.set_fraction(used / total if total else 0.0)
        self.context_label.setText(self.tr("{0} of {1}").format(f"{used:,}", f"{total:,}"))
        tip = self.tr("Tokens of this conversation in the context")
        self.context_label.setToolTip(tip)
        self.gauge.setToolTip(tip)

    def _update_button(self) -> None:
        self.send_button.setEnabled(self._busy or self._can_send)

    def _on_text(self) -> None:
        self._update_button()
        self._expect_pause()
        self.text_changed.emit()

    def _timer(self, ms: int) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.setInterval(ms)
        timer.timeout.connect(self._tell_paused)
        return timer

    def _expect_pause(self) -> None:
        self._pause.start()
        if not self._going_on.isActive():
            self._going_on.start()

    @Slot()
    def _tell_paused(self) -> None:
        self._pause.stop()
        self._going_on.stop()
        self.paused.emit(self.text)

    def _on_button(self) -> None:
        if self._busy:
            self.stop_requested.emit()
        else:
            self._submit()

    def _submit(self) -> None:
        if not self._busy and self._can_send:
            self.submitted.emit(self.text)
