"""Takes one file out of the library so that it can be got back. Neighbour: `engine.hub.library`."""

import logging
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
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
    with _in_words(name):
        real_root = root.resolve(strict=True)
        target = _inside(file, real_root)
        mode = target.lstat().st_mode
        if stat.S_ISDIR(mode):
            raise InvalidRequest(
                f"{name} is a folder.", hint="Remove it in your file manager.", param="model"
            )
        if stat.S_ISLNK(mode):
            target.unlink()
            return "unlinked"
        return "trashed" if _to_system_trash(target) else _set_aside(target, real_root)


def discard_downloaded(file: Path) -> Removal:
    """Move a file of the Hugging Face cache to the trash: content and link become one file again, under the link's name.

    Put back, it works without the link. Other revisions lose their links to it of the same name; where one links
    to the content under another name, only these links go. No link inside is followed.

    Args:
        file: `…/models--OWNER--NAME/snapshots/COMMIT/PATH`.

    Raises:
        InvalidRequest: it lies nowhere like that, or behind a linked folder.
        SetupError: the system refused.
    """
    with _in_words(printable(file.name)):
        repository = _repository(file)
        target = _inside(file, repository / "snapshots")
        blob = _blob_of(target, repository)
        if blob is not None and stat.S_ISREG(blob.lstat().st_mode):
            links = [link for link in _links(repository) if _blob_of(link, repository) == blob]
            same = [
                link
                for link in links
                if _in_commit(link, repository) == _in_commit(target, repository)
            ]
            shared = len(same) < len(links)
            if not shared:
                blob.replace(target)
            for link in same:
                if link.is_symlink():
                    link.unlink()
            if shared:
                return "unlinked"
        return discard(target, repository)


def _repository(file: Path) -> Path:
    """The real folder of the repository that a file of the cache belongs to."""
    for folder in file.parents:
        if folder.name == "snapshots" and folder.parent.name.startswith("models--"):
            return folder.parent.resolve(strict=True)
    raise InvalidRequest(
        f"{printable(file.name)} lies in no cache of downloads.",
        hint="Remove it where it lies.",
        param="model",
    )


def _inside(file: Path, real_root: Path) -> Path:
    """The file by its folder's real path, which must lie inside."""
    folder = file.parent.resolve(strict=True)
    if not folder.is_relative_to(real_root):
        raise InvalidRequest(
            f"{printable(file.name)} lies outside the model folder, behind a link.",
            hint="Remove it where it lies, or delete the link.",
            param="model",
        )
    return folder / file.name


def _blob_of(link: Path, repository: Path) -> Path | None:
    """Where a link of a snapshot points to, if that is straight into the repository's blobs."""
    if not link.is_symlink():
        return None
    content = Path(os.path.normpath(link.parent / link.readlink()))
    return content if content.parent.resolve() == repository / "blobs" else None


def _links(repository: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(repository / "snapshots"):
        yield from (link for name in names if (link := Path(folder, name)).is_symlink())


def _in_commit(link: Path, repository: Path) -> tuple[str, ...]:
    """Its path behind the commit."""
    return link.relative_to(repository / "snapshots").parts[1:]


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


@contextmanager
def _in_words(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SetupError(
            f"{name} could not be removed ({error.strerror}).",
            hint="Check the permissions of the model folder and whether a program still uses the file.",
        ) from error
