"""A short message at the head of a window with at most one action, such as Undo.

Zone: app.widgets.common. It never takes the focus and leaves by itself.
"""

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QEvent, QObject, QTimer, Slot
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QEnterEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QWidget

from app.theme import UNIT
from app.widgets.common.buttons import icon_button
from app.widgets.common.labels import label

STAY_MS: Final = 8000
"""How long a message stays; the time starts again when the pointer leaves it."""


class Toast(QFrame):
    """One per window; a new message replaces the old one."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("toast")
        self._host = parent
        self._action: Callable[[], None] | None = None
        self._words = label(parent=self)
        self._button = QPushButton(self)
        self._button.setObjectName("toast_action")
        self._button.clicked.connect(self._act)
        self._close = icon_button("x", "", object_name="toast_close", size=16, parent=self)
        self._close.set_tone("ground")
        self._close.clicked.connect(self.dismiss)
        row = QHBoxLayout(self)
        row.setContentsMargins(2 * UNIT, UNIT, UNIT, UNIT)
        row.setSpacing(UNIT)
        row.addWidget(self._words)
        row.addSpacing(UNIT)
        row.addWidget(self._button)
        row.addWidget(self._close)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(STAY_MS)
        self._timer.timeout.connect(self.dismiss)
        self._retranslate()
        self.hide()
        parent.installEventFilter(self)

    def show_text(
        self, text: str, action_text: str = "", action: Callable[[], None] | None = None
    ) -> None:
        """Show `text` for 8 seconds; pressing the button calls `action` once and closes."""
        self._words.setText(text)
        self._action = action
        self._button.setText(action_text)
        self._button.setAccessibleName(action_text)
        self._button.setToolTip(action_text)
        self._button.setVisible(bool(action_text))
        self.show()
        self.raise_()
        self._place()
        self._timer.start()
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))

    @Slot()
    def dismiss(self) -> None:
        """Close it without acting."""
        self._timer.stop()
        self._action = None
        self.hide()

    def enterEvent(self, event: QEnterEvent) -> None:
        """Qt's hook: whoever points at it is still reading."""
        self._timer.stop()
        super().enterEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        """Qt's hook."""
        if self.isVisible():
            self._timer.start()
        super().leaveEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Qt's hook: stays at the head of its window."""
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self._place()
        return super().eventFilter(watched, event)

    def changeEvent(self, event: QEvent) -> None:
        """Qt's hook."""
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
        super().changeEvent(event)

    @Slot()
    def _act(self) -> None:
        action = self._action
        self.dismiss()
        if action is not None:
            action()

    def _place(self) -> None:
        host = self._host
        room = host.width() - 4 * UNIT
        self._words.setWordWrap(self.sizeHint().width() > room)
        self.resize(min(self.sizeHint().width(), room), 0)
        self.resize(self.width(), max(self.heightForWidth(self.width()), self.sizeHint().height()))
        # the foot is where the user types
        self.move((host.width() - self.width()) // 2, 2 * UNIT)

    def _retranslate(self) -> None:
        self._close.setToolTip(self.tr("Close"))
        self._close.setAccessibleName(self.tr("Close"))
