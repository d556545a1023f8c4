"""The downloads of this service: which there are, in which order, what each is doing. Survives a restart.

Each running one is a thread; all methods may be called by any. Neighbours: `download` (one of them), `engine.supervisor.hub`.
"""

import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

import msgspec

from engine.api.hub import DownloadInfo, DownloadList, DownloadState
from engine.errors import DiskFull, EngineError, InvalidRequest, Offline
from engine.hub.download import Download, Wanted, discard, done_bytes
from engine.hub.network import Network
from engine.hub.pacer import Pacer
from engine.hub.speed import Speed
from engine.hub.token import TokenStore
from engine.hub.transfer import Patience, Progress, Stopped

__all__ = ["DownloadQueue", "Wanted"]
logger = logging.getLogger(__name__)

_MOST_ENDED: Final = 50
_ENDED: Final = ("done", "failed")
_AT_WORK: Final = ("running", "waiting", "checking")


class _Saved(msgspec.Struct):
    """One download as it outlives the process."""

    wanted: Wanted
    state: DownloadState = "queued"
    problem: str = ""
    model: str = ""
    finished: int = 0


class _Entry:
    """One download while the process lives."""

    def __init__(self, saved: _Saved, done: int) -> None:
        self.saved = saved
        self.done = done
        self.id = _id(saved.wanted)
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
        self._closing = False
        self._threads: set[threading.Thread] = set()
        """Of cancelled ones too."""
        self._entries = [
            _Entry(saved, done_bytes(root, saved.wanted)) for saved in _read(file, root)
        ]
        with self._lock:
            self._start_next()

    @property
    def active(self) -> int:
        """Downloads that are not finished and would go on by themselves."""
        with self._lock:
            return sum(entry.saved.state in ("queued", *_AT_WORK) for entry in self._entries)

    def add(self, wanted: Wanted) -> DownloadInfo:
        """Put it at the end; one that is there already is returned, and resumed where it stopped.

        Raises:
            InvalidRequest: a name or number in it is not acceptable.
        """
        wanted.check(self._root)
        with self._lock:
            known = next((e for e in self._entries if e.id == _id(wanted)), None)
            if known is None:
                known = _Entry(_Saved(wanted), done_bytes(self._root, wanted))
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
            entry.saved.state, entry.saved.problem = "paused", ""
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
            entry.saved = _Saved(entry.saved.wanted)
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

    def set_limit(self, bytes_per_s: int) -> None:
        """Of all together; 0: none."""
        self._pacer.limit = bytes_per_s
        self._on_change()

    def close(self, timeout_s: float) -> None:
        """Stop all and keep what arrived; what ran goes on at the next start."""
        with self._lock:
            self._closing = True
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
        if self._closing:
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
        saved = _Saved(entry.saved.wanted, "failed")
        try:
            path = self._fetch(entry)
            saved.state = "done"
            saved.model = self._on_done(path)
        except Stopped:
            saved.state = "queued"
        except (DiskFull, Offline) as error:
            saved.state, saved.problem = "paused", str(error)
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

    def _ended(self, entry: _Entry, saved: _Saved) -> None:
        with self._lock:
            entry.thread = None
            cancelled = entry.next == "cancelled"
            if not cancelled:
                if saved.state == "queued":
                    saved.state = "paused" if entry.next == "paused" else "queued"
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
        self._changed()

    def _forget_old(self) -> None:
        ended = sorted((e for e in self._entries if e.ended), key=lambda e: -e.saved.finished)
        for entry in ended[_MOST_ENDED:]:
            self._entries.remove(entry)

    def _save(self) -> None:
        """Whole or not at all; on a full disk the older list stays, which is true enough."""
        partial = self._file.with_name(f".{self._file.name}.new")
        with self._saving:
            with self._lock:
                data = msgspec.json.encode([entry.saved for entry in self._entries])
            try:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                with partial.open("wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                partial.replace(self._file)
            except OSError as error:
                logger.warning("the queue of downloads was not written, error=%s", error.strerror)


def _id(wanted: Wanted) -> str:
    """The same repository, commit and files are the same download."""
    what = "\n".join([wanted.repo, wanted.revision, *sorted(file.path for file in wanted.files)])
    return hashlib.sha256(what.encode()).hexdigest()[:12]


def _read(file: Path, root: Path) -> list[_Saved]:
    try:
        saved = msgspec.json.decode(file.read_bytes(), type=list[_Saved])
        for item in saved:
            item.wanted.check(root)
            if item.state in _AT_WORK:
                item.state, item.problem = "queued", ""
    except FileNotFoundError:
        return []
    except (OSError, msgspec.MsgspecError, InvalidRequest) as error:
        logger.warning("the queue of downloads begins anew, error=%s", type(error).__name__)
        try:
            file.replace(file.with_suffix(".broken.json"))
        except OSError:
            logger.warning("and the old one could not be set aside")
        return []
    return saved
