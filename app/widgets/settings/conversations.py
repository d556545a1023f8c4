"""Settings: what is kept of conversations besides their text. Neighbours: `section`, `app.stores.kept`."""

from PySide6.QtCore import Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from app.item_models.library import size_text
from app.stores.kept import KeptStore
from app.stores.settings import SettingsStore
from app.widgets.common.buttons import plain_button
from app.widgets.settings.fields import ChoiceField, NumberField
from app.widgets.settings.section import Section

_MIB_PER_GB = 1024.0


class ConversationsSection(Section):
    """What models have read of conversations: where it is kept, how much of it, and away with it."""

    def __init__(
        self, store: SettingsStore, kept: KeptStore, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._store, self._kept = store, kept
        self.set_title(self.tr("Conversations"))
        places = [
            ("disk", self.tr("On disk: also after a restart")),
            ("memory", self.tr("In memory only")),
            ("off", self.tr("Not at all")),
        ]
        self.add_row(
            self.tr("Keep what models have read of conversations"),
            self.tr(
                "A long chat that is opened again need not be read again. Only your user account "
                "can read what is kept, and it is deleted with its chat."
            ),
            ChoiceField(store, "models.keep", places),
            object_name="settings-keep",
        )
        self._limit = NumberField(
            store, "models.keep_disk_mib", decimals=1, step=1.0, scale=_MIB_PER_GB, grouped=True
        )
        self.add_row(
            self.tr("Most space on disk"),
            self.tr("In GB, for all models together. What was used longest ago makes room."),
            self._limit,
            object_name="settings-keep-disk",
        )
        self._delete = plain_button(
            self.tr("Delete now"), object_name="settings-keep-delete", icon_name="trash"
        )
        self._delete.setToolTip(
            self.tr("Delete all that is kept; your chats stay and are read again when needed")
        )
        self._delete.clicked.connect(kept.delete)
        self._words = self.add_row(
            self.tr("Kept now"), "", self._delete, object_name="settings-keep-delete"
        )
        store.changed.connect(self._show)
        kept.changed.connect(self._show)
        self._show()

    def showEvent(self, event: QShowEvent) -> None:
        """Qt's hook: how much it is, is asked when somebody looks."""
        super().showEvent(event)
        self._kept.refresh()

    @Slot()
    def _show(self) -> None:
        usage = self._kept.usage
        self._limit.setEnabled(self._store.values["models.keep"] == "disk")
        self._delete.setEnabled(usage is not None and not self._kept.deleting)
        if self._kept.problem:
            words = self._kept.problem
        elif usage is None:
            words = "…"
        elif not usage.files:
            words = self.tr("Nothing on disk.")
        else:
            words = self.tr("{0} on disk, in {1}").format(size_text(usage.disk_bytes), usage.folder)
        self._words.setText(words)
