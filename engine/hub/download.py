"""One download: the files that belong together, fetched one after the other, put in place together.

Nothing of a set can be used before all of it was checked: its files keep their `.part` names until then. Neighbours: `transfer`
(one file), `cache_layout` (where it goes), `download_queue` (which one is next).
"""

import hashlib
import os
import shutil
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

import msgspec

from engine.api.hub import HubFile
from engine.errors import DiskFull, InvalidRequest, ServiceUnavailable, SetupError
from engine.hardware.units import gigabytes
from engine.hub.cache_layout import RepoFolder
from engine.hub.network import Network
from engine.hub.pacer import Pacer
from engine.hub.part_file import PartFile, bytes_on_disk, remove_part
from engine.hub.source import Source
from engine.hub.token import TokenStore
from engine.hub.transfer import Patience, Progress, Stopped, Transfer

MOST_BYTES: Final = 1 << 40
"""Of one file; more is no model but an attack on the bookkeeping."""
_MOST_FILES: Final = 500
_SPARE: Final = 0.05
_BUSY_S: Final = 0.5
_CHUNK: Final = 1 << 20
_TOLD_EACH: Final = 64 << 20
_OTHER: Final = "Choose another model."


class Wanted(msgspec.Struct, frozen=True):
    """What is to be downloaded."""

    repo: str
    """`owner/name`."""
    revision: str
    """Commit, 40 hexadecimal digits."""
    ref: str
    """Branch or tag that it was chosen by."""
    name: str
    """For people, and how the library's card calls it."""
    files: tuple[HubFile, ...]
    """The first is the one a model is opened by."""

    @property
    def total_bytes(self) -> int:
        """Of all files."""
        return sum(file.size_bytes for file in self.files)

    def check(self, root: Path) -> None:
        """Look at every name and number before anything is done with it.

        Raises:
            InvalidRequest: one is not acceptable.
        """
        folder = RepoFolder(root, self.repo)
        folder.ref(self.ref or "main")
        if not 0 < len(self.files) <= _MOST_FILES:
            raise InvalidRequest(
                "A download has between 1 and 500 files.", hint=_OTHER, param="files"
            )
        paths = {folder.snapshot(self.revision, file.path) for file in self.files}
        if len(paths) < len(self.files):
            raise InvalidRequest("A download names a file twice.", hint=_OTHER, param="files")
        for file in self.files:
            folder.blob(self.key(file))
            if len(file.sha256) not in (0, 64) or not 0 < file.size_bytes <= MOST_BYTES:
                raise InvalidRequest(
                    "The hub names a size or a checksum that no model has.",
                    hint=_OTHER,
                    param="files",
                )

    def key(self, file: HubFile) -> str:
        """What its bytes are called while they arrive: their SHA-256, or where nobody knows it, one of their place."""
        place = f"{self.repo}\n{self.revision}\n{file.path}"
        return file.sha256 or hashlib.sha256(place.encode()).hexdigest()


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
                self._check_space()
                return self._place([(f, self._fetched(f, locks)) for f in self._wanted.files])
        except OSError as error:
            raise SetupError(
                f"The download could not be put in place ({error.strerror or error}).",
                hint=f"Check that {self._folder.folder} can be written, then resume it.",
            ) from error

    def _check_space(self) -> None:
        missing = 0
        for file in self._wanted.files:
            if self._existing(file) is None:
                part = self._folder.part(self._wanted.key(file))
                missing += file.size_bytes - bytes_on_disk(part, file.size_bytes)
        needed, free = int(missing * (1 + _SPARE)), _free_bytes(self._root)
        if missing and free < needed:
            raise DiskFull(
                f"{self._wanted.name} still needs {gigabytes(needed)} of disk space, and "
                f"{gigabytes(free)} are free.",
                hint="Make room, then resume the download; what is there of it is kept.",
                needed_bytes=needed,
                free_bytes=free,
            )

    def _existing(self, file: HubFile) -> Path | None:
        """Where its bytes are already, by size."""
        snapshot = self._folder.snapshot(self._wanted.revision, file.path)
        for place in (snapshot, self._folder.blob(self._wanted.key(file))):
            with suppress(OSError):
                if place.is_file() and place.stat().st_size == file.size_bytes:
                    return place
        return None

    def _is_there(self, file: HubFile) -> bool:
        """Did we or another program fetch it before, and is it whole?"""
        place = self._existing(file)
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
            existing = self._existing(file)
            return existing or self._folder.blob(self._wanted.key(file))
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


def done_bytes(root: Path, wanted: Wanted) -> int:
    """How much of an unfinished download is on disk."""
    folder = RepoFolder(root, wanted.repo)
    return sum(
        bytes_on_disk(folder.part(wanted.key(file)), file.size_bytes) for file in wanted.files
    )


def _free_bytes(root: Path) -> int:
    folder = root.absolute()
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return shutil.disk_usage(folder).free


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
