"""The queue of downloads as it outlives the process: a JSON file, written whole or not at all.

Neighbours: `download_queue` (whose it is), `wanted` (checked again, as the file is data from outside).
"""

import logging
import os
from pathlib import Path
from typing import Final

import msgspec

from engine.api.hub import DownloadState
from engine.errors import InvalidRequest
from engine.hub.held import Held
from engine.hub.wanted import Wanted

AT_WORK: Final = ("running", "waiting", "checking")
logger = logging.getLogger(__name__)


class SavedDownload(msgspec.Struct):
    """One download."""

    wanted: Wanted
    state: DownloadState = "queued"
    problem: str = ""
    model: str = ""
    finished: int = 0
    held: Held | None = None
    """While paused: what it goes on without; None: the user resumes it."""


def write(file: Path, data: bytes) -> None:
    """On a full disk the older list stays, which is true enough."""
    partial = file.with_name(f".{file.name}.new")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as new:
            new.write(data)
            new.flush()
            os.fsync(new.fileno())
        partial.replace(file)
    except OSError as error:
        logger.warning("the queue of downloads was not written, error=%s", error.strerror)


def read(file: Path, root: Path) -> list[SavedDownload]:
    """What was at work is queued again; a damaged file is set aside."""
    try:
        saved = msgspec.json.decode(file.read_bytes(), type=list[SavedDownload])
        for item in saved:
            item.wanted.check(root)
            if item.state in AT_WORK:
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
