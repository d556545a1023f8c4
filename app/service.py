"""The service that the window works with: one that runs already, or a child of ours that is kept running.

GUI thread; nothing waits, except `stop`. Whether the service lives shows in a silent connection to it,
which ends however it dies; no timer runs while it is up. Neighbours: `app.child`, `engine.client.discovery`.

::

    start ─▶ found one? ─yes─▶ answers with its key? ─yes─▶ connecting ─▶ ready ─▶ lost
                │ no                    │ no                    ▲                    │
                └──────────────▶ starting a child ──────────────┘◀──── back-off ◀────┘
"""

import contextlib
import errno
import os
import secrets
import signal
import socket
import time

from PySide6.QtCore import QObject, QSignalBlocker, QTimer, QUrl, Signal, Slot
from PySide6.QtNetwork import (
    QAbstractSocket,
    QNetworkAccessManager,
    QNetworkProxy,
    QNetworkReply,
    QNetworkRequest,
    QTcpSocket,
)

from app.child import Child
from app.service_log import ServiceLog
from engine import config
from engine.client import discovery
from engine.client.discovery import Found
from engine.errors import SetupError
from engine.paths import Paths

KEY_VARIABLE = "INGLENOOK_SERVER_API_KEY"
LOOK_MS = 20
"""How often a child is looked at while it starts or ends."""
START_SECONDS = 60.0
"""A cold disk makes Python's start slow; later than this it hangs."""
ASK_MS = 2000
STOP_SECONDS = 8.0
"""Above the service's own grace for running answers."""
BACKOFF_SECONDS = 0.2
MAX_ATTEMPTS = 5
HEALTHY_SECONDS = 30.0
"""After so long, a death counts as the first one again."""


class Service(QObject):
    """Finds or starts the service, and starts it again when it dies.

    Signals:
        ready(str url, str key): it answers there. Again after each restart.
        lost(): it is gone; `restarting` or `failed` follows.
        restarting(int attempt): 1 … MAX_ATTEMPTS, before each new start.
        failed(str sentence): given up; `start` tries again.
        noticed(str sentence): something the user should know; the service runs nevertheless.
    """

    ready = Signal(str, str)
    lost = Signal()
    restarting = Signal(int)
    failed = Signal(str)
    noticed = Signal(str)

    def __init__(self, paths: Paths, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._paths = paths
        self._own_key = secrets.token_urlsafe(32)
        self._log = ServiceLog(self._paths.logs)
        self._child: Child | None = None
        self._asked: Found | None = None
        self._found: Found | None = None
        self._wanted = False
        self._ending = False
        self._deadline = 0.0
        self._attempts = 0
        self._address = ("", "")
        self._ready_since: float | None = None
        self._network: QNetworkAccessManager | None = None
        self._line = QTcpSocket(self)
        self._line.setProxy(QNetworkProxy(QNetworkProxy.ProxyType.NoProxy))
        self._line.stateChanged.connect(self._on_line)
        self._look = QTimer(self)
        self._look.setInterval(LOOK_MS)
        self._look.timeout.connect(self._on_look)
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.timeout.connect(self._launch)

    @property
    def pid(self) -> int | None:
        """The service's process, if there is one."""
        if self._child is not None:
            return self._child.pid
        return self._found.pid if self._found else None

    @property
    def can_keep(self) -> bool:
        """Would it end with us?"""
        return self._child is not None or (self._found is not None and self._found.owned)

    def start(self) -> None:
        """Find a running service or start one; `ready` or `failed` follows."""
        self._wanted = True
        self._attempts = 0
        found = discovery.read(self._paths)
        if found is None or found.version != config.VERSION:
            self._launch()
        else:
            self._ask(found)

    def stop(self) -> None:
        """End it, unless somebody else started it; waits for a child of ours. Idempotent."""
        self._let_go()
        child, self._child = self._child, None
        found, self._found = self._found, None
        if child is not None:
            child.stop(STOP_SECONDS)
        elif found is not None and found.owned:
            with contextlib.suppress(OSError):
                os.kill(found.pid, signal.SIGTERM)

    def restart(self) -> None:
        """Start anew with the settings as they are now."""
        self.stop()
        self.start()

    def keep(self) -> None:
        """Leave it running when we end; the next window finds it."""
        self._let_go()
        child, self._child = self._child, None
        self._found = None
        if child is not None:
            child.keep()

    def log_tail(self) -> list[str]:
        """The last lines that services of ours wrote."""
        return self._log.tail()

    # --- a service that runs already -------------------------------------------------------------

    def _ask(self, found: Found) -> None:
        if self._network is None:
            self._network = QNetworkAccessManager(self)
            self._network.setProxy(QNetworkProxy(QNetworkProxy.ProxyType.NoProxy))
            self._network.setTransferTimeout(ASK_MS)
            self._network.finished.connect(self._on_reply)
        request = QNetworkRequest(
            QUrl(f"{found.url}/api/version")
        )  # unlike /health, asks for the key
        request.setRawHeader(b"Authorization", f"Bearer {found.key}".encode())
        self._asked = found
        self._network.get(request)

    @Slot(QNetworkReply)
    def _on_reply(self, reply: QNetworkReply) -> None:
        reply.deleteLater()
        asked, self._asked = self._asked, None
        if asked is None:  # stopped meanwhile
            return
        if reply.error() == QNetworkReply.NetworkError.NoError:
            self._found = asked
            self._connect(asked.url, asked.key)
        else:
            self._launch()

    # --- a child of ours -------------------------------------------------------------------------

    @Slot()
    def _launch(self) -> None:
        try:
            settings = config.load(self._paths.settings).server
        except SetupError as error:
            self.failed.emit(str(error))
            return
        port = settings.port
        if port and not _is_free(settings.host, port):
            text = self.tr(
                "Port {port} is in use by another program; the service uses another one this time."
            )
            self.noticed.emit(text.format(port=port))
            port = 0
        key = settings.api_key or self._own_key
        arguments = [*self._data_option(), "--serve", "--owner-pipe", "--host", settings.host]
        try:
            self._child = Child([*arguments, "--port", str(port)], {KEY_VARIABLE: key}, self._log)
        except OSError as error:
            text = self.tr("The service could not be started: {reason}")
            self.failed.emit(text.format(reason=error.strerror))
            return
        self._address = ("", key)
        self._wait(START_SECONDS, ending=False)

    def _data_option(self) -> tuple[str, ...]:
        return () if self._paths == Paths.find() else ("--data-dir", str(self._paths.data))

    def _wait(self, seconds: float, *, ending: bool) -> None:
        self._ending = ending
        self._deadline = time.monotonic() + seconds
        self._look.start()

    @Slot()
    def _on_look(self) -> None:
        child = self._child
        assert child is not None
        code = child.exit_code()
        if code is not None:
            self._look.stop()
            child.stop(0)
            self._child = None
            self._on_exit(code)
        elif time.monotonic() > self._deadline:
            child.kill()
        elif not self._ending and (url := child.ready_url()):
            self._look.stop()
            self._connect(url, self._address[1])

    def _on_exit(self, code: int) -> None:
        if self._ending or code < 0:
            self._start_again()
            return
        lines = self._log.tail(latest=True)
        text = self.tr("The service did not start. {reason}")
        self.failed.emit(text.format(reason=lines[-1] if lines else f"({code})"))

    def _start_again(self) -> None:
        if self._attempts == MAX_ATTEMPTS:
            self.failed.emit(self.tr("The service stopped again and again. Its log may tell why."))
            return
        self._attempts += 1
        self.restarting.emit(self._attempts)
        self._pause.start(int(1000 * BACKOFF_SECONDS * 2 ** (self._attempts - 1)))

    # --- while it runs ---------------------------------------------------------------------------

    def _connect(self, url: str, key: str) -> None:
        self._address = (url, key)
        address = QUrl(url)
        self._line.connectToHost(address.host(), address.port())

    @Slot(QAbstractSocket.SocketState)
    def _on_line(self, state: QAbstractSocket.SocketState) -> None:
        if state == QAbstractSocket.SocketState.ConnectedState:
            self._ready_since = time.monotonic()
            self.ready.emit(*self._address)
        elif state == QAbstractSocket.SocketState.UnconnectedState:
            self._on_gone()

    def _on_gone(self) -> None:
        since, self._ready_since = self._ready_since, None
        if since is not None:
            if time.monotonic() - since >= HEALTHY_SECONDS:
                self._attempts = 0
            self.lost.emit()
            if not self._wanted:  # whoever heard it stopped us
                return
        self._found = None
        if self._child is not None:
            self._child.leave()
            self._wait(STOP_SECONDS, ending=True)
        else:
            self._start_again()

    def _let_go(self) -> None:
        """End all that could still make something happen."""
        self._wanted = False
        self._asked = None
        self._look.stop()
        self._pause.stop()
        self._ready_since = None
        with QSignalBlocker(self._line):
            self._line.abort()


def _is_free(host: str, port: int) -> bool:
    """Can the service listen there? What else may be wrong, it says itself."""
    hosts = ("127.0.0.1", "::1") if host == "localhost" else (host,)
    for name in hosts:
        family = socket.AF_INET6 if ":" in name else socket.AF_INET
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_STREAM) as probe:
            if os.name == "posix":
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((name, port))
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    return False
    return True
