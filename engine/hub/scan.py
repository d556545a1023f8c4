"""Finds what looks like model files below folders, and knows later whether to look again. Neighbours: `library`, `foreign`."""

import itertools
import logging
import os
import stat
import time
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, Final, TypeVar

from engine.hub.split import SUFFIX

logger = logging.getLogger(__name__)

MAX_DEPTH: Final = 4
"""Folders below the library's own; publisher/repository/file needs two."""
MAX_ENTRIES: Final = 50_000
"""Directory entries looked at, should somebody choose a whole disk as library."""
MAX_CONTENT_BYTES: Final = 256 << 10
"""Of a small file (a manifest, a settings file) of another program."""
SETTLED_NS: Final = 2_000_000_000
"""A folder that changed so shortly before a look may have changed again within the same tick of its disk's clock."""
_ABSENT: Final = -1

T = TypeVar("T")


def find_models(folder: Path) -> list[Path]:
    """See `Survey.models`."""
    return Survey().models(folder)


class Survey:
    """One look at some folders: bounded, and able to tell whether anything changed since."""

    def __init__(self) -> None:
        self._began = time.time_ns()
        self._left = MAX_ENTRIES
        self._times: dict[str, int] = {}
        """What was looked at → its latest change, ns since the epoch."""

    @property
    def outdated(self) -> bool:
        """Whether another look may see something else. Costs a stat for each folder and small file."""
        settled = self._began - SETTLED_NS
        return any(
            changed > settled or changed != _changed(path) for path, changed in self._times.items()
        )

    def models(self, folder: Path, depth: int = MAX_DEPTH) -> list[Path]:
        """Everything called `*.gguf` down to so many folders, folders without such a file in them included.

        Hidden entries are passed over. Links to folders are followed, each real folder once.

        Raises:
            OSError: the folder itself cannot be read; a missing one is empty.
        """
        self.note(folder)
        return self._visit(folder, depth, set()) if folder.exists() else []

    def entries(self, folder: Path) -> list[os.DirEntry[str]]:
        """What lies in a folder, by name; nothing where it cannot be read."""
        self.note(folder)
        try:
            return sorted(self._list(folder), key=lambda entry: entry.name)
        except OSError as error:
            if not isinstance(error, FileNotFoundError | NotADirectoryError):
                _tell(folder, error)
            return []

    def content(self, file: Path, most: int = MAX_CONTENT_BYTES) -> bytes:
        """A small file; empty where it is larger, no file, or cannot be read."""
        self.note(file)
        try:
            if not stat.S_ISREG(file.stat().st_mode):  # opening a pipe would wait for ever
                return b""
            with file.open("rb") as opened:
                content = opened.read(most + 1)
        except (OSError, ValueError):
            return b""
        return content if len(content) <= most else b""

    def note(self, path: Path) -> None:
        """Count a file or folder among what was looked at. Before it is looked at: what comes later is then noticed."""
        text = os.fspath(path)
        self._times[text] = _changed(text)

    def _visit(self, folder: Path, depth: int, seen: set[tuple[int, int]]) -> list[Path]:
        status = folder.stat()
        if (status.st_dev, status.st_ino) in seen:
            return []
        seen.add((status.st_dev, status.st_ino))
        self.note(folder)
        # Real folders before links to them, so that a model's path does not depend on the order on disk.
        some = sorted(self._list(folder), key=lambda entry: (entry.is_symlink(), entry.name))
        visible = (entry for entry in some if not entry.name.startswith("."))
        return [path for entry in visible for path in self._look(entry, depth, seen)]

    def _look(self, entry: os.DirEntry[str], depth: int, seen: set[tuple[int, int]]) -> list[Path]:
        path = Path(entry.path)
        named = [path] if entry.name.lower().endswith(SUFFIX) else []
        try:
            if not entry.is_dir():
                return named
            return (self._visit(path, depth - 1, seen) if depth else []) or named
        except OSError as error:
            _tell(path, error)
            return named

    def _list(self, folder: Path) -> list[os.DirEntry[str]]:
        with os.scandir(folder) as entries:
            some = list(itertools.islice(entries, self._left + 1))
        if len(some) > self._left:
            logger.warning("library is too large, stopped looking, folder=%r", str(folder))
        self._left = max(0, self._left - len(some))
        return some


class Watch:
    """Remembers what looks gave, each as long as nothing changed. Two threads at once may both look: no harm."""

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[Survey, Any]] = {}

    def get(self, key: Hashable, look: Callable[[Survey], T]) -> T:
        """What `look` gave, or gives now. What it raises is not remembered."""
        known = self._known.get(key)
        if known is None or known[0].outdated:
            survey = Survey()
            known = self._known[key] = (survey, look(survey))
        found: T = known[1]
        return found


def _changed(path: str) -> int:
    try:
        status = os.stat(path)  # noqa: PTH116  (called for every folder on every listing)
    except (OSError, ValueError):
        return _ABSENT
    return max(status.st_mtime_ns, status.st_ctime_ns)  # the second knows of permissions, too


def _tell(folder: Path, error: OSError) -> None:
    logger.info("cannot look into folder, folder=%r reason=%s", str(folder), error.strerror)
