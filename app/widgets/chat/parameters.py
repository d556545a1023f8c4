"""The panel beside a chat: its system prompt and how its answers are sampled."""

from typing import TypeVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QDoubleSpinBox,
    QFormLayout,
    QFrame,
    QLabel,
    QPlainTextEdit,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from app.theme import UNIT
from app.widgets.common.buttons import plain_button

_WIDTH = 280
_ROW_HEIGHT = 36
Box = TypeVar("Box", QSpinBox, QDoubleSpinBox)


class ParametersPanel(QFrame):
    """What holds for this conversation; a field at its lowest step says nothing and the default counts.

    Signals:
        changed(str system_prompt, object parameters): the user is through with a field.
    """

    changed = Signal(str, object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("parameters")
        self.setFixedWidth(_WIDTH)
        title = QLabel(self.tr("This chat"))
        title.setProperty("role", "title")
        self.system = QPlainTextEdit()
        self.system.setObjectName("system_prompt")
        self.system.setAccessibleName(self.tr("System prompt"))
        self.system.setPlaceholderText(self.tr("How the model should behave"))
        self.system.setTabChangesFocus(True)
        self.system.setFixedHeight(120)
        default = self.tr("Default")
        self.temperature = self._decimal("temperature", self.tr("Temperature"), 2.0, default)
        self.top_p = self._decimal("top_p", self.tr("Top-p"), 1.0, default)
        self.min_p = self._decimal("min_p", self.tr("Min-p"), 1.0, default)
        self.top_k = self._whole("top_k", self.tr("Top-k"), 1000, default)
        self.max_tokens = self._whole(
            "max_tokens", self.tr("Longest answer"), 100_000, self.tr("No limit")
        )
        self.seed = self._whole("seed", self.tr("Seed"), 2**31 - 1, self.tr("Random"))
        form = QFormLayout()
        form.setHorizontalSpacing(2 * UNIT)
        form.setVerticalSpacing(UNIT)
        for box in self._boxes():
            label = QLabel(box.accessibleName())
            label.setMinimumHeight(_ROW_HEIGHT)
            label.setBuddy(box)
            form.addRow(label, box)
        reset = plain_button(self.tr("Back to defaults"), object_name="reset_parameters")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(2 * UNIT, 2 * UNIT, 2 * UNIT, 2 * UNIT)
        layout.setSpacing(UNIT)
        layout.addWidget(title)
        layout.addWidget(QLabel(self.tr("System prompt")))
        layout.addWidget(self.system)
        layout.addLayout(form)
        layout.addWidget(reset, alignment=Qt.AlignmentFlag.AlignLeft)
        layout.addStretch(1)
        reset.clicked.connect(self._reset)
        self.system.textChanged.connect(self._report)
        for box in self._boxes():
            box.valueChanged.connect(self._report)
        self._quiet = False

    def show_values(self, system_prompt: str, parameters: dict[str, float | int]) -> None:
        """Fill the fields without reporting it."""
        self._quiet = True
        if self.system.toPlainText() != system_prompt:
            self.system.setPlainText(system_prompt)
        for box in self._boxes():
            value = parameters.get(box.objectName(), box.minimum())
            if isinstance(box, QSpinBox):
                box.setValue(int(value))
            else:
                box.setValue(value)
        self._quiet = False

    def values(self) -> dict[str, float | int]:
        """What was set; defaults are left out."""
        return {
            box.objectName(): round(box.value(), 3)
            for box in self._boxes()
            if box.value() != box.minimum()
        }

    def _boxes(self) -> list[QSpinBox | QDoubleSpinBox]:
        return [self.temperature, self.top_p, self.top_k, self.min_p, self.max_tokens, self.seed]

    def _decimal(self, name: str, label: str, most: float, default: str) -> QDoubleSpinBox:
        box = QDoubleSpinBox()
        box.setRange(-0.05, most)
        box.setSingleStep(0.05)
        box.setDecimals(2)
        return self._named(box, name, label, default)

    def _whole(self, name: str, label: str, most: int, default: str) -> QSpinBox:
        box = QSpinBox()
        box.setRange(-1 if name in ("seed", "top_k") else 0, most)
        return self._named(box, name, label, default)

    def _named(self, box: Box, name: str, label: str, default: str) -> Box:
        box.setObjectName(name)
        box.setAccessibleName(label)
        box.setSpecialValueText(default)
        box.setValue(box.minimum())
        box.setKeyboardTracking(False)
        return box

    def _reset(self) -> None:
        self.show_values("", {})
        self._report()

    def _report(self) -> None:
        if not self._quiet:
            self.changed.emit(self.system.toPlainText(), self.values())
