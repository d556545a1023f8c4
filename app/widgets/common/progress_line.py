"""A thin line of progress with its number in words beside it; never a spinner.

Zone: app.widgets.common.
"""

from typing import Final

from PySide6.QtWidgets import QProgressBar, QVBoxLayout, QWidget

from app.theme import UNIT
from app.widgets.common.labels import figure_label

STEPS: Final = 1000
"""Resolution of the line."""


class ProgressLine(QWidget):
    """How far something is, such as "312 of 1,024 MB"."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bar = QProgressBar()
        self._bar.setObjectName("progress_bar")
        self._bar.setRange(0, STEPS)
        self._bar.setTextVisible(False)
        self._words = figure_label()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT // 2)
        column.addWidget(self._bar)
        column.addWidget(self._words)

    def set_progress(self, fraction: float, text: str) -> None:
        """Show `fraction` (0 to 1, cut to that range) and what it means in words."""
        self._bar.setValue(round(min(max(fraction, 0.0), 1.0) * STEPS))
        self._bar.setAccessibleName(text)
        self._words.setText(text)
