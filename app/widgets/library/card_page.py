"""The right part of the page while models are searched: the open card, or why there is none. Neighbours: `card`, `app.stores.hub_card`."""

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.stores.downloads import DownloadsStore
from app.stores.hub_card import CardStore
from app.widgets.common.empty_state import EmptyState
from app.widgets.library.card import CardPane


class CardPage(QStackedWidget):
    """One of: nothing chosen yet, on its way, a problem, the card."""

    def __init__(
        self, store: CardStore, downloads: DownloadsStore, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._store = store
        self._none = EmptyState(
            "magnifying-glass",
            self.tr("Find a model"),
            self.tr("Choose one in the list: its page says what each of its files would do here."),
        )
        self._loading = EmptyState("cube", self.tr("Asking the hub…"))
        self._problem = EmptyState("warning", "")
        self._problem.acted.connect(store.reload)
        self._card = CardPane(store, downloads)
        for page in (self._none, self._loading, self._problem, self._card):
            self.addWidget(page)
        store.changed.connect(self._show)
        self._show()

    @Slot()
    def _show(self) -> None:
        store = self._store
        self._problem.set_words(
            self.tr("{0} cannot be shown").format(store.repo), store.problem, self.tr("Try again")
        )
        if not store.repo:
            self.setCurrentWidget(self._none)
        elif store.problem:
            self.setCurrentWidget(self._problem)
        else:
            self.setCurrentWidget(self._card if store.card else self._loading)
