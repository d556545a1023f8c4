"""The text of one answer as a column of views: finished blocks, rendered once, and the one still growing.

Zone: app.widgets.chat, used by `message`; `blocks` decides where a block ends.
"""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.theme import UNIT
from app.widgets.chat.blocks import Block, BlockSplitter, definitions, merged
from app.widgets.chat.code_block import CodeBlock
from app.widgets.chat.markdown_view import MarkdownView
from app.widgets.chat.text_document import BLOCK_GAP

MERGED_CHARACTERS = 8000
"""A finished text is shown in views of about this size: fewer widgets, longer selections."""

VIEWS_PER_COLUMN = 24
"""Views are stacked in columns of this many, so that a growing view moves few others in a long answer."""


class MessageBody(QWidget):
    """Takes source, shows blocks.

    Signals:
        link_clicked(str address): an http or https link was clicked.
    """

    link_clicked = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._splitter = BlockSplitter()
        self._waiting: list[Block] = []
        self._growing: MarkdownView | CodeBlock | None = None
        self._views: list[MarkdownView | CodeBlock] = []
        self._holders: list[QWidget] = []
        self._column: QVBoxLayout | None = None
        self._width = 0
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(BLOCK_GAP)

    def set_width(self, width: int) -> None:
        """Tell the width in pixels that new views will get, so that they are laid out once."""
        self._width = width

    def set_source(self, source: str) -> None:
        """Show this source instead of what is shown; more may be appended."""
        for holder in self._holders:
            self._layout.removeWidget(holder)
            holder.hide()
            holder.deleteLater()
        self._holders = []
        self._views, self._growing, self._column = [], None, None
        self._splitter = BlockSplitter()
        self._waiting = list(merged(self._splitter.push(source), MERGED_CHARACTERS))
        self.flush()

    def append(self, text: str) -> None:
        """Take more source; `flush` shows it."""
        self._waiting += self._splitter.push(text)

    def flush(self) -> None:
        """Show what has come in."""
        for block in self._waiting:
            self._finish_block(block)
        self._waiting = []
        tail = self._splitter.tail
        if tail.blank:
            return
        view = self._view_for(tail)
        if isinstance(view, CodeBlock):
            view.show_live(tail.code, tail.language)
        else:
            view.show_live(tail.markdown)

    def finish(self, source: str) -> None:
        """The whole source has come: render its last block, and links defined elsewhere in it."""
        self.flush()
        tail = self._splitter.tail
        if not tail.blank:
            # It stays the growing one: an answer that was stopped may go on.
            self._growing = self._finish_block(tail)
        shared = definitions(source)
        if not shared:
            return
        for view in self._views:
            if (
                isinstance(view, MarkdownView)
                and "][" in view.shown_source
                and shared not in view.shown_source
            ):
                view.show_markdown(f"{view.shown_source.rstrip()}\n\n{shared}\n")

    def _finish_block(self, block: Block) -> MarkdownView | CodeBlock:
        view = self._view_for(block)
        if isinstance(view, CodeBlock):
            view.finish(block.code, block.language)
        else:
            view.show_markdown(block.markdown)
        self._growing = None
        return view

    def _view_for(self, block: Block) -> MarkdownView | CodeBlock:
        wanted = CodeBlock if block.kind == "code" else MarkdownView
        if isinstance(self._growing, wanted):
            return self._growing
        if self._column is None or len(self._views) % VIEWS_PER_COLUMN == 0:
            self._column = self._new_column()
        holder = self._holders[-1]
        view = CodeBlock(holder) if block.kind == "code" else MarkdownView(holder)
        if isinstance(view, MarkdownView):
            view.link_clicked.connect(self.link_clicked)
        indent = 3 * UNIT * ((block.indent + 2) // 3)
        view.resize(max(self._width - indent, UNIT), view.height())
        if indent:
            row = QHBoxLayout()
            row.addSpacing(indent)
            row.addWidget(view)
            self._column.addLayout(row)
        else:
            self._column.addWidget(view)
        view.show()  # Qt would do so one round of events later
        self._growing = view
        self._views.append(view)
        return view

    def _new_column(self) -> QVBoxLayout:
        holder = QWidget(self)
        column = QVBoxLayout(holder)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(BLOCK_GAP)
        self._layout.addWidget(holder)
        holder.show()
        self._holders.append(holder)
        return column
