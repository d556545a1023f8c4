"""A line of text that is one setting: saved when it is left or Enter is pressed, if it can be used. Neighbours: `fields`, `section`."""

from collections.abc import Callable

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QLineEdit, QWidget

from app.stores.settings import SettingsStore

_WIDTH = 280


class TextField(QLineEdit):
    """A text; one that is not `possible` is marked and not saved."""

    def __init__(
        self,
        store: SettingsStore,
        name: str,
        possible: Callable[[str], bool],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._store, self._name, self._possible = store, name, possible
        self.setMinimumWidth(_WIDTH)
        self._show(name)
        self.editingFinished.connect(self._save)
        self.textChanged.connect(self._mark)
        store.changed.connect(self._show)

    @Slot()
    def _save(self) -> None:
        text = self.text().strip()
        if self._possible(text):
            self._store.set(self._name, text)

    @Slot()
    def _mark(self) -> None:
        self.setProperty("invalid", not self._possible(self.text().strip()))
        self.style().unpolish(self)
        self.style().polish(self)

    @Slot(str)
    def _show(self, name: str) -> None:
        if name == self._name and self.text().strip() != self._store.values[name]:
            self.setText(self._store.values[name])
