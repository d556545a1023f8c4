"""What the user decided about models outside the library's folder: `library.json` inside it. Neighbour: `engine.hub.library`."""

import dataclasses
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engine.formats.filenames import from_portable, portable
from engine.hub.json_file import JsonFile

FILE_NAME: Final = "library.json"
_VERSION: Final = 1

Paths = tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Entries:
    """All paths are absolute; each in the order they were added."""

    files: Paths = ()
    """Registered one by one."""
    folders: Paths = ()
    """Registered with everything below them."""
    hidden: Paths = ()
    """Real paths of models that were found, and are not to be listed."""


class Index:
    """The list, read anew each time."""

    def __init__(self, folder: Path) -> None:
        self._file = JsonFile(
            folder / FILE_NAME,
            what="list of added models",
            loss="Models in the model folder are not affected; add the others again.",
            parse=_parse,
            build=_build,
            empty=Entries(),
        )

    def read(self) -> Entries:
        """What is registered; nothing where there is no list yet.

        Raises:
            SetupError: as `JsonFile.read`.
        """
        return self._file.read()

    def add(self, path: Path) -> None:
        """Register a file; nothing happens where it is registered already. All changes raise as `JsonFile.change`."""
        self._change(files=lambda paths: _with(paths, path))

    def remove(self, path: Path) -> None:
        """Forget a file. The file itself is not touched."""
        self._change(files=lambda paths: _without(paths, path))

    def add_folder(self, path: Path) -> None:
        """Register a folder."""
        self._change(folders=lambda paths: _with(paths, path))

    def remove_folder(self, path: Path) -> None:
        """Forget a folder."""
        self._change(folders=lambda paths: _without(paths, path))

    def hide(self, real: Path) -> None:
        """Do not list a model that was found, by its real path."""
        self._change(hidden=lambda paths: _with(paths, real))

    def show(self, reals: Collection[Path]) -> None:
        """List them again."""
        self._change(hidden=lambda paths: tuple(path for path in paths if path not in reals))

    def _change(self, **edits: Callable[[Paths], Paths]) -> None:
        def edit(old: Entries) -> Entries:
            return dataclasses.replace(
                old, **{name: change(getattr(old, name)) for name, change in edits.items()}
            )

        self._file.change(edit)


def _with(paths: Paths, path: Path) -> Paths:
    return paths if path in paths else (*paths, path)


def _without(paths: Paths, path: Path) -> Paths:
    return tuple(known for known in paths if known != path)


def _parse(data: object) -> Entries:
    if not isinstance(data, dict) or data.get("version") != _VERSION or "files" not in data:
        raise ValueError("not a list of files")
    return Entries(
        **{field.name: _paths(data.get(field.name, [])) for field in dataclasses.fields(Entries)}
    )


def _paths(texts: object) -> Paths:
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError("not a list of paths")
    return tuple(from_portable(text) for text in texts)


def _build(entries: Entries) -> object:
    lists = {
        field.name: [portable(path) for path in getattr(entries, field.name)]
        for field in dataclasses.fields(Entries)
    }
    return {"version": _VERSION} | lists
