"""Settings: the service other programs can use. Neighbour: `section`."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from app.stores.settings import SettingsStore
from app.theme import UNIT, code_font
from app.widgets.common.buttons import plain_button
from app.widgets.common.labels import IconLabel, label
from app.widgets.settings.fields import NumberField
from app.widgets.settings.section import Section


class ServiceSection(Section):
    """Port, network, key.

    Signals:
        said(str sentence): something worth a short notice happened.
    """

    said = Signal(str)

    def __init__(self, store: SettingsStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self.set_title(self.tr("Service"))
        self.add_row(
            self.tr("Port"),
            self.tr("Where programs on this machine find the models."),
            NumberField(store, "server.port", special=self.tr("Any free one")),
            object_name="settings-port",
        )
        self._share = QCheckBox(self)
        self._share.toggled.connect(store.share)
        self._share_words = self.add_row(
            self.tr("Share on the network"), "", self._share, object_name="settings-share"
        )
        self._warning = self._make_warning()
        self.add_widget(self._warning)
        self._key_words = self.add_row(
            self.tr("Key"), "", self._key_box(), object_name="settings-key-box"
        )
        store.changed.connect(self._show)
        self._show()

    def _make_warning(self) -> QWidget:
        words = label(
            self.tr(
                "Warning: whoever has the key can use your models, and what is sent can be read "
                "on its way, as it is not encrypted. Share only on a network that you trust."
            ),
            "warn",
            wrap=True,
        )
        words.setObjectName("settings-share-warning")
        box = QWidget()
        row = QHBoxLayout(box)
        row.setContentsMargins(0, 0, 0, 12)
        row.setSpacing(UNIT)
        row.addWidget(IconLabel("warning", "warn"), 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(words, 1)
        return box

    def _key_box(self) -> QWidget:
        self._key = QLineEdit()
        self._key.setObjectName("settings-key")
        self._key.setAccessibleName(self.tr("Key"))
        self._key.setToolTip(self.tr("What other programs have to send"))
        self._key.setReadOnly(True)
        self._key.setFont(code_font())
        self._key.setMinimumWidth(280)
        self._reveal = plain_button("", object_name="settings-key-show")
        self._reveal.setToolTip(self.tr("Show or hide the key"))
        self._reveal.setCheckable(True)
        self._reveal.toggled.connect(self._show)
        self._copy = plain_button(self.tr("Copy"), object_name="settings-key-copy")
        self._copy.setToolTip(self.tr("Copy the key"))
        self._copy.clicked.connect(self._copy_key)
        new = plain_button(self.tr("New key"), object_name="settings-key-new")
        new.setToolTip(
            self.tr("Make a new key; the old one ends with the next start of the service")
        )
        new.clicked.connect(self._store.new_key)
        self._drop = plain_button(self.tr("No key"), object_name="settings-key-drop")
        self._drop.setToolTip(self.tr("Ask programs on this machine for no key"))
        self._drop.clicked.connect(self._drop_key)
        box = QWidget()
        column = QVBoxLayout(box)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._key)
        row = QHBoxLayout()
        row.addStretch(1)
        for button in (self._reveal, self._copy, new, self._drop):
            row.addWidget(button)
        column.addLayout(row)
        box.setFocusProxy(self._key)
        return box

    @Slot()
    def _copy_key(self) -> None:
        QGuiApplication.clipboard().setText(self._store.values["server.api_key"])
        self.said.emit(self.tr("The key was copied."))

    @Slot()
    def _drop_key(self) -> None:
        self._store.set("server.api_key", "")

    @Slot()
    def _show(self) -> None:
        key = self._store.values["server.api_key"]
        shared = self._store.shared
        blocked = self._share.blockSignals(True)
        self._share.setChecked(shared)
        self._share.blockSignals(blocked)
        self._key.setText(key)
        self._key.setPlaceholderText(self.tr("No key"))
        plain = self._reveal.isChecked()
        self._key.setEchoMode(QLineEdit.EchoMode.Normal if plain else QLineEdit.EchoMode.Password)
        self._reveal.setText(self.tr("Hide") if plain else self.tr("Show"))
        for button in (self._reveal, self._copy):
            button.setVisible(bool(key))
        self._drop.setVisible(bool(key) and not shared)
        self._share_words.setText(
            self.tr("On: other machines reach the service under this machine's name.")
            if shared
            else self.tr("Off: only programs on this machine reach the service.")
        )
        self._warning.setVisible(shared)
        self._key_words.setText(
            self.tr("What other programs have to send.")
            if key
            else self.tr("None: every program on this machine may use the models.")
        )
