"""One download: the files that belong together, fetched one after the other, put in place together.

Nothing of a set can be used before all of it was checked: its files keep their `.part` names until then. Neighbours: `transfer`
(one file), `cache_layout` (where it goes), `download_queue` (which one is next).
"""

import hashlib
import os
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from engine.api.hub import HubFile
from engine.errors import ServiceUnavailable, SetupError
from engine.hub.cache_layout import RepoFolder
from engine.hub.network import Network
from engine.hub.pacer import Pacer
from engine.hub.part_file import PartFile, remove_part
from engine.hub.source import Source
from engine.hub.space import check_space, existing
from engine.hub.token import TokenStore
from engine.hub.transfer import Patience, Progress, Stopped, Transfer
from engine.hub.wanted import Wanted

_BUSY_S: Final = 0.5
_CHUNK: Final = 1 << 20
_TOLD_EACH: Final = 64 << 20


class Download:
    """Fetches one set."""

    def __init__(
        self,
        network: Network,
        tokens: TokenStore,
        pacer: Pacer,
        root: Path,
        wanted: Wanted,
        *,
        stop: threading.Event,
        report: Callable[[Progress], None],
        patience: Patience,
    ) -> None:
        """Do nothing yet.

        Args:
            network: the way out.
            tokens: asked once for each file.
            pacer: the speed limit.
            root: of the cache.
            wanted: checked.
            stop: ends it within half a second.
            report: called with the progress of the whole set, by the thread that runs this.
            patience: when to give up.
        """
        self._network = network
        self._tokens = tokens
        self._pacer = pacer
        self._root = root
        self._folder = RepoFolder(root, wanted.repo)
        self._wanted = wanted
        self._stop = stop
        self._report = report
        self._patience = patience
        self._done_before = 0
        self._received_before = 0
        self._latest = Progress("running", 0, 0)

    def run(self) -> Path:
        """Come back when everything is in place; in a thread.

        Returns:
            The first file, in its snapshot.

        Raises:
            Stopped: `stop` was set; what arrived stays.
            DiskFull: likewise.
            EngineError: it cannot be had.
        """
        try:
            with self._network.purpose("download"), ExitStack() as locks:
                check_space(self._root, self._wanted)
                return self._place([(f, self._fetched(f, locks)) for f in self._wanted.files])
        except OSError as error:
            raise SetupError(
                f"The download could not be put in place ({error.strerror or error}).",
                hint=f"Check that {self._folder.folder} can be written, then resume it.",
            ) from error

    def _is_there(self, file: HubFile) -> bool:
        """Did we or another program fetch it before, and is it whole?"""
        place = existing(self._folder, self._wanted, file)
        if place is None:
            return False
        digest = hashlib.sha256()
        with place.open("rb", buffering=0) as data:
            while chunk := data.read(_CHUNK):
                if self._stop.is_set():
                    raise Stopped
                digest.update(chunk)
                if data.tell() % _TOLD_EACH == 0:
                    self._tell(Progress("checking", data.tell(), 0))
        return file.sha256 in ("", digest.hexdigest())

    def _fetched(self, file: HubFile, locks: ExitStack) -> PartFile | None:
        """Its part, complete and locked; None: it is in place already."""
        part = None
        while part is None and not self._is_there(file):
            part = self._opened(file)
            if part is not None:
                locks.callback(part.close)
                self._fetch(file, part)
        self._done_before += file.size_bytes
        self._received_before += self._latest.received_bytes
        self._latest = Progress("running", 0, 0)
        return part

    def _opened(self, file: HubFile) -> PartFile | None:
        """None: somebody else was fetching it, so by now it may be there."""
        key = self._wanted.key(file)
        try:
            return PartFile(self._folder.part(key), self._folder.lock(key), file.size_bytes)
        except ServiceUnavailable as busy:
            self._tell(Progress("waiting", 0, 0, str(busy)))
            if self._stop.wait(_BUSY_S):
                raise Stopped from None
            return None

    def _fetch(self, file: HubFile, part: PartFile) -> None:
        source = Source(
            self._network,
            self._tokens.read()[0],
            repo=self._wanted.repo,
            commit=self._wanted.revision,
            path=file.path,
            size=file.size_bytes,
            sha256=file.sha256,
        )
        transfer = Transfer(
            self._network,
            source,
            self._pacer,
            stop=self._stop,
            report=self._tell,
            patience=self._patience,
        )
        transfer.run(part, file.sha256)

    def _tell(self, progress: Progress) -> None:
        self._latest = progress
        self._report(
            Progress(
                progress.state,
                self._done_before + progress.done_bytes,
                self._received_before + progress.received_bytes,
                progress.problem,
            )
        )

    def _place(self, parts: list[tuple[HubFile, PartFile | None]]) -> Path:
        commit = self._wanted.revision
        blobs = [self._moved(file, part) for file, part in parts]
        # The first file is what a model is opened by: its link comes last.
        for (file, _), blob in reversed(list(zip(parts, blobs, strict=True))):
            _link(self._folder.snapshot(commit, file.path), blob, self._folder.folder)
        if self._wanted.ref not in ("", commit):
            ref = self._folder.ref(self._wanted.ref)
            ref.parent.mkdir(parents=True, exist_ok=True)
            new = ref.with_name(f"{ref.name}.new")
            new.write_text(commit, encoding="ascii")
            new.replace(ref)
        return self._folder.snapshot(commit, self._wanted.files[0].path)

    def _moved(self, file: HubFile, part: PartFile | None) -> Path:
        if part is None:
            there = existing(self._folder, self._wanted, file)
            return there or self._folder.blob(self._wanted.key(file))
        blob = self._folder.blob(part.sha256)
        part.path.replace(blob)
        remove_part(part.path)
        return blob


def discard(root: Path, wanted: Wanted) -> None:
    """Leave nothing of an unfinished download behind; what another one is writing stays."""
    import filelock  # 40 ms: not on the way to the first answer

    folder = RepoFolder(root, wanted.repo)
    for file in wanted.files:
        key = wanted.key(file)
        lock = folder.lock(key)
        with suppress(OSError, filelock.Timeout):
            lock.parent.mkdir(parents=True, exist_ok=True)
            with filelock.FileLock(lock, timeout=0):
                remove_part(folder.part(key))
    for empty in (folder.folder / "blobs", folder.folder):
        with suppress(OSError):
            empty.rmdir()


def _link(snapshot: Path, blob: Path, inside: Path) -> None:
    """Let a snapshot's name mean a blob; where links are refused, the blob itself moves there.

    Raises:
        OSError: it cannot be made.
    """
    snapshot.parent.mkdir(parents=True, exist_ok=True)
    if not snapshot.parent.resolve().is_relative_to(inside.resolve()):
        raise OSError(f"{snapshot.parent} leads out of the folder")
    if snapshot.exists() and snapshot.samefile(blob):
        return
    new = snapshot.with_name(f".{snapshot.name}.new")
    new.unlink(missing_ok=True)
    try:
        new.symlink_to(os.path.relpath(blob, snapshot.parent))
    except (OSError, NotImplementedError):  # Windows, without the right to
        blob.replace(snapshot)
    else:
        new.replace(snapshot)
