"""A titled group of facts in two columns: what it is called, what it is. Neighbour: `details`."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from app.theme import UNIT
from app.widgets.common.labels import divider, label


class Facts(QWidget):
    """Shown again only when something differs, so that a selection in it stays."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(title)
        self._shown: list[tuple[str, str]] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(UNIT)
        self._column.addWidget(divider())
        self._column.addSpacing(UNIT)
        self._column.addWidget(label(title, "title"))
        self._table = QWidget()
        self._column.addWidget(self._table)

    def set_facts(self, facts: Sequence[tuple[str, str]]) -> None:
        """Show (name, value) pairs; those without a value are left out."""
        wanted = [fact for fact in facts if fact[1]]
        if wanted == self._shown:
            return
        self._shown = wanted
        self._column.removeWidget(self._table)
        self._table.hide()
        self._table.deleteLater()
        self._table = QWidget()
        grid = QGridLayout(self._table)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(3 * UNIT)
        grid.setVerticalSpacing(UNIT // 2)
        grid.setColumnMinimumWidth(0, 16 * UNIT)
        grid.setColumnStretch(1, 1)
        for row, (name, value) in enumerate(wanted):
            key = label(name, "soft")
            grid.addWidget(key, row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(label(value, wrap=True, selectable=True), row, 1)
        self._column.addWidget(self._table)
        self._table.show()
