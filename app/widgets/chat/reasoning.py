"""A model's reasoning, folded behind one line that says how long it took. Plain text."""

from PySide6.QtCore import QEvent, Slot
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.theme import UNIT
from app.widgets.chat.markdown_view import MarkdownView
from app.widgets.common.buttons import PushButton
from app.widgets.common.labels import divider


class Reasoning(QWidget):
    """Hidden while there is none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._source = ""
        self._seconds: float | None = None
        self._is_live = False
        self._header = PushButton("", "quiet", "caret-right", self)
        self._header.setObjectName("reasoning")
        self._header.setCheckable(True)
        self._header.set_tone("soft")
        # In line with the text below; the palette's colour for placeholders is the soft one.
        self._header.setStyleSheet(
            "QPushButton { padding: 7px 6px 7px 0; text-align: left;"
            " color: palette(placeholder-text); }"
        )
        self._header.toggled.connect(self._unfold)
        self._view = MarkdownView(self, tone="soft")
        line = divider(self)
        line.setMinimumHeight(0)
        line.setMaximumHeight(16_777_215)
        line.setFixedWidth(2)
        self._box = QWidget(self)
        row = QHBoxLayout(self._box)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(2 * UNIT)
        row.addWidget(line)
        row.addWidget(self._view, 1)
        self._box.hide()
        head = QHBoxLayout()
        head.addWidget(self._header)
        head.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(UNIT)
        layout.addLayout(head)
        layout.addWidget(self._box)
        self.hide()

    def show_text(self, source: str, *, live: bool, seconds: float | None) -> None:
        """Show the reasoning so far; `seconds` is what it took, where that is known."""
        self._source = source
        self._is_live = live
        self._seconds = seconds
        self.setVisible(bool(source.strip()))
        self._name()
        if self._header.isChecked():
            self._view.show_plain(source.strip())

    def changeEvent(self, event: QEvent) -> None:
        """Qt's hook."""
        if event.type() == QEvent.Type.LanguageChange:
            self._name()
        super().changeEvent(event)

    @Slot(bool)
    def _unfold(self, open_: bool) -> None:
        self._header.set_icon("caret-down" if open_ else "caret-right")
        if open_:
            self._view.show_plain(self._source.strip())
        self._box.setVisible(open_)
        self._name()

    def _name(self) -> None:
        if self._is_live:
            words = self.tr("Thinking…")
        elif self._seconds is None:
            words = self.tr("Thought")
        else:
            digits = 1 if self._seconds < 10 else 0
            words = self.tr("Thought for {0} s").format(f"{self._seconds:.{digits}f}")
        if self._header.text() != words:
            self._header.setText(words)
            self._header.setAccessibleName(words)
        tip = (
            self.tr("Hide the reasoning")
            if self._header.isChecked()
            else self.tr("Show the reasoning")
        )
        self._header.setToolTip(tip)
