"""What a repository says of itself, by the renderer of answers: no pictures, no HTML, links on a click only.

Zone: app.widgets.library. Neighbours: `card`, `app.widgets.chat.message_body`.
"""

import re
from typing import Final

from PySide6.QtCore import QTimer, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.theme import UNIT
from app.widgets.chat.blocks import BlockSplitter, merged
from app.widgets.chat.message_body import MessageBody
from app.widgets.common.labels import divider, label
from app.widgets.library.web_page import open_web_page

MOST_CHARACTERS: Final = 40_000
"""The rest can be read on its page."""
_TAG: Final = re.compile(r"<!--.*?-->|</?[a-zA-Z][a-zA-Z0-9-]*(?:\s[^<>]*)?/?>", re.DOTALL)
_BUILD_MS: Final = 20


class Readme(QWidget):
    """The text, under a title."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._source = ""
        self._body = MessageBody()
        self._body.link_clicked.connect(open_web_page)
        self._cut = label(self.tr("The rest is on its page."), "soft")
        self._build = QTimer(self)
        self._build.setInterval(_BUILD_MS)
        self._build.timeout.connect(self._build_more)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT)
        column.addWidget(divider())
        column.addSpacing(UNIT)
        column.addWidget(label(self.tr("From its page"), "title"))
        column.addWidget(self._body)
        column.addWidget(self._cut)

    def show_source(self, source: str) -> None:
        """Show a Markdown text; an empty one hides all of it."""
        self.setVisible(bool(source.strip()))
        if source == self._source:
            return
        self._source = source
        self._cut.setVisible(len(source) > MOST_CHARACTERS)
        shown = without_html(source[:MOST_CHARACTERS])
        self._body.set_source(shown)
        self._body.finish(shown)
        self._build.start()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt's hook."""
        super().resizeEvent(event)
        self._body.set_width(event.size().width())

    @Slot()
    def _build_more(self) -> None:
        self._body.build()
        if self._body.is_built:
            self._build.stop()


def without_html(source: str) -> str:
    """The text without tags and comments, which pages are laid out with; code stays as it is."""
    splitter = BlockSplitter()
    blocks = merged([*splitter.push(source), splitter.tail], len(source))
    return "".join(b.source if b.kind == "code" else _TAG.sub("", b.source) for b in blocks)
