"""A code block of an answer: language, Copy, the code itself with its keywords coloured.

Zone: app.widgets.chat. Colouring runs once, when the finished block is first seen, in slices between events.
What is copied is the source of `blocks.Block`, never what the display made of it.
"""

import math
import re
import time
from collections.abc import Iterator

from PySide6.QtCore import QEvent, QMimeData, Qt, QTimer, Slot
from PySide6.QtGui import (
    QColor,
    QKeyEvent,
    QPaintEvent,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextLayout,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from app.theme import UNIT, Tokens, code_font, shown_tokens
from app.widgets.chat.copy_button import CopyButton
from app.widgets.chat.highlight import LINE_LIMIT, Role, Span, spans
from app.widgets.common.labels import label

MAX_LINES = 400
"""Longer code scrolls within its card, so that only what is seen is laid out."""
_DATA_LINES = 24
_SLICE_S = 0.004
_SCROLL_BAR = 12
_PAGING = {Qt.Key.Key_PageUp, Qt.Key.Key_PageDown, Qt.Key.Key_Home, Qt.Key.Key_End}
# What Qt takes for the end of a paragraph, or for its own marks.
_LINE_ENDS = re.compile("\r\n|\r|\u2029")
_MARKS = re.compile("[\x00\ufdd0\ufdd1]")


class CodeBlock(QFrame):
    """Shows a code block while it grows and after; once finished, it is coloured when it is seen."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("codecard")
        self._code = ""
        self._is_finished = False
        self._language = label(role="soft")
        self._copy = CopyButton(self._copied, object_name="copy_code")
        self._text = _CodeText()
        self._reader: Iterator[Span] | None = None
        self._line: QTextBlock | None = None
        self._found: list[Span] = []
        self._tokens = shown_tokens()
        self._timer = QTimer(self)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._colour_some)
        head = QHBoxLayout()
        head.addWidget(self._language)
        head.addStretch(1)
        head.addWidget(self._copy)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(14, UNIT // 2, UNIT, 12)
        layout.setSpacing(0)
        layout.addLayout(head)
        layout.addWidget(self._text)

    @property
    def code(self) -> str:
        """The source between the fences."""
        return self._code

    def show_live(self, code: str, language: str) -> None:
        """Show code that still grows."""
        self._name(language)
        self._text.show_code(code)
        self._code = code

    def finish(self, code: str, language: str) -> None:
        """Show the code for good."""
        self.show_live(code, language)
        self._is_finished = True
        self._colour()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt's hook: of many blocks, only those in sight are coloured."""
        super().paintEvent(event)
        if self._reader is not None and not self._timer.isActive():
            self._timer.start()

    def changeEvent(self, event: QEvent) -> None:
        """Qt's hook: colours lie in the text's layout, so another theme means colouring again."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and shown_tokens() != self._tokens:
            self._tokens = shown_tokens()
            if self._is_finished:
                self._colour()
        elif event.type() == QEvent.Type.LanguageChange:
            self._name(self._language.text())

    def _copied(self) -> str:
        return self._code

    def _name(self, language: str) -> None:
        self._language.setText(language)
        self._text.setAccessibleName(self.tr("Code {0}").format(language).strip())

    def _colour(self) -> None:
        self._reader = spans(_displayed(self._code), self._language.text().lower())
        self._line = self._text.document().begin()
        self._found = []
        self.update()

    @Slot()
    def _colour_some(self) -> None:
        end = time.perf_counter() + _SLICE_S
        formats = _formats(self._tokens)
        while self._reader is not None and time.perf_counter() < end:
            span = next(self._reader, None)
            if self._found and (span is None or span.line != self._found[0].line):
                self._apply(formats)
            if span is None:
                self._reader = None
            else:
                self._found.append(span)
        if self._reader is None:
            self._timer.stop()

    def _apply(self, formats: dict[Role, QTextCharFormat]) -> None:
        line = self._line
        while line is not None and line.isValid() and line.blockNumber() < self._found[0].line:
            line = line.next()
        self._line = line
        ranges = []
        for span in self._found:
            one = QTextLayout.FormatRange()
            one.start, one.length, one.format = span.start, span.length, formats[span.role]
            ranges.append(one)
        self._found = []
        if line is not None and line.isValid():
            line.layout().setFormats(ranges)
            self._text.document().markContentsDirty(line.position(), line.length())


class _CodeText(QPlainTextEdit):
    """The code, as tall as its lines, scrolling sideways."""

    def __init__(self) -> None:
        super().__init__()
        self._shown = ""
        self._cuts: set[int] = set()
        self._is_data = False
        self.setObjectName("code")
        self.setReadOnly(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setUndoRedoEnabled(False)
        self.setTabChangesFocus(True)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setStyleSheet(
            "QPlainTextEdit, QPlainTextEdit:hover, QPlainTextEdit:focus "
            "{ background: transparent; border: 0; padding: 0; border-radius: 0; min-height: 0; }"
        )
        self.setFont(code_font())
        self.setTabStopDistance(4 * self.fontMetrics().horizontalAdvance(" "))
        self.document().setDocumentMargin(0)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.horizontalScrollBar().rangeChanged.connect(self._fit)
        self._fit()

    def show_code(self, code: str) -> None:
        """Show code; what only grew is appended."""
        shown, self._cuts = _cut(_displayed(code))
        if shown == self._shown:
            return
        if not self._is_data and self._cuts:
            self._is_data = True
            self.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        if self._shown and shown.startswith(self._shown):
            cursor = QTextCursor(self.document())
            cursor.movePosition(QTextCursor.MoveOperation.End)
            cursor.insertText(shown[len(self._shown) :])
        else:
            self.setPlainText(shown)
        self._shown = shown
        self._fit()

    def createMimeDataFromSelection(self) -> QMimeData:
        """Qt's hook: what was cut for display is copied in one line."""
        cursor = self.textCursor()
        number = self.document().findBlock(cursor.selectionStart()).blockNumber()
        lines = cursor.selectedText().split("\u2029")
        ends = ["" if number + i in self._cuts else "\n" for i in range(1, len(lines))]
        data = QMimeData()
        data.setText("".join(line + end for line, end in zip(lines, [*ends, ""], strict=True)))
        return data

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Qt's hook: up and down belong to the transcript, unless the code is cut to MAX_LINES."""
        sideways = abs(event.angleDelta().x()) > abs(event.angleDelta().y())
        if sideways or self.verticalScrollBar().maximum() > 0:
            super().wheelEvent(event)
        else:
            event.ignore()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt's hook: paging belongs to the transcript."""
        if Qt.Key(event.key()) in _PAGING and not event.modifiers():
            event.ignore()
        else:
            super().keyPressEvent(event)

    @Slot()
    def _fit(self) -> None:
        document = self.document()
        lines, limit = document.blockCount(), _DATA_LINES if self._is_data else MAX_LINES
        is_cut = self._is_data or lines > limit
        if is_cut or self._shown.isascii():
            line = float(self.fontMetrics().lineSpacing())
            if not self._is_data:
                line = max(line, self.blockBoundingRect(document.begin()).height())
            height = line * (limit if self._is_data else min(lines, limit))
        else:  # other scripts bring fonts with higher lines
            height, block = 0.0, document.begin()
            while block.isValid():
                height += self.blockBoundingRect(block).height()
                block = block.next()
        policy = Qt.ScrollBarPolicy
        self.setVerticalScrollBarPolicy(
            policy.ScrollBarAsNeeded if is_cut else policy.ScrollBarAlwaysOff
        )
        bar = _SCROLL_BAR if self.horizontalScrollBar().maximum() > 0 else 0
        self.setFixedHeight(math.ceil(height) + bar + 2)


def _displayed(code: str) -> str:
    return _MARKS.sub("\ufffd", _LINE_ENDS.sub("\n", code))


def _cut(text: str) -> tuple[str, set[int]]:
    """The text with overlong lines in pieces, as Qt lays out a line as a whole; which lines go on with the one before."""
    lines: list[str] = []
    cuts: set[int] = set()
    for line in text.split("\n"):
        pieces = [line[at : at + LINE_LIMIT] for at in range(0, len(line), LINE_LIMIT)] or [""]
        cuts.update(range(len(lines) + 1, len(lines) + len(pieces)))
        lines += pieces
    return "\n".join(lines), cuts


def _formats(tokens: Tokens) -> dict[Role, QTextCharFormat]:
    colours: dict[Role, str] = {
        "keyword": tokens.ember,
        "string": tokens.good,
        "number": tokens.warn,
        "comment": tokens.soft,
    }
    result = {}
    for role, colour in colours.items():
        result[role] = QTextCharFormat()
        result[role].setForeground(QColor(colour))
    return result
