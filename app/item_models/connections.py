"""The ledger of connections as a Qt table. Neighbours: `app.stores.network`, `app.widgets.settings.ledger`."""

from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QCoreApplication,
    QDateTime,
    QLocale,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Slot,
)

from app.item_models.hub_words import plain_tip
from app.item_models.library import size_text
from app.stores.network import NetworkStore
from engine.api.hub import Connection

Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()
_FIGURES_FROM = 3
"""Columns from this one on are numbers."""


class ConnectionItems(QAbstractTableModel):
    """One row a host and purpose, latest first."""

    def __init__(self, store: NetworkStore, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._rows = store.connections
        store.changed.connect(self._update)

    def rowCount(self, parent: Index = _ROOT) -> int:
        """Connections."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _ROOT) -> int:
        """When, host, purpose, requests, received, stopped."""
        return 0 if parent.isValid() else len(_titles())

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Qt's hook."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return int(_alignment(section))
        return _titles()[section] if role == Qt.ItemDataRole.DisplayRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Words; the first cell speaks the whole row."""
        if not index.isValid() or not 0 <= index.row() < len(self._rows):
            return None
        cells = _cells(self._rows[index.row()])
        if role == Qt.ItemDataRole.DisplayRole:
            return cells[index.column()]
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(cells[index.column()])
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return int(_alignment(index.column()))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            if index.column():
                return cells[index.column()]
            return ", ".join(
                f"{title}: {cell}" for title, cell in zip(_titles(), cells, strict=True)
            )
        return None

    @Slot()
    def _update(self) -> None:
        if self._rows != self._store.connections:
            self.beginResetModel()
            self._rows = self._store.connections
            self.endResetModel()


def _titles() -> tuple[str, ...]:
    return (
        QCoreApplication.translate("Connections", "Last"),
        QCoreApplication.translate("Connections", "Host"),
        QCoreApplication.translate("Connections", "Purpose"),
        QCoreApplication.translate("Connections", "Requests"),
        QCoreApplication.translate("Connections", "Received"),
        QCoreApplication.translate("Connections", "Stopped"),
    )


def _cells(connection: Connection) -> tuple[str, ...]:
    when = QDateTime.fromSecsSinceEpoch(connection.last)
    number = QLocale().toString
    return (
        QLocale().toString(when, QLocale.FormatType.ShortFormat),
        connection.host,
        purpose_text(connection.purpose),
        number(connection.requests),
        size_text(connection.received_bytes) if connection.received_bytes else "0",
        number(connection.refused),
    )


def purpose_text(purpose: str) -> str:
    """The service's word in the user's language; one that is not known stays as it is."""
    known = {
        "search": QCoreApplication.translate("Connections", "Search"),
        "card": QCoreApplication.translate("Connections", "Card"),
        "header": QCoreApplication.translate("Connections", "Beginning of a file"),
        "download": QCoreApplication.translate("Connections", "Download"),
        "starter model": QCoreApplication.translate("Connections", "Starter model"),
        "hub": QCoreApplication.translate("Connections", "Hub"),
    }
    return known.get(purpose, purpose)


def _alignment(column: int) -> Qt.AlignmentFlag:
    figures = column >= _FIGURES_FROM
    side = Qt.AlignmentFlag.AlignRight if figures else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter
