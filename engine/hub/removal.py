"""Takes one file out of the library so that it can be got back. Neighbour: `engine.hub.library`."""

import logging
import stat
import tempfile
from pathlib import Path
from typing import Final, Literal

from engine.errors import InvalidRequest, SetupError
from engine.formats.filenames import printable

logger = logging.getLogger(__name__)

TRASH_FOLDER: Final = ".trash"
Removal = Literal["forgotten", "unlinked", "trashed", "set aside"]
"""What became of a model: dropped from the list, its link deleted, in the system's trash, or in `.trash`."""


def discard(file: Path, root: Path) -> Removal:
    """Move a file that really lies inside `root` to the trash; of a link, only the link goes.

    Never deletes contents, never touches a folder.

    Raises:
        InvalidRequest: the file lies elsewhere (reached through a linked folder), or is a folder.
        SetupError: the system refused.
    """
    name = printable(file.name)
    try:
        folder = file.parent.resolve(strict=True)
        real_root = root.resolve(strict=True)
        if not folder.is_relative_to(real_root):
            raise InvalidRequest(
                f"{name} lies outside the model folder, behind a link.",
                hint="Remove it where it lies, or delete the link.",
                param="model",
            )
        target = folder / file.name
        mode = target.lstat().st_mode
        if stat.S_ISDIR(mode):
            raise InvalidRequest(
                f"{name} is a folder.", hint="Remove it in your file manager.", param="model"
            )
        if stat.S_ISLNK(mode):
            target.unlink()
            return "unlinked"
        return "trashed" if _to_system_trash(target) else _set_aside(target, real_root)
    except OSError as error:
        raise SetupError(
            f"{name} could not be removed ({error.strerror}).",
            hint="Check the permissions of the model folder and whether a program still uses the file.",
        ) from error


def _to_system_trash(file: Path) -> bool:
    from send2trash import send2trash

    try:
        send2trash(file)
    except (
        OSError,
        UnicodeError,
    ) as error:  # no trash on this disk, or a name that the desktop cannot take
        logger.info("no system trash, file=%s reason=%s", printable(file.name), error)
        return False
    return True


def _set_aside(file: Path, root: Path) -> Removal:
    trash = root / TRASH_FOLDER
    trash.mkdir(exist_ok=True)
    if trash.resolve() != trash:
        raise SetupError(f"{TRASH_FOLDER} in the model folder is a link.", hint="Remove the link.")
    # A fresh folder each: equal names never meet, and renaming would replace in silence.
    file.rename(Path(tempfile.mkdtemp(dir=trash, prefix="removed-")) / file.name)
    return "set aside"
