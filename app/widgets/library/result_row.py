"""Draws one repository of a search: name, owner, facts, what is said of it. Neighbour: `app.item_models.hub` (the roles)."""

from typing import Final

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QRect, QSize
from PySide6.QtGui import QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from app.item_models.hub import Role
from app.item_models.hub_words import joined
from app.theme import UNIT, shown_tokens, tabular, text_font
from app.widgets.library.painting import draw_ground, draw_text

_MARGIN: Final = 10
_SMALL_LINES: Final = 3


class ResultRow(QStyledItemDelegate):
    """The rows of the search."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._name = text_font("body", weight=QFont.Weight.Medium)
        self._small = tabular(text_font("small"))

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        """The name and three small lines."""
        del option, index
        height = 2 * UNIT + QFontMetrics(self._name).height() + _SMALL_LINES * self._line()
        return QSize(20 * UNIT, height)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        """Qt's hook."""
        tokens = shown_tokens()
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        draw_ground(painter, option.rect, option.state, tokens)
        inner = option.rect.adjusted(_MARGIN, UNIT, -_MARGIN, -UNIT)
        height = QFontMetrics(self._name).height()
        top = QRect(inner.left(), inner.top(), inner.width(), height)
        draw_text(painter, top, index.data(), self._name, tokens.ink)
        line = QRect(inner.left(), top.bottom() + 1 + UNIT // 4, inner.width(), self._line())
        draw_text(painter, line, index.data(Role.FACTS), self._small, tokens.soft)
        line.translate(0, self._line())
        owner = index.data(Role.OWNER)
        gated = index.data(Role.GATED)
        draw_text(
            painter, line, joined(gated, owner), self._small, tokens.warn if gated else tokens.soft
        )
        line.translate(0, self._line())
        draw_text(painter, line, index.data(Role.NOTE), self._small, tokens.soft)
        painter.restore()

    def _line(self) -> int:
        return QFontMetrics(self._small).height() + 1
