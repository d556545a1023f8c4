"""Fields that the wheel changes only where the user is in them: scrolling a page over one must not set it.

Zone: app.widgets.common.
"""

from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox


class SteadySpinBox(QDoubleSpinBox):
    """A number."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


class SteadyComboBox(QComboBox):
    """A choice."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()
