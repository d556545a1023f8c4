"""The left part of the Models page: two ways of looking, and the list of the one that is on.

Zone: app.widgets.library. Neighbours: `list_panel`, `search_panel`, `page`.
"""

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QFrame, QStackedWidget, QTabBar, QVBoxLayout, QWidget

from app.stores.hub import HubStore
from app.stores.models import ModelsStore
from app.theme import UNIT
from app.widgets.library.list_panel import ListPanel
from app.widgets.library.search_panel import SearchPanel

OWN_WIDTH = 256
FIND_WIDTH = 304
"""A repository has more to say than a file."""


class Side(QFrame):
    """What is on this machine, or what the hub has.

    Signals:
        hub_wanted(bool): the other way of looking was chosen.
        add_wanted(): the user wants to add a file.
        remove_wanted(): the user wants the chosen model off the list.
    """

    hub_wanted = Signal(bool)
    add_wanted = Signal()
    remove_wanted = Signal()

    def __init__(self, store: ModelsStore, hub: HubStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self._ways = QTabBar()
        self._ways.setObjectName("models-ways")
        self._ways.setAccessibleName(self.tr("Which models"))
        self._ways.setExpanding(False)
        self._ways.setUsesScrollButtons(False)
        self._ways.addTab(self.tr("On this machine"))
        self._ways.addTab(self.tr("Find"))
        self._list = ListPanel(store)
        self._list.add_wanted.connect(self.add_wanted)
        self._list.remove_wanted.connect(self.remove_wanted)
        self._search = SearchPanel(hub)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._list)
        self._stack.addWidget(self._search)
        column = QVBoxLayout(self)
        column.setContentsMargins(3 * UNIT // 2, 14, 3 * UNIT // 2, 3 * UNIT // 2)
        column.setSpacing(UNIT)
        column.addWidget(self._ways)
        column.addWidget(self._stack, 1)
        self._ways.currentChanged.connect(self._choose)
        self.show_hub(False)

    def show_hub(self, on: bool) -> None:
        """Show the search, or the list."""
        self.setFixedWidth(FIND_WIDTH if on else OWN_WIDTH)
        self._stack.setCurrentIndex(int(on))
        blocked = self._ways.blockSignals(True)
        self._ways.setCurrentIndex(int(on))
        self._ways.blockSignals(blocked)

    def focus_search(self) -> None:
        """Put the cursor into the search field of the list that is on."""
        shown = self._search if self._stack.currentIndex() else self._list
        shown.focus_search()

    @Slot(int)
    def _choose(self, index: int) -> None:
        self.hub_wanted.emit(bool(index))
