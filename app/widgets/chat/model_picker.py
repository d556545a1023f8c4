"""The list that the model chip opens: search, choose, Escape."""

from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QLineEdit, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from app.theme import UNIT

_SIZE = (340, 320)


@dataclass(frozen=True, slots=True)
class Choice:
    """One model to choose."""

    id: str
    note: str
    """Size, quantization, state."""
    usable: bool = True


class ModelPicker(QFrame):
    """A popup.

    Signals:
        chosen(str model).
    """

    chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setObjectName("model_picker")
        self.setFixedSize(*_SIZE)
        self._choices: list[Choice] = []
        self.search = QLineEdit()
        self.search.setObjectName("model_search")
        self.search.setAccessibleName(self.tr("Search models"))
        self.search.setPlaceholderText(self.tr("Search models"))
        self.list = QListWidget()
        self.list.setObjectName("model_choices")
        self.list.setAccessibleName(self.tr("Models"))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(UNIT, UNIT, UNIT, UNIT)
        layout.setSpacing(UNIT)
        layout.addWidget(self.search)
        layout.addWidget(self.list)
        self.search.textChanged.connect(self._fill)
        self.search.installEventFilter(self)
        self.list.itemActivated.connect(self._choose)
        self.list.itemClicked.connect(self._choose)

    def open_at(self, corner: QPoint, choices: list[Choice]) -> None:
        """Show above a global point with these choices."""
        self._choices = choices
        self.search.clear()
        self._fill()
        self.move(corner - QPoint(0, self.height()))
        self.show()
        self.search.setFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Arrow keys walk the list and Return chooses, while the search keeps the focus."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Up):
                step = 1 if event.key() == Qt.Key.Key_Down else -1
                row = max(0, min(self.list.count() - 1, self.list.currentRow() + step))
                self.list.setCurrentRow(row)
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._choose(self.list.currentItem())
                return True
        return super().eventFilter(watched, event)

    def _fill(self) -> None:
        wanted = self.search.text().casefold()
        self.list.clear()
        for choice in self._choices:
            if wanted in choice.id.casefold():
                item = QListWidgetItem(f"{choice.id}\n{choice.note}")
                item.setData(Qt.ItemDataRole.UserRole, choice.id)
                if not choice.usable:
                    item.setFlags(Qt.ItemFlag.NoItemFlags)
                self.list.addItem(item)
        self.list.setCurrentRow(0)

    def _choose(self, item: QListWidgetItem | None) -> None:
        if item is not None and item.flags() & Qt.ItemFlag.ItemIsEnabled:
            self.hide()
            self.chosen.emit(item.data(Qt.ItemDataRole.UserRole))
