"""Is there room? Asked before anything large is fetched or made, so that it does not fail halfway."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from engine.errors import SetupError
from installer.progress import size


def check_space(needed: Mapping[Path, int]) -> None:
    """Compare what is free with what is needed; folders of one file system are added up.

    Args:
        needed: bytes for each folder; a folder need not exist yet.

    Raises:
        SetupError: too little is free.
    """
    places: dict[int, tuple[Path, int]] = {}
    for folder, wanted in needed.items():
        there = _existing(folder)
        device = there.stat().st_dev
        place, sum_so_far = places.get(device, (there, 0))
        places[device] = (place, sum_so_far + wanted)
    for place, wanted in places.values():
        free = shutil.disk_usage(place).free
        if free < wanted:
            raise SetupError(
                f"the disk is nearly full: {size(free)} free where {place} lies, {size(wanted)} needed.",
                hint="Free some space and start again.",
            )


def _existing(folder: Path) -> Path:
    while not folder.exists():
        folder = folder.parent
    return folder
