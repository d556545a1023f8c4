"""The Models page: what is on this machine, and finding more; a welcome where there are no models; the downloads below.

Zone: app.widgets. Neighbours: `app.stores.models`, `app.stores.hub`, `side` (the left part), `details`, `card_page`, `welcome`, `downloads`.
"""

from functools import partial

from PySide6.QtCore import QRect, Qt, QUrl, Signal, Slot
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QHideEvent,
    QKeySequence,
    QResizeEvent,
    QShortcut,
    QShowEvent,
)
from PySide6.QtWidgets import QFileDialog, QFrame, QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from app.stores.downloads import DownloadsStore
from app.stores.hub import HubStore
from app.stores.models import ModelsStore
from app.stores.settings import SettingsStore
from app.theme import TEXT_WIDTH, UNIT
from app.widgets.common.empty_state import EmptyState
from app.widgets.common.error_box import ErrorBox
from app.widgets.library.card_page import CardPage
from app.widgets.library.details import DetailsPane
from app.widgets.library.downloads import DownloadsPanel
from app.widgets.library.side import Side
from app.widgets.library.welcome import Welcome
from app.widgets.translated_page import TranslatedPage


class ModelsPage(TranslatedPage):
    """Models.

    Args:
        store: those on this machine.
        settings: of each model, which backend computes it.
        hub: where more are found.
        downloads: those on their way.
        parent: as Qt's.

    Signals:
        said(str sentence, str action, object callback): for a short notice; with an action, pressing it
            calls `callback()`. Without, both are empty.
        restart_wanted(): the service should be started again with the new settings.
    """

    said = Signal(str, str, object)
    restart_wanted = Signal()

    def __init__(
        self,
        store: ModelsStore,
        settings: SettingsStore,
        hub: HubStore,
        downloads: DownloadsStore,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._store, self._settings = store, settings
        self._hub, self._downloads = hub, downloads
        self.setAcceptDrops(True)
        self.rebuild()
        store.changed.connect(self._show)
        store.details_changed.connect(self._show)
        store.failed.connect(self._say)
        store.removed.connect(self._offer_undo)
        store.deleted.connect(self._tell_deletion)
        downloads.failed.connect(self._say)
        downloads.arrived.connect(self._tell_arrival)
        downloads.cancelled.connect(self._offer_download_back)
        open_key = QShortcut(QKeySequence.StandardKey.Open, self)
        open_key.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        open_key.activated.connect(self.choose_file)

    def build(self) -> QWidget:
        """See `TranslatedPage`."""
        self.setAccessibleName(self.tr("Models"))
        self._side = Side(self._store, self._hub)
        self._side.show_hub(self._hub.finding)
        self._trouble = ErrorBox()
        self._trouble.setMaximumWidth(TEXT_WIDTH)
        self._stack = QStackedWidget()
        self._loading = EmptyState("cube", self.tr("Looking through the models folder…"))
        self._offline = EmptyState("warning", self.tr("The models cannot be shown"))
        self._welcome = Welcome(self._store.starter, self._hub.suggestion, self._downloads)
        self._details = DetailsPane(self._store, self._settings)
        self._none = EmptyState("cube", self.tr("Choose a model in the list."))
        self._card = CardPage(self._hub.card, self._downloads)
        self._waiting = DownloadsPanel(self._downloads)
        for page in (
            self._loading,
            self._offline,
            self._welcome,
            self._details,
            self._none,
            self._card,
        ):
            self._stack.addWidget(page)
        content = self._laid_out()
        self._drop = QFrame(content)
        self._drop.setObjectName("card")
        QVBoxLayout(self._drop).addWidget(
            EmptyState("download-simple", self.tr("Drop the file to add it"))
        )
        self._drop.hide()
        self._connect()
        self._show()
        return content

    def _laid_out(self) -> QWidget:
        strip = QHBoxLayout()
        strip.setContentsMargins(4 * UNIT, 2 * UNIT, 4 * UNIT, 0)
        strip.addStretch(1)
        strip.addWidget(self._trouble, 100)
        strip.addStretch(1)
        body = QVBoxLayout()
        body.setSpacing(0)
        body.addLayout(strip)
        body.addWidget(self._stack, 1)
        body.addWidget(self._waiting)
        content = QWidget()
        row = QHBoxLayout(content)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self._side)
        row.addLayout(body, 1)
        return content

    def _connect(self) -> None:
        self._side.hub_wanted.connect(self.show_hub)
        self._side.add_wanted.connect(self.choose_file)
        self._side.remove_wanted.connect(self._remove)
        self._details.remove_wanted.connect(self._remove)
        self._details.said.connect(self._say)
        self._details.backend_chosen.connect(self._offer_restart)
        self._welcome.file_wanted.connect(self.choose_file)
        self._welcome.search_wanted.connect(self._start_search)
        self._waiting.model_wanted.connect(self._show_model)
        self._offline.acted.connect(self._store.refresh)
        self._trouble.acted.connect(self._store.refresh)

    # --- showing --------------------------------------------------------------------------------

    @Slot()
    def _show(self) -> None:
        store = self._store
        self._side.setVisible(bool(store.models) or self._hub.finding)
        known_before = store.problem if store.models else ""
        if trouble := known_before or store.notice:
            self._trouble.show_error(trouble, action=self.tr("Try again"))
        else:
            self._trouble.clear()
        self._offline.set_words(
            self.tr("The models cannot be shown"), store.problem, self.tr("Try again")
        )
        self._stack.setCurrentWidget(self._current())

    def _current(self) -> QWidget:
        store = self._store
        if self._hub.finding:
            return self._card
        if store.models:
            return self._details if store.get(store.selected) else self._none
        return {"loading": self._loading, "offline": self._offline}.get(store.phase, self._welcome)

    def showEvent(self, event: QShowEvent) -> None:
        """Qt's hook: the downloads are followed while somebody looks."""
        super().showEvent(event)
        self._downloads.watch(True)

    def hideEvent(self, event: QHideEvent) -> None:
        """Qt's hook."""
        super().hideEvent(event)
        self._downloads.watch(False)

    @Slot(bool)
    def show_hub(self, on: bool) -> None:
        """Look for models on the hub, or at those on this machine."""
        self._hub.finding = on
        self._side.show_hub(on)
        self._show()

    def focus_search(self) -> None:
        """Put the cursor into the search field, where there is a list."""
        if self._hub.finding or self._store.models:
            self._side.focus_search()

    # --- wishes ---------------------------------------------------------------------------------

    @Slot()
    def choose_file(self) -> QFileDialog:
        """Ask for model files; the dialog is returned open."""
        dialog = QFileDialog(self, self.tr("Add model files"))
        dialog.setObjectName("add-model-dialog")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setNameFilter(self.tr("Models") + " (*.gguf)")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.filesSelected.connect(self._store.add)
        dialog.open()
        return dialog

    @Slot()
    def _start_search(self) -> None:
        self.show_hub(True)
        self.focus_search()

    @Slot(str)
    def _show_model(self, model: str) -> None:
        self.show_hub(False)
        self._store.select(model)

    @Slot()
    def _remove(self) -> None:
        self._store.remove(self._store.selected)

    @Slot(str)
    def _offer_undo(self, model: str) -> None:
        undo = partial(self._store.undo_remove, model)
        hidden = self._store.lies_elsewhere(model)
        words = self.tr("{0} is hidden; its file stays.") if hidden else self.tr("{0} was removed.")
        self.said.emit(words.format(model), self.tr("Undo"), undo)

    @Slot(str, bool)
    def _tell_deletion(self, model: str, trashed: bool) -> None:
        words = (
            self.tr("The file of {0} is in the trash.") if trashed else self.tr("{0} was removed.")
        )
        self._say(words.format(model))

    @Slot(str, str)
    def _offer_download_back(self, download: str, name: str) -> None:
        undo = partial(self._downloads.undo_cancel, download)
        self.said.emit(
            self.tr("The download of {0} was cancelled.").format(name), self.tr("Undo"), undo
        )

    @Slot(str)
    def _tell_arrival(self, model: str) -> None:
        self._store.refresh()
        if model:
            show = partial(self._show_model, model)
            self.said.emit(self.tr("{0} is ready.").format(model), self.tr("Show"), show)

    @Slot(str)
    def _offer_restart(self, model: str) -> None:
        words = self.tr("The next start of the service loads {0} that way.").format(model)
        self.said.emit(words, self.tr("Restart now"), self.restart_wanted.emit)

    @Slot(str)
    def _say(self, sentence: str) -> None:
        self.said.emit(sentence, "", None)

    # --- drag and drop ----------------------------------------------------------------------------

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Qt's hook."""
        if _model_files(event.mimeData().urls()):
            event.acceptProposedAction()
            self._drop.setGeometry(self._drop_area())
            self._drop.raise_()
            self._drop.show()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        """Qt's hook."""
        del event
        self._drop.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        """Qt's hook."""
        self._drop.hide()
        event.acceptProposedAction()
        self._store.add(_model_files(event.mimeData().urls()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt's hook."""
        super().resizeEvent(event)
        self._drop.setGeometry(self._drop_area())

    def _drop_area(self) -> QRect:
        return self.rect().adjusted(2 * UNIT, 2 * UNIT, -2 * UNIT, -2 * UNIT)


def _model_files(urls: list[QUrl]) -> list[str]:
    paths = [url.toLocalFile() for url in urls if url.isLocalFile()]
    return [path for path in paths if path.lower().endswith(".gguf")]
