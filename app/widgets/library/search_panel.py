"""The left part of the page while models are searched: the field, the order, what was found, more of it.

Zone: app.widgets.library. Neighbours: `result_row` (how one is drawn), `app.stores.hub_search`.
"""

from typing import get_args

from PySide6.QtCore import QEvent, QModelIndex, Qt, Slot
from PySide6.QtGui import QAction, QShowEvent
from PySide6.QtWidgets import QComboBox, QLineEdit, QListView, QVBoxLayout, QWidget

from app.item_models.hub import HubItems, Role
from app.stores.hub import HubStore
from app.theme import UNIT, shown_tokens
from app.widgets.common.buttons import plain_button
from app.widgets.common.error_box import ErrorBox
from app.widgets.common.icons import icon
from app.widgets.common.labels import label
from app.widgets.library.result_row import ResultRow
from engine.api.hub import Sort


class SearchPanel(QWidget):
    """Searching the hub; the chosen repository is opened."""

    def __init__(self, store: HubStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._search, self._card = store.search, store.card
        self._items = HubItems(self._search, self)
        self._make_field()
        self._make_order()
        self._make_view()
        self._said = label(role="soft", wrap=True)
        self._said.setObjectName("hub-said")
        self._trouble = ErrorBox()
        self._trouble.acted.connect(self._search.ask)
        self._more = plain_button(self.tr("More"), object_name="hub-more")
        self._more.setToolTip(self.tr("Show more of what was found"))
        self._more.clicked.connect(self._search.more)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT)
        column.addWidget(self._field)
        column.addWidget(self._order)
        column.addWidget(self._said)
        column.addWidget(self._trouble)
        column.addWidget(self._view, 1)
        column.addWidget(self._more)
        self._search.changed.connect(self._show)
        self._card.changed.connect(self._mark)
        self._show()

    def _make_field(self) -> None:
        self._field = QLineEdit(self._search.text)
        self._field.setObjectName("hub-search")
        self._field.setPlaceholderText(self.tr("Search the hub"))
        self._field.setAccessibleName(self.tr("Search the hub"))
        self._field.setToolTip(self.tr("Search the hub (Ctrl+F)"))
        self._field.setClearButtonEnabled(True)
        self._field.textChanged.connect(self._search.set_text)
        self._field.returnPressed.connect(self._search.ask)
        self._glass = QAction(self._field)
        self._field.addAction(self._glass, QLineEdit.ActionPosition.LeadingPosition)
        self._draw_glass()

    def _make_order(self) -> None:
        words: dict[Sort, str] = {
            "trending": self.tr("Trending first"),
            "downloads": self.tr("Most downloads first"),
            "likes": self.tr("Most liked first"),
            "updated": self.tr("Newest first"),
        }
        self._order = QComboBox()
        self._order.setObjectName("hub-sort")
        self._order.setAccessibleName(self.tr("Order"))
        self._order.setToolTip(self.tr("What stands first"))
        for sort in get_args(Sort):
            self._order.addItem(words[sort], sort)
        self._order.setCurrentIndex(self._order.findData(self._search.sort))
        self._order.currentIndexChanged.connect(self._sort)

    def _make_view(self) -> None:
        self._view = QListView()
        self._view.setObjectName("hub-results")
        self._view.setAccessibleName(self.tr("What was found"))
        self._view.setToolTip(self.tr("Models of the hub"))
        self._view.setModel(self._items)
        self._view.setItemDelegate(ResultRow(self._view))
        self._view.setUniformItemSizes(True)
        self._view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._view.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self._view.setMouseTracking(True)
        self._view.selectionModel().currentChanged.connect(self._chosen)
        self._items.modelReset.connect(self._mark)

    def focus_search(self) -> None:
        """Put the cursor into the search field."""
        self._field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._field.selectAll()

    def showEvent(self, event: QShowEvent) -> None:
        """Qt's hook: the hub is asked when somebody looks."""
        super().showEvent(event)
        self._search.look()
        self._mark()

    def changeEvent(self, event: QEvent) -> None:
        """Qt's hook: the palette changes with the theme."""
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_glass"):
            self._draw_glass()
        super().changeEvent(event)

    def _draw_glass(self) -> None:
        self._glass.setIcon(icon("magnifying-glass", shown_tokens().soft))

    @Slot()
    def _show(self) -> None:
        search = self._search
        if search.problem:
            self._trouble.show_error(search.problem, action=self.tr("Try again"))
        else:
            self._trouble.clear()
        self._said.setText(self._words())
        self._said.setVisible(bool(self._said.text()))
        self._more.setVisible(search.has_more)
        self._more.setEnabled(not search.asking)

    def _words(self) -> str:
        search = self._search
        if search.asking:
            return self.tr("Searching…")
        if search.problem:
            return ""
        if search.offline:
            return self.tr("The hub was not asked: these are the models the app knows by itself.")
        if search.answered and not search.models:
            return self.tr("Nothing was found. Search for fewer or other words.")
        return ""

    @Slot(int)
    def _sort(self, index: int) -> None:
        self._search.set_sort(self._order.itemData(index))

    @Slot(QModelIndex, QModelIndex)
    def _chosen(self, current: QModelIndex, _previous: QModelIndex) -> None:
        if current.isValid():
            self._card.open(current.data(Role.REPO))

    @Slot()
    def _mark(self) -> None:
        """Mark the repository that is open, where it is in the list."""
        wanted = self._items.row_of(self._card.repo)
        if wanted.isValid() and wanted != self._view.currentIndex():
            self._view.setCurrentIndex(wanted)
