"""How the hub is reached, as whom, and which connections there were; tells the service of changes at once.

Zone: GUI thread. Neighbours: `settings` (what is kept), `app.widgets.settings.network`.
"""

from PySide6.QtCore import QObject, Signal, Slot

from app.stores.calls import Calls
from app.stores.settings import SettingsStore
from engine.api.hub import Access, Connection, ConnectionList, DownloadList
from engine.errors import EngineError

_KIB = 1024


class NetworkStore(QObject):
    """As of the last look.

    Signals:
        changed(): `access`, `connections` or `problem` is different now.
    """

    changed = Signal()

    def __init__(
        self, calls: Calls, settings: SettingsStore, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._calls = calls
        self._settings = settings
        self.access: Access | None = None
        """None: nobody has looked yet, or the service is away."""
        self.connections: tuple[Connection, ...] = ()
        self.problem = ""
        """Why it is not known or could not be changed: a sentence for the user."""
        settings.changed.connect(self._on_setting)

    @Slot()
    def refresh(self) -> None:
        """Look again."""
        self._calls.call(lambda client: client.hub.access(), self._take, self._lost)
        self._calls.call(
            lambda client: client.hub.connections(), self._take_connections, self._lost
        )

    def set_token(self, token: str) -> None:
        """Have a token kept; empty: forgotten."""
        self._calls.call(lambda client: client.hub.set_token(token), self._take, self._refused)

    @Slot()
    def forget_token(self) -> None:
        """Have ours forgotten."""
        self.set_token("")

    @Slot(str)
    def _on_setting(self, name: str) -> None:
        values = self._settings.values
        if name == "network.offline":
            offline = bool(values[name])
            self._calls.call(
                lambda client: client.hub.set_offline(offline), self._take, self._refused
            )
        elif name == "network.download_limit_kib_s":
            limit = int(values[name]) * _KIB
            self._calls.call(
                lambda client: client.hub.set_limit(limit), self._limited, self._refused
            )

    def _take(self, access: Access) -> None:
        self.access, self.problem = access, ""
        self.changed.emit()

    def _take_connections(self, reply: ConnectionList) -> None:
        self.connections = tuple(reply.connections)
        self.changed.emit()

    def _limited(self, reply: DownloadList) -> None:
        del reply

    def _lost(self, error: EngineError) -> None:
        self.access, self.problem = None, str(error)
        self.changed.emit()

    def _refused(self, error: EngineError) -> None:
        self.problem = str(error)
        self.changed.emit()
