"""One page of settings: a title and rows, each a name, a line of explanation and a control.

Zone: app.widgets.settings. Neighbours: `fields` (the controls), `page` (which shows the sections).
"""

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.theme import TEXT_WIDTH, UNIT, text_font


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
        words = QVBoxLayout()
        words.setSpacing(UNIT // 4)
        words.addStretch(1)
        words.addWidget(name)
        words.addWidget(soft)
        words.addStretch(1)
        row = self._new_row()
        row.addLayout(words, 1)
        row.addWidget(control, 0, Qt.AlignmentFlag.AlignVCenter)
        control.setObjectName(object_name)
        control.setAccessibleName(title)
        control.setAccessibleDescription(explanation)
        if not control.toolTip():
            control.setToolTip(explanation or title)
        return soft

    def add_line(self, left: str, right: str) -> None:
        """Two texts facing each other."""
        row = self._new_row()
        for text, role in ((left, ""), (right, "soft")):
            label = QLabel(text)
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setProperty("role", role)
            row.addWidget(label, 0 if role else 1)

    def add_widget(self, widget: QWidget, stretch: int = 0) -> None:
        """Anything over the whole width."""
        self._rows.insertWidget(self._rows.count() - 1, widget, stretch)

    def _new_row(self) -> QHBoxLayout:
        if self._rows.count() > 2:  # heading and stretch
            line = QFrame()
            line.setObjectName("divider")
            line.setFixedHeight(1)
            self.add_widget(line)
        row = QHBoxLayout()
        row.setContentsMargins(0, 12, 0, 12)
        row.setSpacing(3 * UNIT)
        self._rows.insertLayout(self._rows.count() - 1, row)
        return row


def soft_label(text: str) -> QLabel:
    """Second text that wraps; data in it is never read as markup."""
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setProperty("role", "soft")
    label.setWordWrap(True)
    return label
