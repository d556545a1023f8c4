"""Searching the model hub: what was asked, what was found, more of it. Neighbours: `hub`, `app.item_models.hub`.

Zone: GUI thread. Asks when somebody looks, a moment after the last key; answers to older questions are dropped.
"""

from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.stores.calls import Calls
from engine.api.hub import HubModel, HubPage, Sort
from engine.errors import EngineError

DEBOUNCE_MS = 300


class SearchStore(QObject):
    """One search and its pages so far.

    Signals:
        changed(): what was found, or how the asking goes.
    """

    changed = Signal()

    def __init__(self, calls: Calls, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._calls = calls
        self._cursor = ""
        self._number = 0
        self._debounce = QTimer(self)
        self._debounce.setSingleShot(True)
        self._debounce.setInterval(DEBOUNCE_MS)
        self._debounce.timeout.connect(self.ask)
        self.text = ""
        self.sort: Sort = "trending"
        self.models: tuple[HubModel, ...] = ()
        self.offline = False
        """They are what the app brings along; the hub was not asked."""
        self.asking = False
        self.answered = False
        """There was an answer to the present question, perhaps without a model."""
        self.problem = ""
        """Why there is none, and what to do."""

    @property
    def has_more(self) -> bool:
        """Is there another page?"""
        return bool(self._cursor)

    def look(self) -> None:
        """Somebody looks at it: ask, unless the hub has answered."""
        if not self.asking and (self.offline or not self.answered):
            self.ask()

    def set_text(self, text: str) -> None:
        """Search for something else, once the typing pauses."""
        if text.strip() != self.text:
            self.text = text.strip()
            self._debounce.start()

    def set_sort(self, sort: Sort) -> None:
        """Put others first."""
        if sort != self.sort:
            self.sort = sort
            self.ask()

    @Slot()
    def ask(self) -> None:
        """Ask from the beginning."""
        self._debounce.stop()
        self.answered = False
        self._ask("")

    @Slot()
    def more(self) -> None:
        """Ask for the next page."""
        if self._cursor and not self.asking:
            self._ask(self._cursor)

    def _ask(self, cursor: str) -> None:
        self._number += 1
        number, text, sort = self._number, self.text, self.sort
        self.asking, self.problem = True, ""
        self.changed.emit()
        self._calls.call(
            lambda client: client.hub.search(text, sort, cursor),
            partial(self._take, number, bool(cursor)),
            partial(self._lost, number, bool(cursor)),
        )

    def _take(self, number: int, is_more: bool, page: HubPage) -> None:
        if number != self._number:
            return
        before = self.models if is_more else ()
        known = {model.repo for model in before}
        self.models = (*before, *(model for model in page.models if model.repo not in known))
        self._cursor, self.offline = page.cursor, page.offline
        self.asking, self.answered = False, True
        self.changed.emit()

    def _lost(self, number: int, is_more: bool, error: EngineError) -> None:
        if number != self._number:
            return
        if not is_more:
            self.models, self._cursor = (), ""
        self.asking, self.problem = False, str(error)
        self.changed.emit()
