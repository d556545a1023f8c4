"""The starter model: offered to an empty library, fetched by the service.

Zone: GUI thread. Asks by a timer only while the model is being fetched. Neighbours: `calls`, `models`.
"""

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.stores.calls import Calls
from engine.api.models import StarterInfo
from engine.errors import EngineError

POLL_MS = 500


class StarterStore(QObject):
    """What is known of the starter model.

    Signals:
        changed(): `info` or `problem` is different now.
        arrived(): it was fetched and is in the library now.
    """

    changed = Signal()
    arrived = Signal()

    def __init__(self, calls: Calls, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._calls = calls
        self._poll = QTimer(self)
        self._poll.setInterval(POLL_MS)
        self._poll.timeout.connect(self.refresh)
        self.info: StarterInfo | None = None
        self.problem = ""
        """Why it could not be asked for or fetched, and what to do."""

    @property
    def fetching(self) -> bool:
        """Is it on its way?"""
        return self.info is not None and self.info.state == "fetching"

    @Slot()
    def refresh(self) -> None:
        """Ask how it stands."""
        self._calls.call(lambda client: client.starter(), self._take, self._lost)

    @Slot()
    def fetch(self) -> None:
        """Have it fetched."""
        self._calls.call(lambda client: client.start_starter(), self._take, self._lost)

    @Slot()
    def cancel(self) -> None:
        """Stop fetching; nothing is left behind."""
        self._calls.call(lambda client: client.cancel_starter(), self._take, self._lost)

    def _take(self, info: StarterInfo) -> None:
        was, self.info = self.info, info
        problem, self.problem = self.problem, info.error
        if self.fetching:
            self._poll.start()
        else:
            self._poll.stop()
        if was != info or problem != self.problem:
            self.changed.emit()
        if was is not None and was.state == "fetching" and info.state == "installed":
            self.arrived.emit()

    def _lost(self, error: EngineError) -> None:
        self._poll.stop()
        self.problem = str(error)
        self.changed.emit()
