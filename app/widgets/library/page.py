"""The Models page: the list, the chosen model, adding and removing; a welcome where there are no models.

Zone: app.widgets. Neighbours: `app.stores.models`, `list_panel`, `details`, `welcome`.
"""

from functools import partial

from PySide6.QtCore import QRect, Qt, QUrl, Signal, Slot
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QKeySequence,
    QResizeEvent,
    QShortcut,
)
from PySide6.QtWidgets import QFileDialog, QFrame, QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from app.stores.models import ModelsStore
from app.stores.settings import SettingsStore
from app.theme import TEXT_WIDTH, UNIT
from app.widgets.common.empty_state import EmptyState
from app.widgets.common.error_box import ErrorBox
from app.widgets.library.details import DetailsPane
from app.widgets.library.list_panel import ListPanel
from app.widgets.library.welcome import Welcome
from app.widgets.translated_page import TranslatedPage


class ModelsPage(TranslatedPage):
    """Models.

    Signals:
        said(str sentence, str action, object callback): for a short notice; with an action, pressing it
            calls `callback()`. Without, both are empty.
        restart_wanted(): the service should be started again with the new settings.
    """

    said = Signal(str, str, object)
    restart_wanted = Signal()

    def __init__(
        self, store: ModelsStore, settings: SettingsStore, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._store = store
        self._settings = settings
        self.setAcceptDrops(True)
        self.rebuild()
        store.changed.connect(self._show)
        store.details_changed.connect(self._show)
        store.failed.connect(self._say)
        store.removed.connect(self._offer_undo)
        open_key = QShortcut(QKeySequence.StandardKey.Open, self)
        open_key.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        open_key.activated.connect(self.choose_file)

    def build(self) -> QWidget:
        """See `TranslatedPage`."""
        self.setAccessibleName(self.tr("Models"))
        self._list = ListPanel(self._store)
        self._trouble = ErrorBox()
        self._trouble.setMaximumWidth(TEXT_WIDTH)
        self._stack = QStackedWidget()
        self._loading = EmptyState("cube", self.tr("Looking through the models folder…"))
        self._offline = EmptyState("warning", self.tr("The models cannot be shown"))
        self._welcome = Welcome(self._store.starter)
        self._details = DetailsPane(self._store, self._settings)
        self._none = EmptyState("cube", self.tr("Choose a model in the list."))
        for page in (self._loading, self._offline, self._welcome, self._details, self._none):
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
        content = QWidget()
        row = QHBoxLayout(content)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self._list)
        row.addLayout(body, 1)
        return content

    def _connect(self) -> None:
        self._list.add_wanted.connect(self.choose_file)
        self._list.remove_wanted.connect(self._remove)
        self._details.remove_wanted.connect(self._remove)
        self._details.said.connect(self._say)
        self._details.backend_chosen.connect(self._offer_restart)
        self._welcome.file_wanted.connect(self.choose_file)
        self._offline.acted.connect(self._store.refresh)
        self._trouble.acted.connect(self._store.refresh)

    # --- showing --------------------------------------------------------------------------------

    @Slot()
    def _show(self) -> None:
        store = self._store
        self._list.setVisible(bool(store.models))
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
        if store.models:
            return self._details if store.get(store.selected) else self._none
        return {"loading": self._loading, "offline": self._offline}.get(store.phase, self._welcome)

    def focus_search(self) -> None:
        """Put the cursor into the search field, where there is a list."""
        if self._store.models:
            self._list.focus_search()

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
    def _remove(self) -> None:
        self._store.remove(self._store.selected)

    @Slot(str)
    def _offer_undo(self, model: str) -> None:
        undo = partial(self._store.undo_remove, model)
        self.said.emit(self.tr("{0} was removed.").format(model), self.tr("Undo"), undo)

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
