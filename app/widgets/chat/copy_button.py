"""A button that puts a text on the clipboard, exactly as it is, and says so for a moment."""

from collections.abc import Callable
from weakref import WeakMethod

from PySide6.QtCore import QEvent, QSize, QTimer, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app.widgets.common.buttons import IconButton, describe

_SHOWN_MS = 1500


class CopyButton(IconButton):
    """Copies what `text()`, a method of the widget around it, returns at the time of the click."""

    def __init__(
        self, text: Callable[[], str], *, object_name: str, parent: QWidget | None = None
    ) -> None:
        super().__init__("copy", parent)
        # Only the owner's method, weakly: a circle would wait for the collector, 100 ms for 700 messages.
        self._text = WeakMethod(text)
        self.setObjectName(object_name)
        self.setIconSize(QSize(16, 16))
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_SHOWN_MS)
        self._timer.timeout.connect(self._rest)
        self.clicked.connect(self.copy)
        self._rest()

    @Slot()
    def copy(self) -> None:
        """Put the text on the clipboard."""
        text = self._text()
        if text is None:  # its owner is gone
            return
        QGuiApplication.clipboard().setText(text())
        self.set_icon("check")
        describe(self, self.tr("Copied"))
        self._timer.start()

    def changeEvent(self, event: QEvent) -> None:
        """Qt's hook."""
        if event.type() == QEvent.Type.LanguageChange:
            self._rest()
        super().changeEvent(event)

    @Slot()
    def _rest(self) -> None:
        self.set_icon("copy")
        describe(self, self.tr("Copy"))
