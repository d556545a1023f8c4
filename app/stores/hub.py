"""The model hub as the window sees it: a search, an open card, a suggestion for a first model. GUI thread."""

from PySide6.QtCore import QObject

from app.stores.calls import Calls
from app.stores.hub_card import CardStore
from app.stores.hub_search import SearchStore
from app.stores.suggestion import SuggestionStore


class HubStore(QObject):
    """Keeps the three together; each has its own signals."""

    def __init__(self, calls: Calls, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.search = SearchStore(calls, self)
        self.card = CardStore(calls, self)
        self.suggestion = SuggestionStore(calls, self)
        self.finding = False
        """Models are looked for on the hub, not on this machine; a window in another language goes on with it."""
