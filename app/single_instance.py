"""One window for each data folder: a second start shows the first one's window and leaves."""

import hashlib

from PySide6.QtCore import QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

_TIMEOUT_MS = 500


class SingleInstance(QObject):
    """Listens on a local socket named after the data folder.

    Signals:
        activated(): another start asks for the window.
    """

    activated = Signal()

    def __init__(self, data_folder: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._name = "inglenook-" + hashlib.sha256(data_folder.encode()).hexdigest()[:16]
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._on_connection)
        self.is_first = self._listen()

    def close(self) -> None:
        """Let the next start be the first."""
        self._server.close()

    def _listen(self) -> bool:
        # Ask before listening: with user-only access Qt puts its socket over one that is in use.
        socket = QLocalSocket()
        socket.connectToServer(self._name)
        if socket.waitForConnected(_TIMEOUT_MS):
            socket.disconnectFromServer()
            return False
        # a killed process leaves its socket file behind, and nobody answers it
        QLocalServer.removeServer(self._name)
        return self._server.listen(self._name)

    def _on_connection(self) -> None:
        connection = self._server.nextPendingConnection()
        if connection is not None:
            connection.disconnected.connect(connection.deleteLater)
        self.activated.emit()
