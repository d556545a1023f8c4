"""A focus ring around a frame while the field inside it has the focus.

Zone: app.widgets.common; the style sheet draws the ring for `QFrame[focused="true"]`.
"""

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QFrame, QWidget
from shiboken6 import isValid


class FocusWithin(QObject):
    """Keeps `frame`'s property "focused" equal to whether `field` has the focus; owned by frame."""

    def __init__(self, frame: QFrame, field: QWidget) -> None:
        super().__init__(frame)
        self._frame = frame
        field.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Qt's hook."""
        if event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            # The focus also goes out while the frame is being destroyed, perhaps with this object.
            frame = getattr(self, "_frame", None)
            if frame is None or not isValid(frame):
                return False
            frame.setProperty("focused", event.type() == QEvent.Type.FocusIn)
            frame.style().unpolish(frame)
            frame.style().polish(frame)
        return super().eventFilter(watched, event)
