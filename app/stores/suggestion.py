"""One model for this machine: the largest of the catalog that fits and writes fast enough to be read along.

Zone: GUI thread. Asks only while there are no models. Neighbours: `hub`, `app.widgets.library.welcome`.
"""

from typing import Final, Literal

import msgspec
from PySide6.QtCore import QObject, Signal, Slot

from app.stores.calls import Calls
from engine.api.hub import HubCard, HubChoice, HubModel, HubPage
from engine.errors import EngineError

_MOST_CARDS: Final = 3
"""Each costs the hub a few requests."""
_BYTES_PER_PARAMETER: Final = 0.7
"""At about 4.5 bits a weight, with a conversation's memory: only for whom to ask first."""
_PURPOSES: Final = frozenset({"chat", "small"})
READING_SPEED: Final = 5.0
"""Tokens a second; most people read about as fast."""

Phase = Literal["unasked", "asking", "found", "none"]


class _Memory(msgspec.Struct, frozen=True):
    free: int


class _Machine(msgspec.Struct, frozen=True):
    memory: _Memory


class SuggestionStore(QObject):
    """The suggestion, as far as it is known.

    Signals:
        changed(): `phase`, `card` or `choice` is different now.
    """

    changed = Signal()

    def __init__(self, calls: Calls, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._calls = calls
        self._free = 0
        self._candidates: list[HubModel] = []
        self._tried: list[tuple[HubCard, HubChoice]] = []
        self.phase: Phase = "unasked"
        self.card: HubCard | None = None
        self.choice: HubChoice | None = None

    @Slot()
    def look(self) -> None:
        """Somebody looks: ask, if it is not known."""
        if self.phase in ("unasked", "none"):
            self.phase = "asking"
            self.changed.emit()
            self._calls.call(lambda client: client.hardware(), self._take_machine, self._none)

    def _take_machine(self, hardware: dict[str, object]) -> None:
        try:
            self._free = msgspec.convert(hardware, _Machine).memory.free
        except msgspec.ValidationError:
            self._free = 0
        self._calls.call(
            lambda client: client.hub.search("", "trending", ""), self._take_catalog, self._none
        )

    def _take_catalog(self, page: HubPage) -> None:
        known = [model for model in page.models if model.purpose in _PURPOSES and not model.gated]
        fitting = [m for m in known if (m.parameters or 0) * _BYTES_PER_PARAMETER <= self._free]
        fitting.sort(key=lambda model: model.parameters or 0, reverse=True)
        self._candidates, self._tried = fitting[:_MOST_CARDS], []
        if page.offline:  # it could not be fetched anyway
            self._candidates = []
        self._ask_next()

    def _ask_next(self) -> None:
        if not self._candidates:
            self._settle()
            return
        repo = self._candidates.pop(0).repo
        self._calls.call(lambda client: client.hub.card(repo), self._take_card, self._skip)

    def _take_card(self, card: HubCard) -> None:
        choice = next((choice for choice in card.choices if choice.recommended), None)
        if choice is not None and choice.fit is not None and choice.fit.verdict == "fits":
            self._tried.append((card, choice))
            if _speed(choice) >= READING_SPEED:
                self._candidates = []
        self._ask_next()

    def _skip(self, error: EngineError) -> None:
        del error  # the next one may do
        self._ask_next()

    def _settle(self) -> None:
        best = max(
            self._tried, key=lambda tried: min(_speed(tried[1]), READING_SPEED), default=None
        )
        self.card, self.choice = best or (None, None)
        self.phase = "found" if best else "none"
        self.changed.emit()

    def _none(self, error: EngineError) -> None:
        del error  # the starter model is offered instead, or the page says that the service is away
        self._settle()


def _speed(choice: HubChoice) -> float:
    """Expected tokens a second; what is not known counts as fast enough."""
    fit = choice.fit
    return READING_SPEED if fit is None or fit.writes is None else fit.writes
