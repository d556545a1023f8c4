"""Finds what looks like model files below the library's folder. Neighbour: `engine.hub.library`."""

import itertools
import logging
import os
from pathlib import Path
from typing import Final

from engine.hub.split import SUFFIX

logger = logging.getLogger(__name__)

MAX_DEPTH: Final = 4
"""Folders below the library's own; publisher/repository/file needs two."""
MAX_ENTRIES: Final = 50_000
"""Directory entries looked at, should somebody choose a whole disk as library."""


def find_models(folder: Path) -> list[Path]:
    """Everything called `*.gguf` down to `MAX_DEPTH`, folders without such a file in them included.

    Hidden entries are passed over. Links to folders are followed, each real folder once.

    Raises:
        OSError: the folder itself cannot be read; a missing one is empty.
    """
    if not folder.exists():
        return []
    return _Walk().visit(folder, MAX_DEPTH)


class _Walk:
    def __init__(self) -> None:
        self._seen: set[tuple[int, int]] = set()
        self._left = MAX_ENTRIES

    def visit(self, folder: Path, depth: int) -> list[Path]:
        status = folder.stat()
        if (status.st_dev, status.st_ino) in self._seen:
            return []
        self._seen.add((status.st_dev, status.st_ino))
        with os.scandir(folder) as entries:
            some = list(itertools.islice(entries, self._left + 1))
        if len(some) > self._left:
            logger.warning("library is too large, stopped looking, folder=%r", str(folder))
        self._left = max(0, self._left - len(some))
        # Real folders before links to them, so that a model's path does not depend on the order on disk.
        some.sort(key=lambda entry: (entry.is_symlink(), entry.name))
        visible = (entry for entry in some if not entry.name.startswith("."))
        return [path for entry in visible for path in self._look(entry, depth)]

    def _look(self, entry: os.DirEntry[str], depth: int) -> list[Path]:
        path = Path(entry.path)
        named = [path] if entry.name.lower().endswith(SUFFIX) else []
        try:
            if not entry.is_dir():
                return named
            return (self.visit(path, depth - 1) if depth else []) or named
        except OSError as error:
            logger.info("cannot look into folder, folder=%r reason=%s", entry.path, error.strerror)
            return named
