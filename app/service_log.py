"""The file that services of ours write their stderr to: a pipe would block them while the window hangs.

Neighbours: `app.child` (gives it to the process), `app.service` (shows its end).
"""

import os
import tempfile
from pathlib import Path
from typing import BinaryIO

MAX_BYTES = 1 << 20
"""Above this, what earlier services wrote is dropped when one starts."""
TAIL_BYTES = 1 << 16
TAIL_LINES = 200


class ServiceLog:
    """Appended to by one service after another; in a temporary folder if ours cannot be written."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "service.log"
        self._begin = 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._path.open("ab").close()
        except OSError:
            self._path = Path(tempfile.mkdtemp(prefix="inglenook-")) / "service.log"

    def open(self) -> BinaryIO:
        """For a service that starts now.

        Raises:
            OSError: the file went away meanwhile.
        """
        file = self._path.open("ab")
        self._begin = file.seek(0, os.SEEK_END)
        if self._begin > MAX_BYTES:
            file.truncate(0)
            self._begin = 0
        return file

    def tail(self, *, latest: bool = False) -> list[str]:
        """The last lines; those of the latest service alone, if wished."""
        try:
            with self._path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(self._begin if latest else 0, size - TAIL_BYTES))
                return file.read().decode("utf-8", "replace").splitlines()[-TAIL_LINES:]
        except OSError:
            return []
