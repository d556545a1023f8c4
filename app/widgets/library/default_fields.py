"""Fields for one default of a model each; the lowest step says nothing, so that the general setting holds.

Zone: app.widgets.library. Neighbour: `defaults` (the form).
"""

from collections.abc import Sequence

from PySide6.QtCore import QLocale, Qt, Signal, Slot
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QComboBox, QPlainTextEdit, QWidget

from app.theme import UNIT, tabular
from app.widgets.common.steady import SteadySpinBox

WIDTH = 176
"""Least, in pixels, so that all fields line up."""
_DIGITS = 3


class NumberDefault(SteadySpinBox):
    """A number, or nothing below `least`.

    Signals:
        chosen(object number): an int, a float or None.
    """

    chosen = Signal(object)

    def __init__(
        self,
        unset: str,
        least: float,
        most: float,
        step: float,
        *,
        whole: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        """Show nothing chosen, in the word `unset`."""
        super().__init__(parent)
        self._least, self._whole = least, whole
        self.setMinimumWidth(WIDTH)
        self.setFont(tabular(self.font()))
        self.setDecimals(0 if whole else _DIGITS)
        self.setRange(0.0 if least > 0 else least - step, most)
        self.setSingleStep(step)
        self.setGroupSeparatorShown(whole)
        self.setSpecialValueText(unset)
        self.setKeyboardTracking(False)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setValue(self.minimum())
        self.valueChanged.connect(self._tell)

    def show_value(self, value: object) -> None:
        """Show a number or None, without a signal. What is being typed stays where nothing is new."""
        wanted = float(value) if isinstance(value, int | float) else self.minimum()
        if wanted != self.value():
            blocked = self.blockSignals(True)
            self.setValue(wanted)
            self.blockSignals(blocked)

    def textFromValue(self, value: float) -> str:
        """Qt's hook: 0.7, not 0.700."""
        if self._whole:
            return super().textFromValue(value)
        return QLocale().toString(round(value, _DIGITS), "g", 6)

    @Slot(float)
    def _tell(self, shown: float) -> None:
        if shown < self._least:
            self.show_value(None)
            self.chosen.emit(None)
        else:
            self.chosen.emit(round(shown) if self._whole else round(shown, _DIGITS))


class ChoiceDefault(QComboBox):
    """One of a few values; the first is none.

    Signals:
        chosen(object value): a str or None.
    """

    chosen = Signal(object)

    def __init__(self, choices: Sequence[tuple[str, str]], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setMinimumWidth(WIDTH)
        for value, words in choices:
            self.addItem(words, value)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.activated.connect(self._tell)

    def show_value(self, value: object) -> None:
        """Show a value or None."""
        self.setCurrentIndex(max(0, self.findData(value or "")))

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Qt's hook: scrolling the page over a choice must not change it."""
        event.ignore()

    @Slot(int)
    def _tell(self, index: int) -> None:
        self.chosen.emit(self.itemData(index) or None)


class TextDefault(QPlainTextEdit):
    """A text of several lines; white space alone is none.

    Signals:
        chosen(object text): a str or None.
    """

    chosen = Signal(object)

    def __init__(self, hint: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setPlaceholderText(hint)
        self.setTabChangesFocus(True)
        self.setFixedHeight(12 * UNIT)
        self.textChanged.connect(self._tell)

    def show_value(self, value: object) -> None:
        """Show a text or None, without a signal."""
        wanted = value if isinstance(value, str) else ""
        # white space that is being typed is none yet
        if wanted != (self.toPlainText() if self.toPlainText().strip() else ""):
            blocked = self.blockSignals(True)
            self.setPlainText(wanted)
            self.blockSignals(blocked)

    @Slot()
    def _tell(self) -> None:
        text = self.toPlainText()
        self.chosen.emit(text if text.strip() else None)
