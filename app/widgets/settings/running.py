"""Settings: where models lie and how they are loaded. Neighbour: `section`."""

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QWidget

from app.stores.settings import SettingsStore
from app.widgets.common.buttons import plain_button
from app.widgets.settings.fields import ChoiceField, NumberField, SwitchField
from app.widgets.settings.section import Section


class RunningSection(Section):
    """Models: folder, threads, context, idle time, and how they are computed."""

    def __init__(self, store: SettingsStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store, self._default = store, store.paths.models
        self.set_title(self.tr("Models"))
        self._folder = self.add_row(
            self.tr("Models folder"), "", self._folder_buttons(), object_name="settings-folder"
        )
        self.add_row(
            self.tr("Threads"),
            self.tr("Cores that compute. Automatic uses those that other programs leave free."),
            NumberField(store, "models.threads", special=self.tr("Automatic")),
            object_name="settings-threads",
        )
        self.add_row(
            self.tr("Context"),
            self.tr(
                "Tokens a model keeps in mind, all conversations together. More takes more memory; "
                "automatic is at most 8,192."
            ),
            NumberField(
                store, "models.context", step=1024, special=self.tr("Automatic"), grouped=True
            ),
            object_name="settings-context",
        )
        self.add_row(
            self.tr("Unload when idle"),
            self.tr("Minutes without a request after which a model leaves memory."),
            NumberField(store, "models.idle_timeout_s", scale=60.0),
            object_name="settings-idle",
        )
        self._add_computing(store)
        store.changed.connect(self._show_folder)
        self._show_folder()

    def _add_computing(self, store: SettingsStore) -> None:
        backends = [
            ("", self.tr("Automatic")),
            ("llama.cpp", "llama.cpp"),
            ("torch-cuda", self.tr("torch on the GPU")),
            ("torch-cpu", self.tr("torch on the CPU")),
        ]
        self.add_row(
            self.tr("Backend"),
            self.tr("What computes. The models page says for each model why this one."),
            ChoiceField(store, "models.backend", backends),
            object_name="settings-backend",
        )
        ways = [
            ("", self.tr("As far as it pays")),
            ("off", self.tr("Never")),
        ]
        self.add_row(
            self.tr("Guess ahead"),
            self.tr(
                "Where a text repeats itself, the next words are guessed and computed together; "
                "the right ones are kept."
            ),
            ChoiceField(store, "models.speculation", ways),
            object_name="settings-speculation",
        )
        caches = [
            ("", self.tr("Automatic")),
            ("f16", self.tr("16 bits")),
            ("q8_0", self.tr("8 bits")),
        ]
        self.add_row(
            self.tr("Memory of the conversation"),
            self.tr(
                "llama.cpp: with 8 bits a number, twice the context fits into the same memory. Automatic takes "
                "them before it would shorten the context, if they were measured to be fast enough here."
            ),
            ChoiceField(store, "models.kv_type", caches),
            object_name="settings-kv-type",
        )
        self.add_row(
            self.tr("Same text every time"),
            self.tr(
                "llama.cpp: the same seed gives the same text, whatever else is computed "
                "(Q4_0, Q4_1 and Q8_0 files). Prompts are read more slowly."
            ),
            SwitchField(store, "models.exact"),
            object_name="settings-exact",
        )

    def _folder_buttons(self) -> QWidget:
        choose = plain_button(
            self.tr("Choose…"), object_name="settings-folder-choose", icon_name="folder-open"
        )
        choose.setToolTip(self.tr("Choose the folder where models are kept"))
        choose.clicked.connect(self.choose_folder)
        self._usual = plain_button(
            self.tr("Use the default"), object_name="settings-folder-default"
        )
        self._usual.setToolTip(str(self._default))
        self._usual.clicked.connect(self._use_default)
        box = QWidget()
        box.setToolTip(self.tr("Where models are kept"))
        row = QHBoxLayout(box)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self._usual)
        row.addWidget(choose)
        box.setFocusProxy(choose)
        return box

    @Slot()
    def choose_folder(self) -> QFileDialog:
        """Ask for a folder; the dialog is returned open."""
        now = self._store.values["models.folder"] or str(self._default)
        dialog = QFileDialog(self, self.tr("Choose the models folder"), now)
        dialog.setObjectName("settings-folder-dialog")
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self._use)
        dialog.open()
        return dialog

    @Slot(str)
    def _use(self, folder: str) -> None:
        self._store.set("models.folder", folder)

    @Slot()
    def _use_default(self) -> None:
        self._use("")

    @Slot()
    def _show_folder(self) -> None:
        chosen = self._store.values["models.folder"]
        self._folder.setText(chosen or str(self._default))
        self._usual.setVisible(bool(chosen))
