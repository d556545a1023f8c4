"""What the rows of this page's lists share: the ground of a row, a line of text that ends in … . Neighbours: `row`, `result_row`."""

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QStyle

from app.theme import UNIT, Tokens


def draw_ground(painter: QPainter, area: QRect, state: QStyle.StateFlag, tokens: Tokens) -> None:
    """Selected, pointed at, or with the focus."""
    selected = bool(state & QStyle.StateFlag.State_Selected)
    colour = QColor(tokens.hover)
    if not selected:
        hovered = bool(state & QStyle.StateFlag.State_MouseOver)
        colour.setAlphaF(0.5 if hovered else 0.0)
    painter.setBrush(colour)
    painter.setPen(Qt.PenStyle.NoPen)
    shape = QRectF(area).adjusted(0, 1, 0, -1)
    if state & QStyle.StateFlag.State_HasFocus:
        painter.setPen(QPen(QColor(tokens.ember), 2))
        shape = shape.adjusted(1, 1, -1, -1)
    painter.drawRoundedRect(shape, UNIT, UNIT)


def draw_text(painter: QPainter, area: QRect, text: str, font: QFont, colour: str) -> None:
    """One line, plain, as much of it as there is room for."""
    painter.setFont(font)
    painter.setPen(QColor(colour))
    shown = QFontMetrics(font).elidedText(text, Qt.TextElideMode.ElideRight, area.width())
    painter.drawText(area, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, shown)
