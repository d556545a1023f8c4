"""The left part of the Models page, of what is on this machine: adding, searching, the list.

Zone: app.widgets.library. Neighbours: `row` (how a model is drawn), `app.item_models.library`.
"""

from PySide6.QtCore import QEvent, QModelIndex, QSortFilterProxyModel, Qt, Signal, Slot
from PySide6.QtGui import QAction, QKeySequence, QShortcut
from PySide6.QtWidgets import QLineEdit, QListView, QVBoxLayout, QWidget

from app.item_models.library import LibraryItems, Role
from app.stores.models import ModelsStore
from app.theme import UNIT, shown_tokens
from app.widgets.common.buttons import plain_button
from app.widgets.common.icons import icon
from app.widgets.common.labels import label
from app.widgets.library.row import ModelRow


class ListPanel(QWidget):
    """All models, one of them chosen.

    Signals:
        add_wanted(): the user wants to add a file.
        remove_wanted(): the user wants the chosen model off the list.
    """

    add_wanted = Signal()
    remove_wanted = Signal()

    def __init__(self, store: ModelsStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._items = LibraryItems(store, self)
        self._matching = QSortFilterProxyModel(self)
        self._matching.setSourceModel(self._items)
        self._matching.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self._row = 0
        self._make_search()
        self._make_view()
        self._nothing = label(self.tr("No model has this in its name."), "soft", wrap=True)
        add = plain_button(self.tr("Add model…"), object_name="add-model", icon_name="plus")
        add.setToolTip(self.tr("Add a model file that lies on this machine (Ctrl+O)"))
        add.clicked.connect(self.add_wanted)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT)
        column.addWidget(add)
        column.addWidget(self._search)
        column.addWidget(self._nothing)
        column.addWidget(self._view, 1)
        store.changed.connect(self._choose)
        store.details_changed.connect(self._choose)
        self._choose()

    def _make_search(self) -> None:
        self._search = QLineEdit()
        self._search.setObjectName("search-models")
        self._search.setPlaceholderText(self.tr("Search models"))
        self._search.setAccessibleName(self.tr("Search models"))
        self._search.setToolTip(self.tr("Search models (Ctrl+F)"))
        self._search.setClearButtonEnabled(True)
        self._search.textChanged.connect(self._filter)
        self._glass = QAction(self._search)
        self._search.addAction(self._glass, QLineEdit.ActionPosition.LeadingPosition)
        self._draw_glass()

    def _make_view(self) -> None:
        self._view = QListView()
        self._view.setObjectName("models")
        self._view.setAccessibleName(self.tr("Models"))
        self._view.setToolTip(self.tr("Enter loads, Delete removes"))
        self._view.setModel(self._matching)
        self._view.setItemDelegate(ModelRow(self._view))
        self._view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._view.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self._view.setMouseTracking(True)
        self._view.selectionModel().currentChanged.connect(self._chosen)
        self._view.activated.connect(self._activated)
        delete = QShortcut(QKeySequence.StandardKey.Delete, self._view)
        delete.setContext(Qt.ShortcutContext.WidgetShortcut)
        delete.activated.connect(self.remove_wanted)

    def focus_search(self) -> None:
        """Put the cursor into the search field."""
        self._search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._search.selectAll()

    def changeEvent(self, event: QEvent) -> None:
        """Qt's hook: the palette changes with the theme."""
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_glass"):
            self._draw_glass()
        super().changeEvent(event)

    def _draw_glass(self) -> None:
        self._glass.setIcon(icon("magnifying-glass", shown_tokens().soft))

    @Slot(str)
    def _filter(self, text: str) -> None:
        self._matching.setFilterFixedString(text.strip())
        self._choose()

    @Slot(QModelIndex, QModelIndex)
    def _chosen(self, current: QModelIndex, _previous: QModelIndex) -> None:
        if current.isValid():
            self._row = current.row()
            self._store.select(current.data(Role.ID))

    @Slot(QModelIndex)
    def _activated(self, index: QModelIndex) -> None:
        if index.data(Role.STATE) in ("unloaded", "failed"):
            self._store.load(index.data(Role.ID))

    @Slot()
    def _choose(self) -> None:
        """Mark the store's model, or choose the one that moved to the place of the last one."""
        rows = self._matching.rowCount()
        self._nothing.setVisible(not rows and bool(self._search.text()))
        wanted = self._matching.mapFromSource(self._items.row_of(self._store.selected))
        if not wanted.isValid() and not self._store.selected and rows:
            wanted = self._matching.index(min(self._row, rows - 1), 0)
        if wanted.isValid() and wanted != self._view.currentIndex():
            self._view.setCurrentIndex(wanted)
