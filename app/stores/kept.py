"""How much the service keeps of conversations, and deleting it all. GUI thread. Neighbour: `app.widgets.settings.conversations`."""

from PySide6.QtCore import QObject, Signal, Slot

from app.stores.calls import Calls
from engine.api.kept import KeptOnDisk
from engine.errors import EngineError


class KeptStore(QObject):
    """What is on disk, as of the last look.

    Signals:
        changed(): `usage`, `problem` or `deleting` is different now.
    """

    changed = Signal()

    def __init__(self, calls: Calls, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._calls = calls
        self.usage: KeptOnDisk | None = None
        """None: nobody has looked yet, or the service is away."""
        self.problem = ""
        """Why it is not known or could not be deleted: a sentence for the user."""
        self.deleting = False

    @Slot()
    def refresh(self) -> None:
        """Look again."""
        self._calls.call(lambda client: client.kept(), self._take, self._lost)

    @Slot()
    def delete(self) -> None:
        """Delete everything that is kept, on disk and in memory."""
        if self.deleting:
            return
        self.deleting = True
        self.changed.emit()
        self._calls.call(lambda client: client.forget(None), self._deleted, self._not_deleted)

    def _take(self, usage: KeptOnDisk) -> None:
        self.usage, self.problem = usage, ""
        self.changed.emit()

    def _lost(self, error: EngineError) -> None:
        self.usage, self.problem = None, str(error)
        self.changed.emit()

    def _deleted(self, _reply: object) -> None:
        self.deleting = False
        self.refresh()

    def _not_deleted(self, error: EngineError) -> None:
        self.deleting, self.problem = False, str(error)
        self.changed.emit()
