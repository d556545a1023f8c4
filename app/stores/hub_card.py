"""The card of one repository: what is in it, which file is looked at, what that would cost here exactly.

Zone: GUI thread. Neighbours: `hub`, `app.item_models.choices`, `app.widgets.library.card`.
"""

from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.stores.calls import Calls
from engine.api.hub import Fit, HubCard, HubChoice
from engine.errors import EngineError

PAUSE_MS = 300
"""Whoever walks over the rows with the arrow keys asks for none of them."""


class CardStore(QObject):
    """The repository that is open.

    Signals:
        changed(): another repository, or more is known of it.
        chosen_changed(): another file is looked at, or its figures came.
    """

    changed = Signal()
    chosen_changed = Signal()

    def __init__(self, calls: Calls, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._calls = calls
        self._exact: dict[str, Fit] = {}
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(PAUSE_MS)
        self._pause.timeout.connect(self.ask_fit)
        self.repo = ""
        self.card: HubCard | None = None
        self.problem = ""
        """Why there is no card, and what to do."""
        self.chosen = ""
        """`HubChoice.name`."""
        self.fit_problem = ""
        """Why the exact figures of the chosen file are not known."""

    @property
    def models(self) -> tuple[HubChoice, ...]:
        """The files that are models, one of which is chosen."""
        choices = self.card.choices if self.card else ()
        return tuple(choice for choice in choices if choice.kind == "model")

    @property
    def companions(self) -> tuple[HubChoice, ...]:
        """One of each other kind, the smallest that is whole: what can be fetched with a model."""
        found: dict[str, HubChoice] = {}
        for choice in sorted(self.card.choices if self.card else (), key=_size):
            if choice.kind != "model" and not choice.missing_parts:
                found.setdefault(choice.kind, choice)
        return tuple(found.values())

    @property
    def choice(self) -> HubChoice | None:
        """The chosen file."""
        return next((choice for choice in self.models if choice.name == self.chosen), None)

    @property
    def asking_fit(self) -> bool:
        """Exact figures of the chosen file are on their way."""
        wanted = self.choice is not None and self.chosen not in self._exact
        return wanted and not self.fit_problem

    def fit_of(self, choice: HubChoice) -> Fit | None:
        """The best that is known of a file."""
        return self._exact.get(choice.name, choice.fit)

    def open(self, repo: str) -> None:
        """Show a repository."""
        if repo != self.repo:
            self.repo, self.card, self.problem = repo, None, ""
            self.reload()

    @Slot()
    def reload(self) -> None:
        """Ask for the card again."""
        repo = self.repo
        self.problem = ""
        self._exact.clear()
        self._choose("")
        self.changed.emit()
        self._calls.call(
            lambda client: client.hub.card(repo),
            partial(self._take, repo),
            partial(self._lost, repo),
        )

    def choose(self, name: str) -> None:
        """Look at a file; its exact figures follow."""
        if name != self.chosen:
            self._choose(name)
            if name not in self._exact:
                self._pause.start()
            self.chosen_changed.emit()

    @Slot()
    def ask_fit(self) -> None:
        """Ask for the chosen file's exact figures."""
        self._pause.stop()
        card, choice = self.card, self.choice
        if card is None or choice is None or choice.missing_parts or card.problem:
            return
        repo, name, revision = card.model.repo, choice.name, card.revision
        self.fit_problem = ""
        self._calls.call(
            lambda client: client.hub.fit(repo, name, revision),
            partial(self._take_fit, self.repo, name),
            partial(self._no_fit, self.repo, name),
        )

    def _choose(self, name: str) -> None:
        self._pause.stop()
        self.chosen, self.fit_problem = name, ""

    def _take(self, repo: str, card: HubCard) -> None:
        if repo != self.repo:
            return
        self.card = card
        self.changed.emit()
        best = next((choice for choice in self.models if choice.recommended), None)
        fallback = next(iter(self.models), None)
        if first := best or fallback:
            self.choose(first.name)

    def _lost(self, repo: str, error: EngineError) -> None:
        if repo == self.repo:
            self.problem = str(error)
            self.changed.emit()

    def _take_fit(self, repo: str, name: str, fit: Fit) -> None:
        if repo == self.repo:
            self._exact[name] = fit
            self.chosen_changed.emit()

    def _no_fit(self, repo: str, name: str, error: EngineError) -> None:
        if repo == self.repo and name == self.chosen:
            self.fit_problem = str(error)
            self.chosen_changed.emit()


def _size(choice: HubChoice) -> int:
    return choice.size_bytes
