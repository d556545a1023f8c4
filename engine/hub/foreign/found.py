"""A model that was found somewhere, and the folders of plain files where most programs keep theirs."""

import logging
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from engine.hub.model_defaults import ModelDefaults
from engine.hub.scan import MAX_DEPTH, Survey
from engine.hub.split import FileSet, group

logger = logging.getLogger(__name__)

_PARTIAL: Final = "incomplete-"
"""How a file begins that a program is still downloading."""


@dataclass(frozen=True, slots=True)
class FoundModel:
    """Files that somebody else keeps. What they hold was not looked at."""

    origin: str
    """The program's name, such as `Ollama`."""
    files: FileSet
    name: str
    """What its id is made of."""
    place: Path
    """Where the file would lie if all folders were named for people; these, too, ids are made of."""
    sha256: str = ""
    """Of a single file, where the program names its files by content: a claim."""
    companions: tuple[Path, ...] = ()
    """Files that belong to it: the part for images (mmproj)."""
    suggested: ModelDefaults = field(default_factory=ModelDefaults)
    """How the program runs it."""

    @staticmethod
    def plain(origin: str, files: FileSet) -> "FoundModel":
        """A model that is called as its file is."""
        return FoundModel(origin, files, files.name, files.first)


def plain_models(
    survey: Survey, folder: Path, origin: str, depth: int = MAX_DEPTH
) -> Iterator[FoundModel]:
    """The models in a folder of ordinary GGUF files; none where it cannot be read."""
    try:
        paths = survey.models(folder, depth)
    except OSError as error:
        logger.info("cannot look into folder, folder=%r reason=%s", str(folder), error.strerror)
        return
    whole = [path for path in paths if not path.name.startswith(_PARTIAL) and is_file(path)]
    for files in group(whole):
        yield FoundModel.plain(origin, files)


def is_file(path: Path) -> bool:
    """Whether a regular file is there, at the end of all links."""
    return _file_status(path) is not None


def holds(path: Path, size: int) -> bool:
    """Whether a regular file of this size is there."""
    status = _file_status(path)
    return status is not None and status.st_size == size


def _file_status(path: Path) -> os.stat_result | None:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status if stat.S_ISREG(status.st_mode) else None
