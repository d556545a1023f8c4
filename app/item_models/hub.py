"""What a search found as a Qt list. Neighbours: `app.stores.hub_search`, `app.widgets.library.result_row`."""

from enum import IntEnum
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QByteArray,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Slot,
)

from app.item_models.hub_words import (
    count_text,
    downloads_text,
    gated_text,
    joined,
    parameters_text,
    plain_tip,
)
from app.stores.hub_search import SearchStore
from engine.api.hub import HubModel

Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()


class Role(IntEnum):
    """What `data` can be asked for besides Qt's own roles."""

    REPO = Qt.ItemDataRole.UserRole + 1
    OWNER = Qt.ItemDataRole.UserRole + 2
    FACTS = Qt.ItemDataRole.UserRole + 3
    """Parameters, architecture, licence."""
    NOTE = Qt.ItemDataRole.UserRole + 4
    """What the catalog says of it, else how often it was downloaded."""
    GATED = Qt.ItemDataRole.UserRole + 5
    """Words, or empty."""


class HubItems(QAbstractListModel):
    """One row a repository, in the hub's order."""

    def __init__(self, store: SearchStore, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._rows = store.models
        store.changed.connect(self._update)

    def rowCount(self, parent: Index = _ROOT) -> int:
        """Repositories; a row has no children."""
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """See `Role`."""
        if not index.isValid() or not 0 <= index.row() < len(self._rows):
            return None
        model = self._rows[index.row()]
        owner, _, name = model.repo.rpartition("/")
        values: dict[int, object] = {
            Qt.ItemDataRole.DisplayRole: name,
            Qt.ItemDataRole.ToolTipRole: plain_tip(f"{model.repo}\n{model.about}".strip()),
            Qt.ItemDataRole.AccessibleTextRole: _spoken(model),
            Role.REPO: model.repo,
            Role.OWNER: owner,
            Role.FACTS: _facts(model),
            Role.NOTE: model.about or downloads_text(model.downloads),
            Role.GATED: gated_text(model),
        }
        return values.get(role)

    def roleNames(self) -> dict[int, QByteArray]:
        """Qt's hook."""
        names = {role.value: QByteArray(role.name.lower().encode()) for role in Role}
        return super().roleNames() | names

    def row_of(self, repo: str) -> QModelIndex:
        """The row of a repository, or an invalid index."""
        repos = [model.repo for model in self._rows]
        return self.index(repos.index(repo)) if repo in repos else QModelIndex()

    @Slot()
    def _update(self) -> None:
        before, now = self._rows, self._store.models
        if before == now:
            return
        if before and now[: len(before)] == before:  # another page: views keep their place
            self.beginInsertRows(QModelIndex(), len(before), len(now) - 1)
            self._rows = now
            self.endInsertRows()
        else:
            self.beginResetModel()
            self._rows = now
            self.endResetModel()


def _facts(model: HubModel) -> str:
    parameters = count_text(model.parameters) if model.parameters else ""
    return joined(parameters, model.architecture, model.license)


def _spoken(model: HubModel) -> str:
    parts = (
        model.repo,
        parameters_text(model.parameters),
        model.architecture,
        model.license,
        downloads_text(model.downloads),
        gated_text(model),
        model.about,
    )
    return ", ".join(part for part in parts if part)
