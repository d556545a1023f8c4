"""The files of a card as a Qt table: what each costs and does here. Neighbours: `app.stores.hub_card`, `app.widgets.library.choice_table`."""

from enum import IntEnum
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QCoreApplication,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Slot,
)

from app.item_models.hub_words import (
    ICONS,
    TONES,
    joined,
    plain_tip,
    speed_figure,
    speed_of,
    speed_text,
    verdict_text,
)
from app.item_models.library import size_text
from app.stores.hub_card import CardStore
from engine.api.hub import Fit, HubChoice

Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()


class Column(IntEnum):
    """From left to right."""

    QUANTIZATION = 0
    SIZE = 1
    NEEDS = 2
    VERDICT = 3
    SPEED = 4
    DOWNLOAD = 5
    """Empty here; the view puts a button into it."""


class Role(IntEnum):
    """What `data` can be asked for besides Qt's own roles."""

    NAME = Qt.ItemDataRole.UserRole + 1
    """`HubChoice.name`."""
    TONE = Qt.ItemDataRole.UserRole + 2
    """A token of the theme, of the verdict."""
    ICON = Qt.ItemDataRole.UserRole + 3
    RECOMMENDED = Qt.ItemDataRole.UserRole + 4
    """A word, or empty."""


class ChoiceItems(QAbstractTableModel):
    """One row a file that is a model."""

    def __init__(self, store: CardStore, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._rows = store.models
        store.changed.connect(self._reset)
        store.chosen_changed.connect(self._refresh)

    def rowCount(self, parent: Index = _ROOT) -> int:
        """Files."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _ROOT) -> int:
        """See `Column`."""
        return 0 if parent.isValid() else len(Column)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Qt's hook."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return int(_alignment(Column(section)))
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        return {
            Column.QUANTIZATION: QCoreApplication.translate("Hub", "Quantization"),
            Column.SIZE: QCoreApplication.translate("Hub", "Size"),
            Column.NEEDS: QCoreApplication.translate("Hub", "Needs"),
            Column.VERDICT: QCoreApplication.translate("Hub", "On this machine"),
            Column.SPEED: QCoreApplication.translate("Hub", "Tokens/s"),
            Column.DOWNLOAD: "",
        }[Column(section)]

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """See `Role`."""
        if not index.isValid() or not 0 <= index.row() < len(self._rows):
            return None
        choice, column = self._rows[index.row()], Column(index.column())
        fit = self._store.fit_of(choice)
        verdict = fit.verdict if fit else "unknown"
        recommended = QCoreApplication.translate("Hub", "Recommended") if choice.recommended else ""
        values: dict[int, object] = {
            Qt.ItemDataRole.DisplayRole: _text(choice, fit, column),
            Qt.ItemDataRole.ToolTipRole: plain_tip("\n".join(file.path for file in choice.files)),
            Qt.ItemDataRole.TextAlignmentRole: int(_alignment(column)),
            Qt.ItemDataRole.AccessibleTextRole: _spoken(choice, fit, column),
            Role.NAME: choice.name,
            Role.TONE: TONES[verdict],
            Role.ICON: ICONS[verdict],
            Role.RECOMMENDED: recommended,
        }
        return values.get(role)

    def row_of(self, name: str) -> int:
        """The row of a file, or -1."""
        names = [choice.name for choice in self._rows]
        return names.index(name) if name in names else -1

    @property
    def choices(self) -> tuple[HubChoice, ...]:
        """The rows."""
        return self._rows

    @Slot()
    def _reset(self) -> None:
        if self._rows != self._store.models:
            self.beginResetModel()
            self._rows = self._store.models
            self.endResetModel()

    @Slot()
    def _refresh(self) -> None:
        """Exact figures have come."""
        if self._rows:
            last = self.index(len(self._rows) - 1, len(Column) - 1)
            self.dataChanged.emit(self.index(0, 0), last)


def _text(choice: HubChoice, fit: Fit | None, column: Column) -> str:
    match column:
        case Column.QUANTIZATION:
            return choice.quantization or choice.name
        case Column.SIZE:
            return size_text(choice.size_bytes)
        case Column.NEEDS:
            return size_text(fit.needed_bytes) if fit and fit.needed_bytes else ""
        case Column.VERDICT:
            return verdict_text(fit.verdict if fit else "unknown")
        case Column.SPEED:
            return speed_figure(speed_of(fit))
        case Column.DOWNLOAD:
            return ""


def _spoken(choice: HubChoice, fit: Fit | None, column: Column) -> str:
    """The first cell tells the whole row: who walks by rows hears all of it."""
    if column != Column.QUANTIZATION:
        return _text(choice, fit, column)
    cells = [_text(choice, fit, cell) for cell in Column if cell != Column.SPEED]
    cells.append(speed_text(speed_of(fit)))
    if choice.recommended:
        cells.append(QCoreApplication.translate("Hub", "Recommended"))
    return joined(*cells)


def _alignment(column: Column) -> Qt.AlignmentFlag:
    figures = column in (Column.SIZE, Column.NEEDS, Column.SPEED)
    side = Qt.AlignmentFlag.AlignRight if figures else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter
