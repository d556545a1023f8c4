"""The library as a Qt list, and how its values are written. Neighbours: `app.stores.models`, `app.widgets.library`."""

from enum import IntEnum
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QByteArray,
    QCoreApplication,
    QLocale,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Slot,
)

from app.stores.models import ModelsStore
from engine.api.models import ModelInfo

Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()


class Role(IntEnum):
    """What `data` can be asked for besides Qt's own roles."""

    ID = Qt.ItemDataRole.UserRole + 1
    SIZE = Qt.ItemDataRole.UserRole + 2
    """As text."""
    QUANTIZATION = Qt.ItemDataRole.UserRole + 3
    STATE = Qt.ItemDataRole.UserRole + 4
    """`engine.types.ModelState`, or "unusable"."""
    STATE_WORDS = Qt.ItemDataRole.UserRole + 5
    PROGRESS = Qt.ItemDataRole.UserRole + 6
    """0 … 1 while loading, else None."""
    PROBLEM = Qt.ItemDataRole.UserRole + 7
    SUMMARY = Qt.ItemDataRole.UserRole + 8


def size_text(count: int) -> str:
    """Bytes as people read them; powers of 1024, as the engine's own sentences have it."""
    digits = 1 if count >= 1 << 30 else 0
    return QLocale().formattedDataSize(
        count, digits, QLocale.DataSizeFormat.DataSizeTraditionalFormat
    )


def shown_state(info: ModelInfo) -> str:
    """The state, or "unusable" for a file that cannot be loaded at all."""
    return "unusable" if info.problem and info.state == "unloaded" else info.state


def state_words(info: ModelInfo) -> str:
    """The state in a word or two."""
    if info.state == "loading" and info.progress is not None:
        return QCoreApplication.translate("Library", "Loading, {0} %").format(
            round(100 * info.progress)
        )
    return {
        "unloaded": QCoreApplication.translate("Library", "On disk"),
        "loading": QCoreApplication.translate("Library", "Loading"),
        "ready": QCoreApplication.translate("Library", "In memory"),
        "stopping": QCoreApplication.translate("Library", "Unloading"),
        "failed": QCoreApplication.translate("Library", "Failed"),
        "unusable": QCoreApplication.translate("Library", "Cannot be used"),
    }[shown_state(info)]


def summary(info: ModelInfo) -> str:
    """Size, quantization, and where it comes from if that is not the app's own folder, in a line."""
    parts = (size_text(info.size_bytes), info.quantization, origin_text(info))
    return " · ".join(part for part in parts if part)


def origin_text(info: ModelInfo) -> str:
    """The program in whose folder it lies, such as "Ollama"; empty for our own."""
    if info.origin == "added":
        return QCoreApplication.translate("Library", "added")
    return info.origin


class LibraryItems(QAbstractListModel):
    """One row a model, in the store's order (by id)."""

    def __init__(self, store: ModelsStore, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._rows = list(store.models)
        store.changed.connect(self._update)

    def rowCount(self, parent: Index = _ROOT) -> int:
        """Models; a row has no children."""
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """See `Role`."""
        if not index.isValid() or not 0 <= index.row() < len(self._rows):
            return None
        info = self._rows[index.row()]
        values: dict[int, object] = {
            Qt.ItemDataRole.DisplayRole: info.id,
            Qt.ItemDataRole.ToolTipRole: "\n".join(
                filter(None, (info.id, info.path, info.problem))
            ),
            Qt.ItemDataRole.AccessibleTextRole: _spoken(info),
            Role.ID: info.id,
            Role.SIZE: size_text(info.size_bytes),
            Role.QUANTIZATION: info.quantization,
            Role.STATE: shown_state(info),
            Role.STATE_WORDS: state_words(info),
            Role.PROGRESS: info.progress if info.state == "loading" else None,
            Role.PROBLEM: info.problem or "",
            Role.SUMMARY: summary(info),
        }
        return values.get(role)

    def roleNames(self) -> dict[int, QByteArray]:
        """Qt's hook."""
        names = {role.value: QByteArray(role.name.lower().encode()) for role in Role}
        return super().roleNames() | names

    def row_of(self, model: str) -> QModelIndex:
        """The row of an id, or an invalid index."""
        ids = [info.id for info in self._rows]
        return self.index(ids.index(model)) if model in ids else QModelIndex()

    @Slot()
    def _update(self) -> None:
        # Rows come, go and change one by one, so that views keep selection and place.
        new = {info.id: info for info in self._store.models}
        for row in reversed(range(len(self._rows))):
            if self._rows[row].id not in new:
                self.beginRemoveRows(QModelIndex(), row, row)
                del self._rows[row]
                self.endRemoveRows()
        for row, info in enumerate(new.values()):
            if row == len(self._rows) or self._rows[row].id != info.id:
                self.beginInsertRows(QModelIndex(), row, row)
                self._rows.insert(row, info)
                self.endInsertRows()
            elif self._rows[row] != info:
                self._rows[row] = info
                self.dataChanged.emit(self.index(row), self.index(row))


def _spoken(info: ModelInfo) -> str:
    parts = (info.id, summary(info), state_words(info), info.problem or "")
    return ", ".join(part for part in parts if part)
