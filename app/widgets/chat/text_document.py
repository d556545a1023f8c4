"""Markdown as a QTextDocument in the look, without a single resource loaded.

Zone: app.widgets.chat, used by `markdown_view`. Pictures become links to themselves, links other than
http and https become plain words, raw HTML stays text. All styling happens before the first layout.
"""

from collections.abc import Iterator
from typing import Any, Final

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrameFormat,
    QTextLength,
    QTextTable,
)

from app.theme import TYPE, UNIT, Tokens, code_font

LINE_HEIGHT: Final = 1.5 * TYPE["body"]
"""Least height of a line in logical pixels; taller glyphs get what they need."""
BLOCK_GAP: Final = UNIT + UNIT // 2
"""Between paragraphs, and between the blocks of a message."""
_FEATURES = (
    QTextDocument.MarkdownFeature.MarkdownDialectGitHub
    | QTextDocument.MarkdownFeature.MarkdownNoHTML
)
_HEADING = {1: TYPE["title"] + 2, 2: TYPE["title"]}


class TextDocument(QTextDocument):
    """A document that never loads anything, whatever its text asks for."""

    def loadResource(self, type: int, name: QUrl | str) -> Any:  # noqa: A002 -- Qt's name
        """Qt's hook for pictures and style sheets."""
        del type, name


def markdown_document(source: str, font: QFont, tokens: Tokens) -> TextDocument:
    """The rendered source."""
    document = TextDocument()
    document.setUndoRedoEnabled(False)
    document.setDocumentMargin(0)
    document.setDefaultFont(font)
    document.setIndentWidth(3 * UNIT)
    document.setMarkdown(source, _FEATURES)
    _style(document, tokens)
    return document


def plain_document(source: str, font: QFont, colour: str) -> TextDocument:
    """The source as it is, in the same lines."""
    document = TextDocument()
    document.setUndoRedoEnabled(False)
    document.setDocumentMargin(0)
    document.setDefaultFont(font)
    document.setPlainText(source)
    cursor = QTextCursor(document)
    cursor.select(QTextCursor.SelectionType.Document)
    cursor.mergeBlockFormat(_line_height(LINE_HEIGHT))
    words = QTextCharFormat()
    words.setForeground(QColor(colour))
    cursor.mergeCharFormat(words)
    return document


def has_links(document: QTextDocument) -> bool:
    """Whether there is anything to click."""
    return any(f.charFormat().isAnchor() for b in _blocks(document) for f in _fragments(b))


def _style(document: QTextDocument, tokens: Tokens) -> None:
    tables = [f for f in document.rootFrame().childFrames() if isinstance(f, QTextTable)]
    cells = [(t.firstPosition(), t.lastPosition()) for t in tables]
    cursor = QTextCursor(document)
    cursor.beginEditBlock()
    for block in list(_blocks(document)):
        in_cell = any(first <= block.position() <= last for first, last in cells)
        cursor.setPosition(block.position())
        cursor.mergeBlockFormat(_block_format(block, tokens, in_cell=in_cell))
    # From the end, as pictures change the positions behind them.
    for block in reversed(list(_blocks(document))):
        for fragment in reversed(list(_fragments(block))):
            wanted = _char_format(fragment.charFormat(), block, tokens)
            if wanted is None:
                continue
            cursor.setPosition(fragment.position())
            cursor.setPosition(
                fragment.position() + fragment.length(), QTextCursor.MoveMode.KeepAnchor
            )
            if fragment.charFormat().isImageFormat():
                cursor.insertText(_picture_words(fragment.charFormat()), wanted)
            else:
                cursor.setCharFormat(wanted)
    for table in tables:
        table.setFormat(_table_format(table, tokens))
    cursor.endEditBlock()


def _blocks(document: QTextDocument) -> Iterator[QTextBlock]:
    block = document.begin()
    while block.isValid():
        yield block
        block = block.next()


def _fragments(block: QTextBlock) -> Iterator[Any]:
    iterator = block.begin()
    while not iterator.atEnd():
        yield iterator.fragment()
        iterator += 1


def _line_height(pixels: float) -> QTextBlockFormat:
    result = QTextBlockFormat()
    result.setLineHeight(pixels, QTextBlockFormat.LineHeightTypes.MinimumHeight.value)
    return result


def _block_format(block: QTextBlock, tokens: Tokens, *, in_cell: bool) -> QTextBlockFormat:
    old = block.blockFormat()
    is_code = old.hasProperty(QTextFormat.Property.BlockCodeFence) or old.nonBreakableLines()
    result = QTextBlockFormat() if in_cell else _line_height(LINE_HEIGHT)
    is_last = not block.next().isValid()
    level = old.headingLevel()
    if level:
        result.setLineHeight(
            1.4 * _HEADING.get(level, TYPE["body"]),
            QTextBlockFormat.LineHeightTypes.MinimumHeight.value,
        )
    gap = UNIT // 2 if block.textList() and block.next().textList() else BLOCK_GAP
    result.setTopMargin(6 if level else 0)
    result.setBottomMargin(0 if in_cell or is_last or is_code else gap)
    if is_code:
        result.setBackground(QColor(tokens.code))
    if old.hasProperty(QTextFormat.Property.BlockTrailingHorizontalRulerWidth):
        result.setLineHeight(1, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        result.setBackground(QColor(tokens.line))
    if old.hasProperty(QTextFormat.Property.BlockQuoteLevel):
        depth = old.intProperty(QTextFormat.Property.BlockQuoteLevel)
        result.setLeftMargin(2 * UNIT * depth)
        result.setRightMargin(0)
    return result


def _char_format(old: QTextCharFormat, block: QTextBlock, tokens: Tokens) -> QTextCharFormat | None:
    """What a run of text should look like instead; None: as it is."""
    level = block.blockFormat().headingLevel()
    is_code = old.fontFixedPitch() or "monospace" in (old.fontFamilies() or [])
    is_quote = block.blockFormat().hasProperty(QTextFormat.Property.BlockQuoteLevel)
    is_bold = old.fontWeight() > QFont.Weight.DemiBold
    if not (level or is_code or is_quote or is_bold or old.isAnchor() or old.isImageFormat()):
        return None
    result = QTextCharFormat() if old.isImageFormat() else QTextCharFormat(old)
    if is_quote:
        result.setForeground(QColor(tokens.soft))
    if level:
        result.clearProperty(QTextFormat.Property.FontSizeAdjustment)
        result.setProperty(QTextFormat.Property.FontPixelSize, _HEADING.get(level, TYPE["body"]))
    if level or is_bold:
        result.setFontWeight(QFont.Weight.DemiBold)
    if is_code:
        result.setFontFamilies(code_font().families())
        result.setProperty(QTextFormat.Property.FontPixelSize, 13)
        if not block.blockFormat().nonBreakableLines():
            result.setBackground(QColor(tokens.hover))
    _mark_link(result, old, tokens)
    return result


def _mark_link(result: QTextCharFormat, old: QTextCharFormat, tokens: Tokens) -> None:
    address = old.toImageFormat().name() if old.isImageFormat() else old.anchorHref()
    result.clearProperty(QTextFormat.Property.TextToolTip)
    if is_web(QUrl(address)):
        result.setAnchor(True)
        result.setAnchorHref(address)
        result.setForeground(QColor(tokens.ember))
        result.setFontUnderline(True)
    elif old.isAnchor():
        result.setAnchor(False)
        result.clearProperty(QTextFormat.Property.AnchorHref)
        result.clearProperty(QTextFormat.Property.ForegroundBrush)
        result.clearProperty(QTextFormat.Property.TextUnderlineStyle)
        result.clearProperty(QTextFormat.Property.FontUnderline)


def is_web(url: QUrl) -> bool:
    """The only addresses that may be opened: http and https with a host."""
    return url.isValid() and url.scheme() in {"http", "https"} and bool(url.host())


def _picture_words(image: QTextCharFormat) -> str:
    words = str(image.property(QTextFormat.Property.ImageAltText) or "").strip()
    return words or image.toImageFormat().name()


def _end(table: QTextTable) -> int:
    return table.document().characterCount() - 1


def _table_format(table: QTextTable, tokens: Tokens) -> Any:
    result = table.format()
    result.setBorder(1)
    result.setBorderCollapse(True)
    result.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
    result.setBorderBrush(QBrush(QColor(tokens.line)))
    result.setCellPadding(6)
    result.setCellSpacing(0)
    result.setTopMargin(UNIT)
    result.setBottomMargin(BLOCK_GAP if table.lastPosition() + 1 < _end(table) else UNIT // 2)
    result.setWidth(QTextLength(QTextLength.Type.VariableLength, 0))
    result.setAlignment(Qt.AlignmentFlag.AlignLeft)
    return result
