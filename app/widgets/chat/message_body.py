"""The text of one answer as a column of views: finished blocks, rendered once, and the one still growing.

Zone: app.widgets.chat, used by `message`; `blocks` decides where a block ends. Of a long source only the end is
shown at once: `build` adds what stands above, a few blocks a call, while text may come below.
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
BUILT_VIEWS = 6
BUILT_CHARACTERS = 6000
"""How much is built in one call."""
_PX_PER_CHARACTER = 0.4
"""Guessed height of what is not built yet, for a scroll bar that is about right."""


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
        self._above: list[Block] = []  # not built yet
        self._definitions = ""
        self._growing: MarkdownView | CodeBlock | None = None
        self._views: list[MarkdownView | CodeBlock] = []
        self._columns: list[tuple[QWidget, QVBoxLayout]] = []
        self._width = 0
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(BLOCK_GAP)

    def set_width(self, width: int) -> None:
        """Tell the width in pixels that new views will get, so that they are laid out once."""
        self._width = width

    @property
    def is_built(self) -> bool:
        """All of the source is shown."""
        return not self._above

    def set_source(self, source: str) -> None:
        """Show the end of this source instead of what is shown; more may be appended."""
        for holder, _ in self._columns:
            self._layout.removeWidget(holder)
            holder.hide()
            holder.deleteLater()
        self._columns, self._views, self._growing = [], [], None
        self._definitions = ""
        self._splitter = BlockSplitter()
        self._waiting = []
        self.resize(self._width or self.width(), self.height())  # not to be laid out in Qt's 100 px
        self._above = list(merged(self._splitter.push(source), MERGED_CHARACTERS))
        self.flush()
        self.build()

    def build(self) -> None:
        """Show some more of the source, above what is shown."""
        characters = 0
        for _ in range(BUILT_VIEWS):
            if not self._above or characters > BUILT_CHARACTERS:
                break
            block = self._above.pop()
            characters += len(block.source)
            self._show_block(self._new_view(block, is_above=True), block)
        left = sum(len(block.source) for block in self._above)
        self._layout.setContentsMargins(0, int(left * _PX_PER_CHARACTER), 0, 0)

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
        self._definitions = definitions(source)
        for view in self._views:
            if isinstance(view, MarkdownView):
                linked = self._linked(view.shown_source)
                if linked != view.shown_source:
                    view.show_markdown(linked)

    def _linked(self, markdown: str) -> str:
        """With the link definitions of the whole source, if it may use them."""
        shared = self._definitions
        if not shared or "][" not in markdown or shared in markdown:
            return markdown
        return f"{markdown.rstrip()}\n\n{shared}\n"

    def _finish_block(self, block: Block) -> MarkdownView | CodeBlock:
        view = self._view_for(block)
        self._show_block(view, block)
        self._growing = None
        return view

    def _show_block(self, view: MarkdownView | CodeBlock, block: Block) -> None:
        if isinstance(view, CodeBlock):
            view.finish(block.code, block.language)
        else:
            view.show_markdown(self._linked(block.markdown))

    def _view_for(self, block: Block) -> MarkdownView | CodeBlock:
        wanted = CodeBlock if block.kind == "code" else MarkdownView
        if isinstance(self._growing, wanted):
            return self._growing
        self._growing = self._new_view(block, is_above=False)
        return self._growing

    def _new_view(self, block: Block, *, is_above: bool) -> MarkdownView | CodeBlock:
        holder, column = self._column(is_above=is_above)
        view = CodeBlock(holder) if block.kind == "code" else MarkdownView(holder)
        if isinstance(view, MarkdownView):
            view.link_clicked.connect(self.link_clicked)
        indent = 3 * UNIT * ((block.indent + 2) // 3)
        view.resize(max(self._width - indent, UNIT), view.height())
        at = 0 if is_above else column.count()
        if indent:
            row = QHBoxLayout()
            row.addSpacing(indent)
            row.addWidget(view)
            column.insertLayout(at, row)
        else:
            column.insertWidget(at, view)
        view.show()  # Qt would do so one round of events later
        self._views.append(view)
        return view

    def _column(self, *, is_above: bool) -> tuple[QWidget, QVBoxLayout]:
        """The first or the last, in which there is room."""
        if self._columns:
            last = self._columns[0 if is_above else -1]
            if last[1].count() < VIEWS_PER_COLUMN:
                return last
        holder = QWidget(self)
        holder.resize(self._width, 0)
        column = QVBoxLayout(holder)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(BLOCK_GAP)
        at = 0 if is_above else len(self._columns)
        self._layout.insertWidget(at, holder)
        holder.show()
        self._columns.insert(at, (holder, column))
        return holder, column
