"""One page of settings: a title and rows, each a name, a line of explanation and a control.

Zone: app.widgets.settings. Neighbours: `fields` (the controls), `page` (which shows the sections).
"""

from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.theme import TEXT_WIDTH, UNIT, text_font

_MARGIN: Final = 12
_LEAST_WORDS: Final = 20 * UNIT
"""Explanations are not squeezed further than this."""


class Section(QWidget):
    """A column of rows under a title."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setMaximumWidth(TEXT_WIDTH)
        self._rows = QVBoxLayout(self)
        self._rows.setContentsMargins(0, 0, 0, 3 * UNIT)
        self._rows.setSpacing(0)
        self._heading = QLabel(self)
        self._heading.setProperty("role", "display")
        self._heading.setContentsMargins(0, 0, 0, UNIT)
        self._rows.addWidget(self._heading)
        self._rows.addStretch(1)

    @property
    def title(self) -> str:
        """The heading."""
        return self._heading.text()

    def set_title(self, title: str) -> None:
        """Give the section its heading and accessible name."""
        self._heading.setText(title)
        self.setAccessibleName(title)

    def add_row(
        self, title: str, explanation: str, control: QWidget, *, object_name: str
    ) -> QLabel:
        """A setting; returns the label with the explanation, for sections that change it."""
        name = QLabel(title)
        name.setTextFormat(Qt.TextFormat.PlainText)
        name.setFont(text_font("body", weight=QFont.Weight.Medium))
        name.setBuddy(control)
        soft = soft_label(explanation)
        soft.setObjectName(f"{object_name}-words")
        self._divide()
        self.add_widget(_Row(name, soft, control))
        control.setObjectName(object_name)
        control.setAccessibleName(title)
        control.setAccessibleDescription(explanation)
        if not control.toolTip():
            control.setToolTip(explanation or title)
        return soft

    def add_line(self, left: str, right: str) -> None:
        """Two texts facing each other."""
        self._divide()
        row = QHBoxLayout()
        row.setContentsMargins(0, _MARGIN, 0, _MARGIN)
        row.setSpacing(3 * UNIT)
        self._rows.insertLayout(self._rows.count() - 1, row)
        for text, role in ((left, ""), (right, "soft")):
            label = QLabel(text)
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setProperty("role", role)
            row.addWidget(label, 0 if role else 1)

    def add_widget(self, widget: QWidget, stretch: int = 0) -> None:
        """Anything over the whole width."""
        self._rows.insertWidget(self._rows.count() - 1, widget, stretch)

    def _divide(self) -> None:
        if self._rows.count() > 2:  # heading and stretch
            line = QFrame()
            line.setObjectName("divider")
            line.setFixedHeight(1)
            self.add_widget(line)


class _Row(QWidget):
    """Words and a control beside them; below them where the words would become a narrow column."""

    def __init__(self, name: QLabel, soft: QLabel, control: QWidget) -> None:
        super().__init__()
        self._control = control
        words = QVBoxLayout()
        words.setSpacing(UNIT // 4)
        words.addStretch(1)
        words.addWidget(name)
        words.addWidget(soft)
        words.addStretch(1)
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._row.setContentsMargins(0, _MARGIN, 0, _MARGIN)
        self._row.addLayout(words, 1)
        self._row.addWidget(control, 0, Qt.AlignmentFlag.AlignVCenter)
        self._row.setSpacing(3 * UNIT)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt's hook: another width may want another direction."""
        super().resizeEvent(event)
        control = self._control.sizeHint().expandedTo(self._control.minimumSize()).width()
        beside = self.width() - control - 3 * UNIT
        down = beside < _LEAST_WORDS
        self._row.setSpacing(UNIT if down else 3 * UNIT)
        self._row.setDirection(
            QBoxLayout.Direction.TopToBottom if down else QBoxLayout.Direction.LeftToRight
        )


def soft_label(text: str) -> QLabel:
    """Second text that wraps; data in it is never read as markup."""
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setProperty("role", "soft")
    label.setWordWrap(True)
    return label
