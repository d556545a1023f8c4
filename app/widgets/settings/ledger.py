"""Every connection to another machine, as a table. Neighbours: `network`, `app.item_models.connections`."""

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHeaderView, QTableView, QVBoxLayout, QWidget

from app.item_models.connections import ConnectionItems
from app.stores.network import NetworkStore
from app.theme import UNIT, tabular, text_font
from app.widgets.common.labels import label

_HEIGHT = 280
_HOST = 1


class Ledger(QWidget):
    """What was connected to, when, and why."""

    def __init__(self, store: NetworkStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._table = QTableView()
        self._table.setObjectName("settings-ledger")
        self._table.setAccessibleName(self.tr("Connections to other machines"))
        self._table.setToolTip(self.tr("Latest first"))
        self._table.setModel(ConnectionItems(store, self))
        self._table.setSelectionBehavior(QTableView.SelectionBehavior.SelectRows)
        self._table.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self._table.setTabKeyNavigation(False)
        self._table.setShowGrid(False)
        self._table.setWordWrap(False)
        self._table.setFont(tabular(text_font("small")))
        self._table.setFixedHeight(_HEIGHT)
        self._table.verticalHeader().hide()
        self._table.verticalHeader().setDefaultSectionSize(4 * UNIT)
        columns = self._table.horizontalHeader()
        columns.setHighlightSections(False)
        columns.setSectionsClickable(False)
        columns.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        columns.setSectionResizeMode(_HOST, QHeaderView.ResizeMode.Stretch)
        self._none = label(self.tr("There was none yet."), "soft")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 12, 0, 12)
        column.setSpacing(UNIT)
        column.addWidget(label(self.tr("Connections to other machines"), "title"))
        column.addWidget(
            label(
                self.tr("All of them: nothing in this app connects past this list."),
                "soft",
                wrap=True,
            )
        )
        column.addWidget(self._none)
        column.addWidget(self._table)
        store.changed.connect(self._show)
        self._show()

    @Slot()
    def _show(self) -> None:
        self._table.setVisible(bool(self._store.connections))
        self._none.setVisible(not self._store.connections)
