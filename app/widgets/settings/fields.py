"""Controls that show one setting and save it as soon as it is changed.

Zone: app.widgets.settings. Neighbours: `app.stores.settings`, `section` (the rows they stand in).
"""

from collections.abc import Sequence
from typing import cast

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QCheckBox, QWidget

from app.preferences import RANGES
from app.stores.settings import SettingsStore
from app.theme import tabular
from app.widgets.common.steady import SteadyComboBox, SteadySpinBox

FIELD_WIDTH = 176
"""Least width, so that the fields of a section line up."""


class NumberField(SteadySpinBox):
    """A number. `special` is what the lowest value is called; `scale` shows seconds as minutes."""

    def __init__(
        self,
        store: SettingsStore,
        name: str,
        *,
        decimals: int = 0,
        step: float = 1.0,
        scale: float = 1.0,
        special: str = "",
        grouped: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._store, self._name, self._scale = store, name, scale
        low, high = RANGES[name]
        self.setMinimumWidth(FIELD_WIDTH)
        self.setFont(tabular(self.font()))
        self.setDecimals(decimals)
        self.setRange(low / scale, high / scale)
        self.setSingleStep(step)
        self.setSpecialValueText(special)
        self.setGroupSeparatorShown(grouped)
        self.setKeyboardTracking(False)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # the wheel alone must not change a setting
        self._show(name)
        self.valueChanged.connect(self._save)
        store.changed.connect(self._show)

    @Slot(float)
    def _save(self, shown: float) -> None:
        whole = isinstance(self._store.values[self._name], int)
        value = round(shown * self._scale, 6)
        self._store.set(self._name, round(value) if whole else value)

    @Slot(str)
    def _show(self, name: str) -> None:
        if name != self._name:
            return
        blocked = self.blockSignals(True)
        self.setValue(cast(float, self._store.values[name]) / self._scale)
        self.blockSignals(blocked)


class ChoiceField(SteadyComboBox):
    """One of a few values; `choices` are (value, what it is called)."""

    def __init__(
        self,
        store: SettingsStore,
        name: str,
        choices: Sequence[tuple[str, str]],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._store, self._name = store, name
        self.setMinimumWidth(FIELD_WIDTH)
        for value, label in choices:
            self.addItem(label, value)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._show(name)
        self.currentIndexChanged.connect(self._save)
        store.changed.connect(self._show)

    @Slot(int)
    def _save(self, index: int) -> None:
        self._store.set(self._name, self.itemData(index))

    @Slot(str)
    def _show(self, name: str) -> None:
        if name != self._name:
            return
        blocked = self.blockSignals(True)
        self.setCurrentIndex(self.findData(self._store.values[name]))
        self.blockSignals(blocked)


class SwitchField(QCheckBox):
    """Yes or no."""

    def __init__(self, store: SettingsStore, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store, self._name = store, name
        self._show(name)
        self.toggled.connect(self._save)
        store.changed.connect(self._show)

    @Slot(bool)
    def _save(self, on: bool) -> None:
        self._store.set(self._name, on)

    @Slot(str)
    def _show(self, name: str) -> None:
        if name != self._name:
            return
        blocked = self.blockSignals(True)
        self.setChecked(bool(self._store.values[name]))
        self.blockSignals(blocked)
