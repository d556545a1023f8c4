"""Finding a service that runs already: the runtime file that `--serve` writes beside its data.

Zone: `--serve` writes and removes it, the window reads it. It tells what the service said at its start:
whether that service still answers is for the reader to ask. It holds the key, hence mode 0600.
"""

import contextlib
import os
import tempfile
from pathlib import Path

import msgspec

from engine.paths import Paths

FILE_NAME = "service.json"


class Found(msgspec.Struct, frozen=True):
    """A running service."""

    url: str
    """Works on this machine."""
    key: str
    """Empty: it asks for none."""
    pid: int
    version: str
    owned: bool = False
    """Started by a window, so that a window may end it."""


def path(paths: Paths) -> Path:
    """Where the file is."""
    return paths.data / FILE_NAME


def read(paths: Paths) -> Found | None:
    """The service that these folders belong to, if its process still lives."""
    try:
        found = msgspec.json.decode(path(paths).read_bytes(), type=Found)
    except (OSError, msgspec.MsgspecError):
        return None
    import psutil  # slow to import, and mostly there is no file

    return found if found.pid > 0 and psutil.pid_exists(found.pid) else None


def write(paths: Paths, found: Found) -> None:
    """Tell others of a service; takes the place of an older one's file.

    Raises:
        OSError: the data folder cannot be written.
    """
    paths.data.mkdir(parents=True, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(prefix=f"{FILE_NAME}.", dir=paths.data)  # mode 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(found))
        Path(draft).replace(path(paths))
    except OSError:
        Path(draft).unlink(missing_ok=True)
        raise


def remove(paths: Paths, pid: int) -> None:
    """Take back what the service `pid` wrote; another one's file stays."""
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        if msgspec.json.decode(path(paths).read_bytes(), type=Found).pid == pid:
            path(paths).unlink()
