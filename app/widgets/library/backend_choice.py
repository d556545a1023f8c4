"""Which backend computes one model: left to the plan, or forced.

Zone: app.widgets.library. Saved in the settings at once; the service reads them when it starts.
"""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QComboBox, QWidget

from app.stores.settings import SettingsStore


class BackendChoice(QComboBox):
    """One model's choice.

    Signals:
        chosen(str model): another backend was chosen for it; the service must start again.
    """

    chosen = Signal(str)

    def __init__(self, settings: SettingsStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self._model = ""
        self.setObjectName("model-backend")
        self.setAccessibleName(self.tr("Backend of this model"))
        self.setToolTip(self.tr("What computes this model; the reasons above say why"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        for value, words in (
            ("", self.tr("Backend: automatic")),
            ("llama.cpp", self.tr("Backend: llama.cpp")),
            ("torch-cuda", self.tr("Backend: torch on the GPU")),
            ("torch-cpu", self.tr("Backend: torch on the CPU")),
        ):
            self.addItem(words, value)
        self.activated.connect(self._choose)

    def show_model(self, model: str) -> None:
        """Show what is chosen for a model."""
        self._model = model
        backend = self._settings.values["models.backend_for"].get(model, "")
        self.setCurrentIndex(max(0, self.findData(backend)))

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Qt's hook: scrolling the page must not change it."""
        event.ignore()

    @Slot(int)
    def _choose(self, index: int) -> None:
        chosen = dict(self._settings.values["models.backend_for"])
        before = chosen.pop(self._model, "")
        backend = self.itemData(index)
        if backend:
            chosen[self._model] = backend
        if backend != before:
            self._settings.set("models.backend_for", chosen)
            self.chosen.emit(self._model)
