"""One window for each data folder: a second start shows the first one's window and leaves.

Who is first is decided by a lock file, which the system and Qt free when its process dies; the socket only
carries the request to come to the front. Asking the socket who is first would let two starts in one instant both win.
"""

import hashlib

from PySide6.QtCore import QDir, QLockFile, QObject, QThread, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

_TIMEOUT_MS = 500
_ATTEMPTS = 20
_PAUSE_MS = 50


class SingleInstance(QObject):
    """Holds a lock and listens on a local socket, both named after the data folder.

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
        self._lock = QLockFile(QDir.temp().filePath(f"{self._name}.lock"))  # beside the socket
        self._lock.setStaleLockTime(0)  # never by age; Qt sees by its number when a process is gone
        self.is_first = self._is_first()
        if self.is_first:
            # a killed process leaves its socket file behind
            QLocalServer.removeServer(self._name)
            self._server.listen(self._name)

    def close(self) -> None:
        """Let the next start be the first."""
        self._server.close()
        self._lock.unlock()

    def _is_first(self) -> bool:
        for _ in range(_ATTEMPTS):
            if self._lock.tryLock(0):
                return True
            if self._is_answered():
                return False
            QThread.msleep(_PAUSE_MS)  # the first one is about to listen, or about to end
        return True  # whoever has the lock is no window of ours

    def _is_answered(self) -> bool:
        """Bring the first one's window to the front, if there is one."""
        socket = QLocalSocket()
        socket.connectToServer(self._name)
        is_connected = socket.waitForConnected(_TIMEOUT_MS)
        socket.disconnectFromServer()
        return is_connected

    def _on_connection(self) -> None:
        connection = self._server.nextPendingConnection()
        if connection is not None:
            connection.disconnected.connect(connection.deleteLater)
        self.activated.emit()
