"""One small JSON file of ours: written whole or not at all, under a lock that other processes see.

A file that cannot be understood is set aside under another name, and one that cannot be read is never overwritten.
Zone: any thread. Neighbours: `index`, `model_defaults`, `verify`.
"""

import json
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, TypeVar

from engine.errors import SetupError

logger = logging.getLogger(__name__)

T = TypeVar("T")
_LOCK_TIMEOUT_S: Final = 10


@dataclass(frozen=True)  # with slots, JsonFile[X](…) fails on Python 3.11
class JsonFile(Generic[T]):
    """A value that outlives the process."""

    file: Path
    what: str
    """What is in it, for sentences: `list of added models`."""
    loss: str
    """What to do when it was damaged, as a sentence."""
    parse: Callable[[object], T]
    """From what JSON gave. Raises ValueError where it is not so."""
    build: Callable[[T], object]
    """Inverse of `parse`; text may hold surrogates (`engine.formats.filenames.portable`)."""
    empty: T
    """What there is before the first change."""

    def read(self) -> T:
        """The value.

        Raises:
            SetupError: the file is there but cannot be read, or was damaged and has just been set aside.
        """
        try:
            return self._parse()
        except ValueError:
            with self._locked():
                return self._parse_or_set_aside()

    def change(self, edit: Callable[[T], T]) -> None:
        """Read, change and write as one step; nothing is written where nothing changed.

        Raises:
            SetupError: as `read`; or it cannot be written.
        """
        with self._locked():
            before = self._parse_or_set_aside()
            if (after := edit(before)) != before:
                self._write(after)

    def _parse(self) -> T:
        try:
            raw = self.file.read_bytes()
        except FileNotFoundError:
            return self.empty
        except OSError as error:
            raise SetupError(
                f"The {self.what} could not be read ({error.strerror}).",
                hint=f"Check the permissions of {self.file.name}, then try again.",
            ) from error
        try:
            return self.parse(json.loads(raw, parse_constant=_refuse))
        except RecursionError as error:
            raise ValueError("nested too deep") from error

    def _parse_or_set_aside(self) -> T:
        try:
            return self._parse()
        except ValueError as error:
            aside = self._set_aside()
            logger.warning("file was damaged, set aside, file=%s reason=%s", aside, error)
            raise SetupError(
                f"The {self.what} was damaged; it is kept as {aside}.", hint=self.loss
            ) from error

    def _set_aside(self) -> str:
        number = 1
        while (aside := self.file.with_name(f"{self.file.stem}.broken-{number}.json")).exists():
            number += 1
        self.file.rename(aside)
        return aside.name

    def _write(self, value: T) -> None:
        new = self.file.with_name(f".{self.file.name}.new")
        with new.open("wb") as file:
            file.write(json.dumps(self.build(value), indent=1).encode("ascii"))
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.file)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        import filelock  # 40 ms: not on the way to the first answer

        folder = self.file.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with filelock.FileLock(folder / f".{self.file.stem}.lock", timeout=_LOCK_TIMEOUT_S):
                yield
        except filelock.Timeout as error:
            raise SetupError(
                f"Another process is changing the {self.what}.", hint="Try again in a moment."
            ) from error
        except OSError as error:
            raise SetupError(
                f"The {self.what} cannot be changed ({error.strerror}).",
                hint=f"Check that the folder of {self.file.name} can be written and its disk is not full.",
            ) from error


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is no number")
