"""Model ids: short names for people that stand for paths. Pure. Neighbour: `engine.hub.library`.

An id is the file's name without its suffix; where two models share it, folders are put in front (`publisher/model`).
An id is only ever compared with the ids of known models, never used as a path.
"""

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from engine.formats.filenames import printable
from engine.hub.split import FileSet, stem

_LISTED = 10


def assign_ids(sets: Sequence[FileSet]) -> list[str]:
    """One id for each set, all different, in valid printable Unicode. Depends on nothing but the paths."""
    names = _names(sets)
    ids = list(names)
    depth = 1
    while clashing := {name for name, times in Counter(ids).items() if times > 1}:
        ids = [
            _with_folders(files.first, name, depth) if before in clashing else before
            for files, name, before in zip(sets, names, ids, strict=True)
        ]
        depth += 1
    return ids


def find_ids(wanted: str, known: Mapping[str, Path]) -> list[str]:
    """The ids that `wanted` can mean: one, none, or several.

    Besides the id itself: with `.gguf`, in another Unicode normal form, with more folders in front than are
    needed at the moment (so that an id that was told apart once stays good), or with too few; without `:latest`.

    Args:
        wanted: what somebody typed or stored.
        known: id → path of the model's first file.
    """
    for attempt in (wanted, stem(wanted), f"{wanted}:latest"):
        if attempt in known:
            return [attempt]
    normal = unicodedata.normalize("NFC", stem(wanted))
    same = [i for i in known if unicodedata.normalize("NFC", i) == normal]
    return same or [
        i
        for i, path in known.items()
        if f"/{_with_folders(path, i.rpartition('/')[2], len(path.parts))}".endswith(
            f"/{stem(wanted)}"
        )
    ]


def listed(ids: Sequence[str]) -> str:
    """Some of the ids, for a hint."""
    more = f" and {len(ids) - _LISTED} more" if len(ids) > _LISTED else ""
    return ", ".join(ids[:_LISTED]) + more


def _with_folders(path: Path, name: str, depth: int) -> str:
    folders = [printable(part) for part in path.parent.parts[1:][-depth:]]
    return "/".join([*folders, name])


def _names(sets: Sequence[FileSet]) -> list[str]:
    """Names that are different within each folder, which may hold x.gguf, x.GGUF and x-00001-of-00002.gguf."""
    names = [printable(files.name) for files in sets]
    while True:
        places = Counter(
            (files.first.parent, name) for files, name in zip(sets, names, strict=True)
        )
        if len(places) == len(names):
            return names
        names = [
            printable(files.first.name) if places[files.first.parent, name] > 1 else name
            for files, name in zip(sets, names, strict=True)
        ]
