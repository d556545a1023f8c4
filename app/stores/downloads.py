"""The downloads as the window sees them: in the order of the queue, followed while they move or are looked at.

Zone: GUI thread. Asks by a timer; not at all while nothing moves and nobody looks. Neighbours: `calls`,
`app.item_models.download_words`, `app.widgets.library.downloads`.
"""

from typing import Final

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.stores.calls import Calls
from engine.api.hub import DownloadChange, DownloadInfo, DownloadList, DownloadRequest
from engine.errors import EngineError

MOVING_MS = 500
WATCHED_MS = 3000
"""Another program may begin a download while somebody looks here."""
UNDO_MS = 8000
"""How long a cancelled download waits, paused, to be taken back."""
MOVING: Final = frozenset({"queued", "running", "waiting", "checking"})
_LITTLE = 0.01
"""Of a download with less than this share nothing is lost by cancelling."""


class DownloadsStore(QObject):
    """All downloads of the service.

    Signals:
        changed(): the list, or something in it.
        arrived(str model): a download ended well; the library's id of the model.
        cancelled(str id, str name): one with much in it was; `undo_cancel(id)` takes it back for `UNDO_MS`.
        failed(str sentence): something that was asked for did not work.
    """

    changed = Signal()
    arrived = Signal(str)
    cancelled = Signal(str, str)
    failed = Signal(str)

    def __init__(self, calls: Calls, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._calls = calls
        self._all: tuple[DownloadInfo, ...] = ()
        self._asking = False
        self._known = False
        self._watched = False
        self._undoable: DownloadInfo | None = None
        self._undo = QTimer(self)
        self._undo.setSingleShot(True)
        self._undo.setInterval(UNDO_MS)
        self._undo.timeout.connect(self.finish_cancel)
        self._poll = QTimer(self)
        self._poll.timeout.connect(self.refresh)

    @property
    def downloads(self) -> tuple[DownloadInfo, ...]:
        """All but the one that was cancelled a moment ago."""
        hidden = self._undoable.id if self._undoable else ""
        return tuple(info for info in self._all if info.id != hidden)

    @property
    def num_queued(self) -> int:
        """Those whose order can be changed."""
        return sum(info.state not in ("done", "failed") for info in self.downloads)

    def find(self, repo: str, name: str) -> DownloadInfo | None:
        """The download of a file, if there is one."""
        return next((i for i in self.downloads if (i.repo, i.name) == (repo, name)), None)

    # --- asking ---------------------------------------------------------------------------------

    @Slot()
    def refresh(self) -> None:
        """Ask how they stand."""
        if not self._asking:
            self._asking = True
            self._calls.call(lambda client: client.hub.downloads(), self._take, self._lost)

    def watch(self, on: bool) -> None:
        """Somebody looks at them, or does no more."""
        self._watched = on
        if on:
            self.refresh()
        self._pace()

    # --- changing -------------------------------------------------------------------------------

    def start(self, request: DownloadRequest) -> None:
        """Queue a download."""
        self._calls.call(lambda client: client.hub.download(request), self._begun, self._tell)

    def pause(self, download: str) -> None:
        """Keep what is there, fetch no more."""
        self._change(download, DownloadChange(action="pause"))

    def resume(self, download: str) -> None:
        """Go on, or try again."""
        self._change(download, DownloadChange(action="resume"))

    def move(self, download: str, position: int) -> None:
        """To another place in the queue."""
        self._change(download, DownloadChange(action="move", position=position))

    def cancel(self, download: str) -> None:
        """Leave nothing behind; with more than a little there, only after `UNDO_MS`."""
        info = next((info for info in self.downloads if info.id == download), None)
        if info is None:
            return
        if info.state == "done" or info.done_bytes <= _LITTLE * info.total_bytes:
            self._cancel(download)
            return
        self.finish_cancel()
        self._undoable = info
        self._undo.start()
        if info.state in MOVING:
            self.pause(download)
        self.changed.emit()
        self.cancelled.emit(info.id, info.name)

    @Slot(str)
    def undo_cancel(self, download: str) -> None:
        """Take it back; too late, nothing happens."""
        info = self._undoable
        if info is None or info.id != download:
            return
        self._undo.stop()
        self._undoable = None
        if info.state in MOVING:
            self.resume(download)
        self.changed.emit()

    @Slot()
    def finish_cancel(self) -> None:
        """Do now what could still be undone."""
        self._undo.stop()
        info, self._undoable = self._undoable, None
        if info is not None:
            self._all = tuple(other for other in self._all if other.id != info.id)
            self._cancel(info.id)

    # --- answers --------------------------------------------------------------------------------

    def _cancel(self, download: str) -> None:
        self._change(download, DownloadChange(action="cancel"))

    def _change(self, download: str, change: DownloadChange) -> None:
        self._calls.call(
            lambda client: client.hub.change(download, change), self._show, self._failed
        )

    def _take(self, reply: DownloadList) -> None:
        self._asking = False
        self._show(reply)

    def _show(self, reply: DownloadList) -> None:
        before = {info.id: info for info in self._all}
        was_known, self._known = self._known, True
        if (now := tuple(reply.downloads)) != self._all:
            self._all = now
            self.changed.emit()
        self._pace()
        for info in now:
            then = before.get(info.id)
            # what was done before we looked is no news
            if was_known and info.state == "done" and then is not None and then.state != "done":
                self.arrived.emit(info.model)

    def _lost(self, error: EngineError) -> None:
        del error  # the page says that the service is away
        self._asking = False
        self._known = False  # what ended meanwhile is no news
        self._poll.stop()

    def _begun(self, info: DownloadInfo) -> None:
        if all(other.id != info.id for other in self._all):
            self._all = (*self._all, info)
            self.changed.emit()
        self.refresh()

    def _tell(self, error: EngineError) -> None:
        self.failed.emit(str(error))

    def _failed(self, error: EngineError) -> None:
        self._tell(error)
        self.refresh()

    def _pace(self) -> None:
        """Ask as often as there may be news."""
        moving = any(info.state in MOVING for info in self._all)
        wanted = MOVING_MS if moving else WATCHED_MS if self._watched else 0
        if not wanted:
            self._poll.stop()
        elif not self._poll.isActive() or self._poll.interval() != wanted:
            self._poll.start(wanted)
