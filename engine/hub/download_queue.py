"""The downloads of this service: which there are, in which order, what each is doing. Survives a restart.

Each running one is a thread; all methods may be called by any. Neighbours: `download` (one of them), `engine.supervisor.hub`.
"""

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

import msgspec

from engine.api.hub import DownloadInfo, DownloadList
from engine.errors import DiskFull, EngineError, InvalidRequest, Offline
from engine.hub.download import Download, discard
from engine.hub.held import Held
from engine.hub.network import Network
from engine.hub.pacer import Pacer
from engine.hub.saved_queue import AT_WORK, SavedDownload, read, write
from engine.hub.space import done_bytes
from engine.hub.speed import Speed
from engine.hub.token import TokenStore
from engine.hub.transfer import Patience, Progress, Stopped
from engine.hub.wanted import Wanted

logger = logging.getLogger(__name__)

_MOST_ENDED: Final = 50
_ENDED: Final = ("done", "failed")


class _Entry:
    """One download while the process lives."""

    def __init__(self, saved: SavedDownload, done: int) -> None:
        self.saved = saved
        self.done = done
        self.id = saved.wanted.id
        self.speed = Speed()
        self.stop = threading.Event()
        self.thread: threading.Thread | None = None
        self.next: Literal["paused", "queued", "cancelled"] = "queued"
        """What it becomes once its thread has stopped."""

    @property
    def ended(self) -> bool:
        return self.saved.state in _ENDED

    def info(self, position: int) -> DownloadInfo:
        """As it goes over the wire."""
        saved = self.saved
        total = saved.wanted.total_bytes
        speed = self.speed.bytes_per_s if saved.state == "running" else 0.0
        return DownloadInfo(
            id=self.id,
            repo=saved.wanted.repo,
            name=saved.wanted.name,
            state=saved.state,
            total_bytes=total,
            done_bytes=total if saved.state == "done" else self.done,
            bytes_per_s=speed,
            left_s=(total - self.done) / speed if speed else None,
            position=position,
            problem=saved.problem,
            model=saved.model,
            finished=saved.finished,
        )


class DownloadQueue:
    """All downloads."""

    def __init__(
        self,
        network: Network,
        tokens: TokenStore,
        root: Path,
        file: Path,
        *,
        on_change: Callable[[], None],
        on_done: Callable[[Path], str],
        limit_bytes_per_s: int = 0,
        at_once: int = 2,
        patience: Patience | None = None,
        look_again_s: float = 10.0,
    ) -> None:
        """Go on with what was left; a damaged file is set aside.

        Args:
            network: the way out.
            tokens: of the hub.
            root: of the cache that downloads go to.
            file: keeps the queue.
            on_change: called from any thread when the list may look different.
            on_done: called in a download's thread with the first file; returns the library's id of it.
            limit_bytes_per_s: of all together; 0: none.
            at_once: how many run; the others wait for their turn.
            patience: when a download tries again.
            look_again_s: how often those that stopped by themselves are looked at.
        """
        self._network = network
        self._tokens = tokens
        self._root = root
        self._file = file
        self._on_change = on_change
        self._on_done = on_done
        self._pacer = Pacer(limit_bytes_per_s)
        self._at_once = at_once
        self._patience = patience or Patience()
        self._lock = threading.RLock()
        self._saving = threading.Lock()
        """Taken before the other, so that nobody who only looks waits for the disk."""
        self._closing = threading.Event()
        self._look_again_s = look_again_s
        self._watch: threading.Thread | None = None
        """While any is held."""
        self._threads: set[threading.Thread] = set()
        """Of cancelled ones too."""
        self._entries = [
            _Entry(saved, done_bytes(root, saved.wanted)) for saved in read(file, root)
        ]
        with self._lock:
            self._start_next()
            self._watch_held()

    @property
    def active(self) -> int:
        """Downloads that are not finished and would go on by themselves."""
        with self._lock:
            return sum(entry.saved.state in ("queued", *AT_WORK) for entry in self._entries)

    def add(self, wanted: Wanted) -> DownloadInfo:
        """Put it at the end; one that is there already is returned, and resumed where it stopped.

        Raises:
            InvalidRequest: a name or number in it is not acceptable.
        """
        wanted.check(self._root)
        with self._lock:
            known = next((e for e in self._entries if e.id == wanted.id), None)
            if known is None:
                known = _Entry(SavedDownload(wanted), done_bytes(self._root, wanted))
                self._entries.append(known)
            again = known.ended or known.saved.state == "paused"
        if again:
            self.resume(known.id)
        self._changed()
        infos = self.list().downloads
        return next((info for info in infos if info.id == known.id), known.info(0))

    def list(self) -> DownloadList:
        """Those that are not finished in their order, then those that ended, latest first."""
        with self._lock:
            going = [entry for entry in self._entries if not entry.ended]
            ended = [entry for entry in self._entries if entry.ended]
            ended.sort(key=lambda entry: -entry.saved.finished)
            infos = [entry.info(position) for position, entry in enumerate([*going, *ended])]
            return DownloadList(infos, self._pacer.limit)

    def pause(self, download: str) -> None:
        """Stop it within half a second; what arrived stays.

        Raises:
            InvalidRequest: there is none of that id.
        """
        with self._lock:
            entry = self._find(download)
            if entry.ended:
                return
            entry.next = "paused"
            entry.stop.set()
            entry.saved = SavedDownload(entry.saved.wanted, "paused")
        self._changed()

    def resume(self, download: str) -> None:
        """Queue one that is paused, failed or was finished once.

        Raises:
            InvalidRequest: there is none of that id.
        """
        with self._lock:
            entry = self._find(download)
            if not entry.ended and entry.saved.state != "paused":
                return
            if entry.ended:  # to the end of the queue
                self._entries.remove(entry)
                self._entries.append(entry)
            entry.next = "queued"
            entry.saved = SavedDownload(entry.saved.wanted)
        self._changed()

    def cancel(self, download: str) -> None:
        """Forget it; of an unfinished one nothing is left behind.

        Raises:
            InvalidRequest: there is none of that id.
        """
        with self._lock:
            entry = self._find(download)
            entry.next = "cancelled"
            entry.stop.set()
            self._entries.remove(entry)
            # A running one cleans up when its thread has let go of the files.
            leftover = entry.thread is None and entry.saved.state != "done"
        if leftover:
            discard(self._root, entry.saved.wanted)
        self._changed()

    def move(self, download: str, position: int) -> None:
        """Change the order; running ones are not stopped for it.

        Raises:
            InvalidRequest: there is none of that id.
        """
        with self._lock:
            entry = self._find(download)
            if entry.ended:
                return
            going = [e for e in self._entries if not e.ended and e is not entry]
            going.insert(max(0, min(position, len(going))), entry)
            self._entries = going + [e for e in self._entries if e.ended]
        self._changed()

    def go_on(self) -> bool:
        """Queue those that stopped by themselves and could go on.

        Returns:
            Whether others are held still.
        """
        with self._lock:
            held = [(e, e.saved.wanted, e.saved.held) for e in self._entries if e.saved.held]
        over = [  # looks at the disk: without the lock
            entry
            for entry, wanted, held_by in held
            if held_by and held_by.over(self._network, self._root, wanted)
        ]
        with self._lock:
            for entry in over:
                if entry.saved.held:
                    entry.next, entry.saved = "queued", SavedDownload(entry.saved.wanted)
        if over:
            self._changed()
        return len(over) < len(held)

    def set_limit(self, bytes_per_s: int) -> None:
        """Of all together; 0: none."""
        self._pacer.limit = bytes_per_s
        self._on_change()

    def close(self, timeout_s: float) -> None:
        """Stop all and keep what arrived; what ran goes on at the next start."""
        with self._lock:
            self._closing.set()
            threads = [*self._threads]
            for entry in self._entries:
                entry.stop.set()
        self._save()
        until = time.monotonic() + timeout_s
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _find(self, download: str) -> _Entry:
        for entry in self._entries:
            if entry.id == download:
                return entry
        raise InvalidRequest(
            "There is no such download.", hint="It may have been removed meanwhile.", param="id"
        )

    def _changed(self) -> None:
        with self._lock:
            self._start_next()
        self._save()
        self._on_change()

    def _start_next(self) -> None:
        if self._closing.is_set():
            return
        free = self._at_once - sum(entry.thread is not None for entry in self._entries)
        for entry in self._entries:
            if free > 0 and entry.saved.state == "queued" and entry.thread is None:
                free -= 1
                entry.saved.state = "running"
                entry.next, entry.stop, entry.speed = "queued", threading.Event(), Speed()
                entry.thread = threading.Thread(
                    target=self._run, args=(entry,), name="download-set", daemon=True
                )
                self._threads.add(entry.thread)
                entry.thread.start()

    def _run(self, entry: _Entry) -> None:
        """In the download's thread."""
        saved = SavedDownload(entry.saved.wanted, "failed")
        try:
            path = self._fetch(entry)
            saved.model = self._on_done(path)
            saved.state = "done"
        except Stopped:
            saved.state = "queued"
        except (DiskFull, Offline) as error:
            saved.state, saved.problem = "paused", str(error)
            saved.held = Held.now(error, self._root)
        except EngineError as error:
            saved.problem = str(error)
        except Exception:
            logger.exception("download failed, repo=%s", entry.saved.wanted.repo)
            saved.problem = (
                "The download ended by a mistake in the program. Resume it to try again."
            )
        self._ended(entry, saved)

    def _fetch(self, entry: _Entry) -> Path:
        def report(progress: Progress) -> None:
            with self._lock:
                entry.done = progress.done_bytes
                entry.speed.note(progress.received_bytes)
                if not entry.stop.is_set():
                    entry.saved.state = progress.state
                    entry.saved.problem = progress.problem
            self._on_change()

        return Download(
            self._network,
            self._tokens,
            self._pacer,
            self._root,
            entry.saved.wanted,
            stop=entry.stop,
            report=report,
            patience=self._patience,
        ).run()

    def _ended(self, entry: _Entry, saved: SavedDownload) -> None:
        with self._lock:
            entry.thread = None
            cancelled = entry.next == "cancelled"
            if not cancelled:
                if saved.state == "queued":
                    saved.state = "paused" if entry.next == "paused" else "queued"
                elif entry.next == "paused":
                    saved.held = None
                if saved.state in _ENDED:
                    saved.finished = int(time.time())
                entry.saved = saved
                if saved.state != "done":
                    entry.done = done_bytes(self._root, saved.wanted)
                self._forget_old()
        if cancelled and saved.state != "done":
            discard(self._root, saved.wanted)
        with self._lock:
            self._threads.discard(threading.current_thread())
            self._watch_held()
        self._changed()

    def _watch_held(self) -> None:
        """With the lock."""
        if self._watch is None and any(entry.saved.held for entry in self._entries):
            self._watch = threading.Thread(
                target=self._look_again, name="download-held", daemon=True
            )
            self._watch.start()

    def _look_again(self) -> None:
        """In the watch's thread, until none is held."""
        while not self._closing.wait(self._look_again_s):
            if not self.go_on():
                with self._lock:
                    if not any(entry.saved.held for entry in self._entries):
                        self._watch = None
                        return

    def _forget_old(self) -> None:
        ended = sorted((e for e in self._entries if e.ended), key=lambda e: -e.saved.finished)
        for entry in ended[_MOST_ENDED:]:
            self._entries.remove(entry)

    def _save(self) -> None:
        with self._saving:
            with self._lock:
                data = msgspec.json.encode([entry.saved for entry in self._entries])
            write(self._file, data)
