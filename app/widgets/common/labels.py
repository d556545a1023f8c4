"""Labels: plain text in one of the style sheet's roles, elided text, icons, dividers.

Zone: app.widgets.common. Nothing here reads markup: what models, files and users say stays text.
"""

from typing import Literal

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QLabel, QSizePolicy, QWidget

from app.item_models.hub_words import plain_tip
from app.theme import shown_tokens, tabular
from app.widgets.common.buttons import Tone
from app.widgets.common.icons import pixmap

Role = Literal["body", "soft", "title", "display", "good", "warn", "error"]


def label(
    text: str = "",
    role: Role = "body",
    *,
    wrap: bool = False,
    selectable: bool = False,
    parent: QWidget | None = None,
) -> QLabel:
    """A label that shows `text` as it is, never as markup."""
    result = QLabel(parent)
    result.setTextFormat(Qt.TextFormat.PlainText)
    result.setText(text)
    result.setProperty("role", role)
    result.setWordWrap(wrap)
    if selectable:
        result.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return result


def figure_label(text: str = "", role: Role = "soft", parent: QWidget | None = None) -> QLabel:
    """A label for numbers that change in place: figures of one width, so that nothing jitters."""
    result = label(text, role, parent=parent)
    result.setFont(tabular(result.font()))
    return result


def set_role(widget: QLabel, role: Role) -> None:
    """Change a label's role while it is shown."""
    if widget.property("role") != role:
        widget.setProperty("role", role)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


def divider(parent: QWidget | None = None) -> QFrame:
    """A line of one pixel across the page."""
    result = QFrame(parent)
    result.setObjectName("divider")
    result.setFixedHeight(1)
    return result


class ElidedLabel(QLabel):
    """One line that ends in … when there is no room; the tooltip then has all of it."""

    def __init__(
        self,
        text: str = "",
        role: Role = "body",
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._mode = mode
        self._tip = ""
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("role", role)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setText(text)

    def setText(self, text: str) -> None:
        """Show another text; line breaks become spaces."""
        super().setText(" ".join(text.split()))
        self._update_tip()

    def set_tip(self, text: str) -> None:
        """What the tooltip says instead, whether there is room or not."""
        self._tip = text
        self._update_tip()

    def minimumSizeHint(self) -> QSize:
        """Qt's hook: may shrink to a few letters."""
        return QSize(
            self.fontMetrics().horizontalAdvance("mm…"), super().minimumSizeHint().height()
        )

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt's hook."""
        super().resizeEvent(event)
        self._update_tip()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt's hook: draws the part that fits."""
        del event
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(self.contentsRect(), int(self.alignment()), self.shown_text())

    def shown_text(self) -> str:
        """What fits into the present width."""
        return self.fontMetrics().elidedText(self.text(), self._mode, self.contentsRect().width())

    def _update_tip(self) -> None:
        cut = "" if self.shown_text() == self.text() else self.text()
        self.setToolTip(plain_tip(self._tip or cut))


class IconLabel(QLabel):
    """An icon that is not a button; decorative, so it has no accessible name of its own."""

    def __init__(
        self, name: str, tone: Tone = "soft", size: int = 20, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._name = name
        self._tone: Tone = tone
        self._size = size
        self._redraw()

    def changeEvent(self, event: QEvent) -> None:
        """Qt's hook: the palette changes with the theme."""
        if event.type() == QEvent.Type.PaletteChange:
            self._redraw()
        super().changeEvent(event)

    def _redraw(self) -> None:
        color = getattr(shown_tokens(), self._tone)
        self.setPixmap(pixmap(self._name, color, self._size, self.devicePixelRatio()))
