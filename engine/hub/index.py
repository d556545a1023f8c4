"""The list of model files that lie outside the library's folder: `library.json` inside it.

Written whole or not at all, under a lock that other processes see. A list that cannot be understood is set aside
under another name, and one that cannot be read is never overwritten. Neighbour: `engine.hub.library`.
"""

import json
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from engine.errors import SetupError
from engine.formats.filenames import from_portable, portable

logger = logging.getLogger(__name__)

FILE_NAME: Final = "library.json"
_VERSION: Final = 1
_LOCK_TIMEOUT_S: Final = 10


class Index:
    """Registered files in the order they were added."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / FILE_NAME

    def read(self) -> list[Path]:
        """The registered paths; none where there is no list yet.

        Raises:
            SetupError: the list is there but cannot be read, or was damaged and has just been set aside.
        """
        try:
            return self._parse()
        except ValueError:
            with self._locked():
                return self._parse_or_set_aside()

    def add(self, path: Path) -> None:
        """Register an absolute path; nothing happens where it is registered already."""
        with self._locked():
            paths = self._parse_or_set_aside()
            if path not in paths:
                self._write([*paths, path])

    def remove(self, path: Path) -> None:
        """Forget a path. The file itself is not touched."""
        with self._locked():
            self._write([known for known in self._parse_or_set_aside() if known != path])

    def _parse(self) -> list[Path]:
        try:
            data = json.loads(self._file.read_bytes())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise SetupError(
                f"The list of added models could not be read ({error.strerror}).",
                hint=f"Check the permissions of {FILE_NAME} in the model folder, then try again.",
            ) from error
        files = (
            data.get("files")
            if isinstance(data, dict) and data.get("version") == _VERSION
            else None
        )
        if not isinstance(files, list) or not all(isinstance(text, str) for text in files):
            raise ValueError("not a list of files")
        return [from_portable(text) for text in files]

    def _parse_or_set_aside(self) -> list[Path]:
        try:
            return self._parse()
        except ValueError as error:
            aside = self._set_aside()
            logger.warning("index was damaged, set aside, file=%s reason=%s", aside, error)
            raise SetupError(
                f"The list of added models was damaged; it is kept as {aside}.",
                hint="Models in the model folder are not affected; add the others again.",
            ) from error

    def _set_aside(self) -> str:
        number = 1
        while (aside := self._folder / f"library.broken-{number}.json").exists():
            number += 1
        self._file.rename(aside)
        return aside.name

    def _write(self, paths: Sequence[Path]) -> None:
        data = {"version": _VERSION, "files": [portable(path) for path in paths]}
        new = self._folder / f".{FILE_NAME}.new"
        with new.open("wb") as file:
            file.write(json.dumps(data, indent=1).encode("ascii"))
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._file)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        import filelock  # 40 ms: not on the way to the first answer

        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with filelock.FileLock(self._folder / ".library.lock", timeout=_LOCK_TIMEOUT_S):
                yield
        except filelock.Timeout as error:
            raise SetupError(
                "Another process is changing the list of models.", hint="Try again in a moment."
            ) from error
        except OSError as error:
            raise SetupError(
                f"The list of added models cannot be changed ({error.strerror}).",
                hint="Check that the model folder can be written and its disk is not full.",
            ) from error
