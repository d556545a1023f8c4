"""Menus with round corners.

Zone: app.widgets.common.
"""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu, QWidget


def menu(parent: QWidget, *, object_name: str) -> QMenu:
    """An empty menu in the look; its window is translucent so that the corners show what is below."""
    result = QMenu(parent)
    result.setObjectName(object_name)
    result.setProperty("rounded", True)
    result.setWindowFlags(
        result.windowFlags()
        | Qt.WindowType.FramelessWindowHint
        | Qt.WindowType.NoDropShadowWindowHint
    )
    result.setAttribute(Qt.WidgetAttribute.WA_TranslucentBackground)
    return result
