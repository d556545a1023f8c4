"""Settings: how the next token is chosen where a conversation says nothing else. Neighbour: `section`."""

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.preferences import Preferences
from app.stores.settings import SettingsStore
from app.widgets.common.buttons import plain_button
from app.widgets.settings.fields import NumberField, SwitchField
from app.widgets.settings.section import Section

_NAMES = (
    "generation.temperature",
    "generation.top_p",
    "generation.top_k",
    "generation.min_p",
    "desktop.max_tokens",
    "desktop.read_along",
)


class AnswersSection(Section):
    """Default parameters of answers."""

    def __init__(self, store: SettingsStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self.set_title(self.tr("Answers"))
        self.add_row(
            self.tr("Temperature"),
            self.tr("0 always takes the most likely word; higher is more varied."),
            NumberField(store, "generation.temperature", decimals=2, step=0.05),
            object_name="settings-temperature",
        )
        self.add_row(
            self.tr("Top-p"),
            self.tr("Keeps the most likely tokens until their shares add up to this."),
            NumberField(store, "generation.top_p", decimals=2, step=0.01),
            object_name="settings-top-p",
        )
        self.add_row(
            self.tr("Top-k"),
            self.tr("Keeps this many of the most likely tokens."),
            NumberField(store, "generation.top_k", special=self.tr("All")),
            object_name="settings-top-k",
        )
        self.add_row(
            self.tr("Min-p"),
            self.tr("Drops tokens less likely than this share of the most likely one."),
            NumberField(store, "generation.min_p", decimals=2, step=0.01),
            object_name="settings-min-p",
        )
        self.add_row(
            self.tr("Longest answer"),
            self.tr("In tokens; a token is about three quarters of an English word."),
            NumberField(
                store,
                "desktop.max_tokens",
                step=128,
                special=self.tr("As long as it takes"),
                grouped=True,
            ),
            object_name="settings-max-tokens",
        )
        self.add_row(
            self.tr("Read along while I type"),
            self.tr("A loaded model reads a message before it is sent, and answers sooner."),
            SwitchField(store, "desktop.read_along"),
            object_name="settings-read-along",
        )
        self._reset = plain_button(
            self.tr("Use the defaults"), object_name="settings-reset-answers"
        )
        self._reset.setToolTip(self.tr("Set all of these back to their defaults"))
        self._reset.clicked.connect(self._to_defaults)
        foot = QWidget()
        row = QHBoxLayout(foot)
        row.setContentsMargins(0, 12, 0, 0)
        row.addWidget(self._reset)
        row.addStretch(1)
        self.add_widget(foot)
        store.changed.connect(self._compare)
        self._compare()

    @Slot()
    def _to_defaults(self) -> None:
        for name in _NAMES:
            self._store.set(name, Preferences()[name])

    @Slot()
    def _compare(self) -> None:
        defaults, values = Preferences(), self._store.values
        self._reset.setEnabled(any(values[name] != defaults[name] for name in _NAMES))
