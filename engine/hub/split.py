"""Which files are one model: a file of its own, or the parts of a split one. Neighbour: `engine.hub.library`.

llama.cpp finds the other parts by name: `NAME-00001-of-00003.gguf`, as llama-gguf-split writes them.
"""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SUFFIX: Final = ".gguf"
_PART: Final = re.compile(r"(.+)-([0-9]{5})-of-([0-9]{5})\.gguf", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FileSet:
    """The files of one model."""

    first: Path
    """Where the file, or part 1, belongs; it may be missing."""
    name: str
    """File name without suffix and part number."""
    total: int
    """Parts the model has."""
    parts: tuple[tuple[int, Path], ...]
    """(part number from 1, file): those present, in order."""

    @property
    def missing(self) -> list[int]:
        """Numbers of the parts that are not there."""
        present = {number for number, _ in self.parts}
        return [number for number in range(1, self.total + 1) if number not in present]


def group(paths: Iterable[Path]) -> list[FileSet]:
    """Put the parts of split models together; every path belongs to exactly one set."""
    sets: dict[tuple[Path, str, int], dict[int, Path]] = {}
    single: list[FileSet] = []
    for path in paths:
        if (part := _parse(path.name)) is None:
            single.append(FileSet(path, stem(path.name), 1, ((1, path),)))
        else:
            name, number, total = part
            sets.setdefault((path.parent, name, total), {})[number] = path
    split = [
        FileSet(_first(parts, folder, name, total), name, total, tuple(sorted(parts.items())))
        for (folder, name, total), parts in sets.items()
    ]
    return sorted(single + split, key=lambda files: os.fsencode(files.first))


def set_of(path: Path) -> FileSet:
    """The model that one file belongs to, with the parts that lie beside it. Reads the folder's names."""
    part = _parse(path.name)
    if part is None:
        present = ((1, path),) if os.path.lexists(path) else ()
        return FileSet(path, stem(path.name), 1, present)
    name, _, total = part
    try:
        siblings = list(path.parent.iterdir())
    except OSError:
        siblings = []
    for files in group(siblings):
        if (files.name, files.total) == (name, total):
            return files
    return FileSet(path.with_name(part_name(name, 1, total)), name, total, ())


def part_name(name: str, number: int, total: int) -> str:
    """The name llama.cpp expects of one part."""
    return f"{name}-{number:05}-of-{total:05}{SUFFIX}"


def stem(name: str) -> str:
    """The file name without `.gguf`."""
    return (
        name[: -len(SUFFIX)] if name.lower().endswith(SUFFIX) and len(name) > len(SUFFIX) else name
    )


def _first(parts: dict[int, Path], folder: Path, name: str, total: int) -> Path:
    return parts.get(1) or folder / part_name(name, 1, total)


def _parse(file_name: str) -> tuple[str, int, int] | None:
    match = _PART.fullmatch(file_name)
    if match is None:
        return None
    number, total = int(match[2]), int(match[3])
    return (match[1], number, total) if 1 <= number <= total else None
