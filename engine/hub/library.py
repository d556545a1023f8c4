"""The models on this machine: every GGUF file below one folder, and files elsewhere that somebody added.

Zone: service and command line; blocking, cheap once the headers are known. A model's identity is its path; ids are
made for people (`names`). Neighbours: `scan`, `index`, `split`, `inspection`, `removal`.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from engine.errors import InvalidRequest, ModelFormatError, ModelNotFound, SetupError
from engine.formats.filenames import printable
from engine.formats.gguf_header import GgufHeader
from engine.hub.index import Index
from engine.hub.inspection import Inspector
from engine.hub.names import assign_ids, find_ids, listed
from engine.hub.removal import Removal, discard
from engine.hub.scan import find_models
from engine.hub.split import FileSet, group, set_of


@dataclass(frozen=True, slots=True)
class LibraryModel:
    """One model: one file, or all parts of a split one."""

    id: str
    """Unique in the library, printable; what a request names."""
    path: Path
    """The file, or part 1: what a worker loads."""
    files: tuple[Path, ...]
    """The files that are there, in order of their parts."""
    parts_total: int
    size_bytes: int
    modified: int
    """Latest change, seconds since the epoch; 0 when nothing is there."""
    registered: bool
    """Added from elsewhere: removing forgets it and leaves the files alone."""
    header: GgufHeader | None
    """Of the file or part 1; None where it cannot be read."""
    problem: str | None
    """Why it cannot be used and what to do, in a sentence or two; None: nothing known against it."""

    @property
    def parts_present(self) -> int:
        """How many of `parts_total` are there."""
        return len(self.files)

    @property
    def name(self) -> str | None:
        """The model's name by its maker."""
        return self.header.name if self.header else None

    @property
    def architecture(self) -> str | None:
        """Model family, such as `llama`."""
        return self.header.architecture if self.header else None

    @property
    def quantization(self) -> str | None:
        """How the numbers are packed, such as `Q4_K_M`."""
        return self.header.quantization if self.header else None

    @property
    def context_length(self) -> int | None:
        """Tokens the model was trained for."""
        return self.header.context_length if self.header else None

    def ensure_usable(self) -> None:
        """Raise ModelFormatError with the problem, if there is one."""
        if self.problem is not None:
            raise ModelFormatError(self.problem, file=self.id)


class Library:
    """What is on disk, looked up anew on every call."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.notice: str | None = None
        """The latest trouble with the library itself, for the user: a damaged list, an unreadable folder."""
        self._index = Index(self.folder)
        self._inspector = Inspector()

    def models(self) -> list[LibraryModel]:
        """All models, sorted by id. One that cannot be used is listed with its `problem`."""
        sets = {files.first: (files, False) for files in self._inside()}
        for path in self._registered():
            files = set_of(path)
            sets.setdefault(files.first, (files, True))
        ids = assign_ids([files for files, _ in sets.values()])
        models = [
            self._model(name, files, registered=registered)
            for name, (files, registered) in zip(ids, sets.values(), strict=True)
        ]
        self._inspector.forget_unused()
        return sorted(models, key=lambda model: model.id)

    def get(self, wanted: str) -> LibraryModel:
        """The model of that id; `.gguf` at its end does no harm.

        Raises:
            ModelNotFound: no model, or more than one, has that name.
        """
        models = {model.id: model for model in self.models()}
        found = find_ids(wanted, {name: model.path for name, model in models.items()})
        if len(found) == 1:
            return models[found[0]]
        shown = printable(wanted[:100])
        if found:
            raise ModelNotFound(
                f'There are several models named "{shown}".',
                hint=f"Choose one of: {listed(found)}.",
            )
        raise ModelNotFound(
            f'There is no model named "{shown}".',
            hint=f"Choose one of: {listed(list(models))}."
            if models
            else "The library is empty; add a model with `inglenook models add FILE`.",
        )

    def add(self, path: Path) -> LibraryModel:
        """Make a file known that lies anywhere; of a split model, any part stands for all.

        A file inside the library's folder, or one added before, is just returned.

        Raises:
            InvalidRequest: `path` is no file.
            ModelFormatError: it is, but not a whole model.
            SetupError: the list cannot be written.
        """
        files = set_of(self._checked(path))
        report = self._inspector.inspect(files)
        if report.problem is not None:
            raise ModelFormatError(report.problem, file=printable(path.name))
        if (model := self._by_path(files.first)) is None:
            self._index.add(files.first)
            model = self._by_path(files.first)
        if model is None:
            raise SetupError(
                f"{printable(path.name)} vanished while it was added.", hint="Add it again."
            )
        return model

    def remove(self, wanted: str) -> Removal:
        """Forget a model that was added from elsewhere; move one inside the folder to the trash.

        Raises:
            ModelNotFound: see `get`.
            InvalidRequest, SetupError: see `discard`; the list cannot be written.
        """
        model = self.get(wanted)
        if model.registered:
            self._index.remove(model.path)
            return "forgotten"
        outcomes = [discard(file, self.folder) for file in model.files]
        if model.path in self._registered():  # added first, then the folder grew round it
            self._index.remove(model.path)
        return outcomes[0]

    def _inside(self) -> list[FileSet]:
        try:
            return group(find_models(self.folder))
        except OSError as error:
            self.notice = f"The model folder could not be read ({error.strerror}). Check its disk and permissions."
            return []

    def _registered(self) -> list[Path]:
        try:
            return self._index.read()
        except SetupError as error:
            self.notice = str(error)
            return []

    def _model(self, name: str, files: FileSet, *, registered: bool) -> LibraryModel:
        report = self._inspector.inspect(files)
        return LibraryModel(
            id=name,
            path=files.first,
            files=tuple(path for _, path in files.parts),
            parts_total=files.total,
            size_bytes=report.size_bytes,
            modified=report.modified,
            registered=registered,
            header=report.header,
            problem=report.problem,
        )

    def _by_path(self, path: Path) -> LibraryModel | None:
        return next((model for model in self.models() if model.path == path), None)

    def _checked(self, path: Path) -> Path:
        """An absolute path of a file, spelled from the library's folder where it lies inside."""
        name = printable(path.name)
        try:
            is_folder, exists = path.is_dir(), os.path.lexists(path)
            place = path.parent.resolve()
        except (OSError, ValueError):
            is_folder, exists, place = False, False, path.parent
        if is_folder:
            raise InvalidRequest(
                f"{name} is a folder.", hint="Choose the .gguf file inside it.", param="path"
            )
        if not exists:
            raise InvalidRequest(
                f"There is no file {name} there.", hint="Check the path.", param="path"
            )
        root = self.folder.resolve()
        if place.is_relative_to(root):
            return self.folder / place.relative_to(root) / path.name
        return Path(os.path.abspath(path))  # noqa: PTH100  (links stay: the name they give is the model's)
