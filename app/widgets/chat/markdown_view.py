"""One block of text in a message: selectable, as tall as its text, its links opening only on click.

Zone: app.widgets.chat; `text_document` renders. It never scrolls up or down itself: wheel and paging keys
go on to the transcript.
"""

import math
from typing import Any

from PySide6.QtCore import QEvent, QSize, Qt, QUrl, Signal, Slot
from PySide6.QtGui import QKeyEvent, QResizeEvent, QTextCursor, QTextOption, QWheelEvent
from PySide6.QtWidgets import QSizePolicy, QTextBrowser, QWidget

from app.theme import Tokens, shown_tokens, text_font
from app.widgets.chat.text_document import (
    TextDocument,
    has_links,
    is_web,
    markdown_document,
    plain_document,
)
from app.widgets.common.buttons import Tone

LIVE_LIMIT = 4000
"""Longer blocks are plain text while they grow, so that an update costs the same however long they are."""
LIVE_CELLS = 160
"""Likewise for the cells of a table, which cost Qt more than other text."""
PLAIN_CELLS = 2000
"""A source with more cell borders than this is shown as it is: Qt needs 0.2 ms for every row of a table."""
PLAIN_CHARACTERS = 200_000
_SCROLL_BAR = 12
_PAGING = {Qt.Key.Key_PageUp, Qt.Key.Key_PageDown, Qt.Key.Key_Home, Qt.Key.Key_End}


class MarkdownView(QTextBrowser):
    """Shows Markdown (never HTML) or plain text.

    Signals:
        link_clicked(str address): an http or https link was clicked; nothing was opened.
    """

    link_clicked = Signal(str)

    def __init__(self, parent: QWidget | None = None, *, tone: Tone = "ink") -> None:
        super().__init__(parent)
        self._tone = tone
        self._source = ""
        self._is_plain = False
        self._tokens: Tokens = shown_tokens()
        self.setObjectName("message_text")
        self.setOpenLinks(False)
        self.setFrameShape(QTextBrowser.Shape.NoFrame)
        self.viewport().setAutoFillBackground(False)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextBrowserInteraction
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        # With Qt's own mode every new height would lay all of it out again.
        self.setLineWrapMode(QTextBrowser.LineWrapMode.FixedPixelWidth)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.anchorClicked.connect(self._emit_link)
        self.highlighted.connect(self._show_address)
        self._name()

    @property
    def shown_source(self) -> str:
        """What is shown."""
        return self._source

    def show_markdown(self, source: str) -> None:
        """Render a finished source; very large tables and texts come out as plain text."""
        if source.count("|") > PLAIN_CELLS or len(source) > PLAIN_CHARACTERS:
            self.show_plain(source.strip("\n"))
            return
        if source == self._source and not self._is_plain:
            return
        self._source, self._is_plain = source, False
        self._show(markdown_document(source, text_font(), self._tokens))
        # Tab stops only where there is something to do.
        links = has_links(self.document())
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if links else Qt.FocusPolicy.ClickFocus)

    def show_live(self, source: str) -> None:
        """Show a source that grows, as cheaply as its length needs."""
        if len(source) <= LIVE_LIMIT and source.count("|") <= LIVE_CELLS:
            self.show_markdown(source)
        else:
            self.show_plain(source.strip("\n"))

    def show_plain(self, source: str) -> None:
        """Show the source as it is; what only grew is appended."""
        if self._is_plain and self._source and source.startswith(self._source):
            cursor = QTextCursor(self.document())
            cursor.movePosition(QTextCursor.MoveOperation.End)
            cursor.insertText(source[len(self._source) :])
            self._source = source
            self._fit()
        else:
            self._source, self._is_plain = source, True
            self._show(plain_document(source, text_font(), getattr(self._tokens, self._tone)))

    def ideal_width(self) -> int:
        """Width in pixels at which no line would have to be broken."""
        document = self.document().clone()
        document.setTextWidth(-1)
        return math.ceil(document.idealWidth())

    def loadResource(self, type: int, name: QUrl | str) -> Any:  # noqa: A002 -- Qt's name
        """Qt's hook: nothing is ever loaded."""
        del type, name

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt's hook: another width, another height."""
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._fit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Qt's hook: only sideways, for wide tables."""
        if abs(event.angleDelta().x()) > abs(event.angleDelta().y()):
            super().wheelEvent(event)
        else:
            event.ignore()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt's hook: paging belongs to the transcript."""
        if Qt.Key(event.key()) in _PAGING and not event.modifiers():
            event.ignore()
        else:
            super().keyPressEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        """Qt's hook: colours are part of the document, so another theme means rendering again."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and shown_tokens() != self._tokens:
            self._tokens = shown_tokens()
            source, self._source = self._source, ""
            if self._is_plain:
                self.show_plain(source)
            else:
                self.show_markdown(source)
        elif event.type() == QEvent.Type.LanguageChange:
            self._name()

    def sizeHint(self) -> QSize:
        """Qt's hook."""
        return QSize(self.width(), self.height())

    def minimumSizeHint(self) -> QSize:
        """Qt's hook."""
        return QSize(0, 0)

    def _show(self, document: TextDocument) -> None:
        old = self.document()
        document.setParent(self)
        self.setDocument(document)
        if isinstance(old, TextDocument):
            old.deleteLater()
        self._fit()

    def _fit(self) -> None:
        document = self.document()
        width = self.width()
        if self.lineWrapColumnOrWidth() != width:  # setting the same would lay it out again, too
            self.setLineWrapColumnOrWidth(width)
        size = document.size()
        bar = _SCROLL_BAR if size.width() > width else 0
        self.setFixedHeight(max(1, math.ceil(size.height()) + bar))

    def _name(self) -> None:
        self.setAccessibleName(self.tr("Text"))

    @Slot(QUrl)
    def _emit_link(self, url: QUrl) -> None:
        if is_web(url):
            self.link_clicked.emit(url.toString())

    @Slot(QUrl)
    def _show_address(self, url: QUrl) -> None:
        # Encoded, so that neither markup nor look-alike letters get into the tooltip.
        self.setToolTip(bytes(url.toEncoded().data()).decode("ascii") if is_web(url) else "")
