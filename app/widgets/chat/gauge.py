"""A thin bar with a fill: how full the context is."""

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.theme import shown_tokens

_WIDTH, _HEIGHT = 72, 4
_FULL = 0.9


class Gauge(QWidget):
    """72 by 4 pixels; the text beside it has the figure."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("context_gauge")
        self.setFixedSize(_WIDTH, _HEIGHT)
        self._fraction = 0.0

    def set_fraction(self, fraction: float) -> None:
        """0 … 1; more is drawn as full."""
        self._fraction = max(0.0, min(1.0, fraction))
        self.setAccessibleName(self.tr("Context {0} % full").format(round(self._fraction * 100)))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        del event
        tokens = shown_tokens()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        area = QRectF(self.rect())
        painter.setBrush(QColor(tokens.line))
        painter.drawRoundedRect(area, 2, 2)
        area.setWidth(area.width() * self._fraction)
        painter.setBrush(QColor(tokens.error if self._fraction > _FULL else tokens.ember))
        painter.drawRoundedRect(area, 2, 2)
        painter.end()
