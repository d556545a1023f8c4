"""Walking between the versions of a message, such as the second of three answers."""

from PySide6.QtCore import QEvent, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.widgets.common.buttons import describe, icon_button
from app.widgets.common.labels import figure_label


class Versions(QWidget):
    """Hidden while there is only one version.

    Signals:
        step_requested(int step): the version before (-1) or after (1) is wanted.
    """

    step_requested = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._before = icon_button("caret-left", "", object_name="previous_version", size=16)
        self._after = icon_button("caret-right", "", object_name="next_version", size=16)
        self._place = figure_label()
        self._before.clicked.connect(lambda: self.step_requested.emit(-1))
        self._after.clicked.connect(lambda: self.step_requested.emit(1))
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for widget in (self._before, self._place, self._after):
            layout.addWidget(widget)
        self._retranslate()
        self.hide()

    def show_place(self, index: int, count: int) -> None:
        """Show which of `count` versions this is; `index` counts from 0."""
        self.setVisible(count > 1)
        self._place.setText(f"{index + 1}/{count}")
        self._before.setEnabled(index > 0)
        self._after.setEnabled(index + 1 < count)

    def changeEvent(self, event: QEvent) -> None:
        """Qt's hook."""
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
        super().changeEvent(event)

    def _retranslate(self) -> None:
        describe(self._before, self.tr("Previous version"))
        describe(self._after, self.tr("Next version"))
