"""Room on the disk for a download: what is missing of it, what is free, and whether that is enough.

Neighbours: `wanted` (what is to be downloaded), `download` (asks before it begins), `held` (asks again later).
"""

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

from engine.api.hub import HubFile
from engine.errors import DiskFull
from engine.hardware.units import gigabytes
from engine.hub.cache_layout import RepoFolder
from engine.hub.part_file import bytes_on_disk
from engine.hub.wanted import Wanted

_SPARE: Final = 0.05


def check_space(root: Path, wanted: Wanted) -> None:
    """Look whether the rest of a download fits.

    Raises:
        DiskFull: it does not.
    """
    needed, free = needed_bytes(root, wanted), free_bytes(root)
    if needed > free:
        raise DiskFull(
            f"{wanted.name} still needs {gigabytes(needed)} of disk space, and "
            f"{gigabytes(free)} are free.",
            hint="Make room, and the download goes on by itself; what is there of it is kept.",
            needed_bytes=needed,
            free_bytes=free,
        )


def needed_bytes(root: Path, wanted: Wanted) -> int:
    """What the rest of it takes, with a little to spare; 0: nothing is missing."""
    folder = RepoFolder(root, wanted.repo)
    missing = 0
    for file in wanted.files:
        if existing(folder, wanted, file) is None:
            part = folder.part(wanted.key(file))
            missing += file.size_bytes - bytes_on_disk(part, file.size_bytes)
    return int(missing * (1 + _SPARE))


def done_bytes(root: Path, wanted: Wanted) -> int:
    """How much of an unfinished download is on disk."""
    folder = RepoFolder(root, wanted.repo)
    return sum(
        bytes_on_disk(folder.part(wanted.key(file)), file.size_bytes) for file in wanted.files
    )


def existing(folder: RepoFolder, wanted: Wanted, file: HubFile) -> Path | None:
    """Where the bytes of a file are already, by size."""
    snapshot = folder.snapshot(wanted.revision, file.path)
    for place in (snapshot, folder.blob(wanted.key(file))):
        with suppress(OSError):
            if place.is_file() and place.stat().st_size == file.size_bytes:
                return place
    return None


def free_bytes(root: Path) -> int:
    """Of the disk that a folder is on, or will be."""
    folder = root.absolute()
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return shutil.disk_usage(folder).free
