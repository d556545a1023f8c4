"""Draws one model in the list: name, size and quantization, state with a dot and a word, progress, problem.

Zone: app.widgets.library. Neighbour: `app.item_models.library` (the roles).
"""

from typing import Final

from PySide6.QtCore import (
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPointF,
    QRect,
    QRectF,
    QSize,
    Qt,
)
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from app.item_models.library import Role
from app.theme import UNIT, Tokens, shown_tokens, tabular, text_font
from app.widgets.library.painting import draw_ground, draw_text

STATE_TONES: Final = {
    "ready": "good",
    "loading": "ember",
    "stopping": "soft",
    "failed": "error",
    "unusable": "error",
}
"""The token of a state's dot; any other state has an empty ring."""
_MARGIN: Final = 10
_DOT: Final = 3.5


class ModelRow(QStyledItemDelegate):
    """The rows of the models page."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._name = text_font("body", weight=QFont.Weight.Medium)
        self._small = tabular(text_font("small"))

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        """Two lines, and a third for a problem or for progress."""
        del option
        height = 2 * UNIT + QFontMetrics(self._name).height() + UNIT // 2 + self._line()
        if index.data(Role.PROBLEM):
            height += self._line() + UNIT // 2
        elif index.data(Role.PROGRESS) is not None:
            height += UNIT
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
        area = option.rect
        state = option.state
        draw_ground(painter, area, state, tokens)
        inner = area.adjusted(_MARGIN, UNIT, -_MARGIN, -UNIT)
        top = QRect(inner.left(), inner.top(), inner.width(), QFontMetrics(self._name).height())
        draw_text(painter, top, index.data(), self._name, tokens.ink)
        second = QRect(inner.left(), top.bottom() + 1 + UNIT // 2, inner.width(), self._line())
        self._draw_state(painter, second, index, tokens)
        third = second.translated(0, self._line() + UNIT // 2)
        if problem := index.data(Role.PROBLEM):
            draw_text(painter, third, problem, self._small, tokens.error)
        elif (fraction := index.data(Role.PROGRESS)) is not None:
            self._draw_progress(painter, third, fraction, tokens)
        painter.restore()

    def _line(self) -> int:
        return QFontMetrics(self._small).height()

    def _draw_state(
        self,
        painter: QPainter,
        line: QRect,
        index: QModelIndex | QPersistentModelIndex,
        tokens: Tokens,
    ) -> None:
        words = index.data(Role.STATE_WORDS)
        tone = STATE_TONES.get(index.data(Role.STATE), "")
        width = QFontMetrics(self._small).horizontalAdvance(words)
        right = line.adjusted(line.width() - width, 0, 0, 0)
        draw_text(painter, right, words, self._small, tokens.soft)
        colour = QColor(getattr(tokens, tone or "soft"))
        painter.setPen(QPen(colour, 1))
        painter.setBrush(colour if tone else Qt.BrushStyle.NoBrush)
        centre = QPointF(right.left() - UNIT, line.center().y() + 1)
        painter.drawEllipse(centre, _DOT, _DOT)
        left = line.adjusted(0, 0, -width - 2 * UNIT - UNIT // 2, 0)
        draw_text(painter, left, index.data(Role.SUMMARY), self._small, tokens.soft)

    @staticmethod
    def _draw_progress(painter: QPainter, line: QRect, fraction: float, tokens: Tokens) -> None:
        track = QRectF(line.left(), line.top() + 1, line.width(), 4)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.line))
        painter.drawRoundedRect(track, 2, 2)
        track.setWidth(track.width() * min(max(fraction, 0.0), 1.0))
        painter.setBrush(QColor(tokens.ember))
        painter.drawRoundedRect(track, 2, 2)
