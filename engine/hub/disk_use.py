"""How much of the disk models take. Pure but for asking for sizes. Neighbour: `engine.hub.library`."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from engine.hub.library import LibraryModel


@dataclass(frozen=True, slots=True)
class DiskUse:
    """Bytes. What two models share counts for each of them, and once in the sums."""

    models: Mapping[str, int]
    """By id: its files, and those that belong to it."""
    origins: Mapping[str, int]
    """By `LibraryModel.origin`; shared files with the first that has them."""
    total: int


def disk_use(models: Iterable[LibraryModel]) -> DiskUse:
    """Look at all files of these models; one that is away takes nothing."""
    by_model: Counter[str] = Counter()
    by_origin: Counter[str] = Counter()
    seen: set[tuple[int, int]] = set()
    for model in models:
        by_model[model.id] += 0
        by_origin[model.origin] += 0
        for file in (*model.files, *model.companions):
            try:
                status = file.stat()
            except OSError:
                continue
            by_model[model.id] += status.st_size
            if (status.st_dev, status.st_ino) not in seen:
                seen.add((status.st_dev, status.st_ino))
                by_origin[model.origin] += status.st_size
    return DiskUse(dict(by_model), dict(by_origin), by_origin.total())
