"""All keyboard shortcuts on one sheet."""

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QDialog, QGridLayout, QLabel, QWidget

from app.theme import UNIT


class KeyboardMap(QDialog):
    """Opens by `?`, closes by Escape."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("keyboard_map")
        self.setWindowTitle(self.tr("Keyboard"))
        layout = QGridLayout(self)
        layout.setContentsMargins(3 * UNIT, 3 * UNIT, 3 * UNIT, 3 * UNIT)
        layout.setHorizontalSpacing(3 * UNIT)
        layout.setVerticalSpacing(UNIT)
        for row, (keys, meaning) in enumerate(self.entries()):
            key = QLabel(keys)
            key.setProperty("role", "soft")
            key.setTextFormat(Qt.TextFormat.PlainText)
            text = QLabel(meaning)
            text.setTextFormat(Qt.TextFormat.PlainText)
            layout.addWidget(key, row, 0)
            layout.addWidget(text, row, 1)

    @classmethod
    def meanings(cls) -> list[tuple[str, str]]:
        """(what they do, keys)."""
        return [(meaning, keys) for keys, meaning in cls.entries()]

    @staticmethod
    def entries() -> list[tuple[str, str]]:
        """(keys, what they do)."""
        return [
            ("Return", QCoreApplication.translate("KeyboardMap", "Send")),
            ("Shift+Return", QCoreApplication.translate("KeyboardMap", "New line")),
            ("Esc", QCoreApplication.translate("KeyboardMap", "Stop the answer")),
            ("Ctrl+N", QCoreApplication.translate("KeyboardMap", "New chat")),
            ("Ctrl+F", QCoreApplication.translate("KeyboardMap", "Search chats")),
            ("Ctrl+L", QCoreApplication.translate("KeyboardMap", "Write a message")),
            ("Ctrl+U", QCoreApplication.translate("KeyboardMap", "Attach text files")),
            ("Ctrl+M", QCoreApplication.translate("KeyboardMap", "Choose the model")),
            ("Ctrl+P", QCoreApplication.translate("KeyboardMap", "Parameters")),
            ("Ctrl+R", QCoreApplication.translate("KeyboardMap", "Another answer")),
            ("Ctrl+Shift+C", QCoreApplication.translate("KeyboardMap", "Copy the last answer")),
            ("F2", QCoreApplication.translate("KeyboardMap", "Rename the chat")),
            ("Del", QCoreApplication.translate("KeyboardMap", "Delete the chat (in the list)")),
            ("Ctrl+B", QCoreApplication.translate("KeyboardMap", "Show or hide the list")),
            ("Ctrl+1 / 2 / ,", QCoreApplication.translate("KeyboardMap", "Chat, models, settings")),
            ("? / Ctrl+/", QCoreApplication.translate("KeyboardMap", "This sheet")),
            ("Ctrl+Q", QCoreApplication.translate("KeyboardMap", "Quit")),
        ]
