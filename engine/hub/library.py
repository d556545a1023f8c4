"""The models on this machine: every GGUF file below one folder, what somebody added, what other programs keep.

Zone: service and command line; blocking, cheap once the headers are known. A model's identity is its path; ids are
made for people (`names`). Neighbours: `scan`, `index`, `split`, `inspection`, `foreign`, `removal`.
"""

import dataclasses
import os
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from engine.errors import InvalidRequest, ModelFormatError, ModelNotFound, SetupError
from engine.formats.filenames import printable
from engine.formats.gguf_header import GgufHeader
from engine.hub.foreign import hf_cache
from engine.hub.foreign.folders import ForeignFolders
from engine.hub.foreign.found import FoundModel, plain_models
from engine.hub.header_cache import HeaderCache
from engine.hub.index import Entries, Index
from engine.hub.inspection import Inspector, Report
from engine.hub.model_defaults import ModelDefaults
from engine.hub.names import assign_ids, find_ids, listed
from engine.hub.removal import Removal, discard, discard_downloaded
from engine.hub.scan import MAX_DEPTH, Watch
from engine.hub.split import FileSet, group, set_of

ADDED: Final = "added"
"""Origin of what the user added, a file or a folder."""
_OURS: Final = ("", ADDED)


@dataclass(frozen=True, slots=True)
class LibraryModel:
    """One model: one file, or all parts of a split one."""

    id: str
    """Unique in the library, printable; what a request names."""
    place: Path
    """The path, with folders named for people: what a longer id is made of."""
    path: Path
    """The file, or part 1: what a worker loads."""
    files: tuple[Path, ...]
    """The files that are there, in order of their parts."""
    parts_total: int
    size_bytes: int
    modified: int
    """Latest change, seconds since the epoch; 0 when nothing is there."""
    origin: str
    """Empty: the model folder; `added`: added from elsewhere; else the program that keeps it, such as `Ollama`."""
    header: GgufHeader | None
    """Of the file or part 1; None where it cannot be read."""
    problem: str | None
    """Why it cannot be used and what to do, in a sentence or two; None: nothing known against it."""
    companions: tuple[Path, ...] = ()
    """Files that belong to it: the part for images (mmproj)."""
    suggested: ModelDefaults = field(default_factory=ModelDefaults)
    """How the program that keeps it runs it."""

    @property
    def registered(self) -> bool:
        """Lies elsewhere: removing forgets or hides it and leaves the files alone."""
        return self.origin != ""

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
    """What is on disk now; folders are looked through again only where they changed."""

    def __init__(
        self,
        folder: Path,
        foreign: ForeignFolders | None = None,
        headers: HeaderCache | None = None,
    ) -> None:
        """Look at nothing yet.

        Args:
            folder: the library's own.
            foreign: other programs' models; None: they are not looked for.
            headers: where headers are kept between two starts; None: nowhere.
        """
        self.folder = folder.absolute()
        self.notice: str | None = None
        """The latest trouble with the library itself, for the user: a damaged list, an unreadable folder."""
        self._foreign = foreign
        self._index = Index(self.folder)
        self._inspector = Inspector(headers)
        self._watch = Watch()

    def models(self) -> list[LibraryModel]:
        """All models, sorted by id. One that cannot be used is listed with its `problem`."""
        inspected = [(found, self._inspector.inspect(found.files)) for found in self._found()]
        self._inspector.forget_unused()
        shown, beside = _without_companions(inspected)
        named = _named([found for found, _ in shown])
        models = [
            LibraryModel(
                id=name,
                place=files.first,
                path=found.files.first,
                files=tuple(path for _, path in found.files.parts),
                parts_total=found.files.total,
                size_bytes=report.size_bytes,
                modified=report.modified,
                origin=found.origin,
                header=report.header,
                problem=report.problem,
                companions=found.companions or tuple(beside.get(found.files.first.parent, ())),
                suggested=found.suggested,
            )
            for name, files, (found, report) in zip(assign_ids(named), named, shown, strict=True)
        ]
        return sorted(models, key=lambda model: model.id)

    @property
    def folders(self) -> list[Path]:
        """The folders that were added."""
        return list(self._entries().folders)

    def get(self, wanted: str) -> LibraryModel:
        """The model of that id; `.gguf` at its end does no harm.

        Raises:
            ModelNotFound: no model, or more than one, has that name.
        """
        return _chosen(self.models(), wanted)

    def add(self, path: Path) -> LibraryModel:
        """Make a file known that lies anywhere, or all models of a folder; of a split model, any part stands for all.

        What is known already is just returned; what was hidden is shown again. Of a folder, the first usable
        model is returned.

        Raises:
            InvalidRequest: nothing is there, or it is a folder without models.
            ModelFormatError: a file, but not a whole model.
            SetupError: the list cannot be written.
        """
        path = self._checked(path)
        if path.is_dir():
            return self._add_folder(path)
        files = set_of(path)
        report = self._inspector.inspect(files)
        if report.problem is not None:
            raise ModelFormatError(report.problem, file=printable(path.name))
        real = _real(files.first)
        if real in self._entries().hidden:
            self._index.show([real])
        if (model := self._known(files.first)) is None:
            self._index.add(files.first)
            model = self._known(files.first)
        return _there(model, path)

    def remove(self, wanted: str, *, delete_file: bool = False) -> Removal:
        """Move a model inside the folder to the trash; forget one that was added; hide one that was found.

        Args:
            wanted: see `get`.
            delete_file: also move the files of one that lies elsewhere to the trash. To be asked of the user first.

        Raises:
            ModelNotFound: see `get`.
            InvalidRequest: see `discard`; or another program keeps the file, which is never touched.
            SetupError: see `discard`; the list cannot be written.
        """
        model = self.get(wanted)
        if not model.registered:
            outcomes = [discard(file, self.folder) for file in model.files]
        elif delete_file:
            outcomes = list(_delete(model))
        else:
            outcomes = []
        if model.path in self._entries().files:  # also one round which the folder grew later
            self._index.remove(model.path)
        if model.registered and not delete_file and self._known(model.path):
            self._index.hide(_real(model.path))
        return outcomes[0] if outcomes else "forgotten"

    def remove_folder(self, folder: Path) -> None:
        """Forget a folder that was added; its files are not touched.

        Raises:
            SetupError: the list cannot be written.
        """
        self._index.remove_folder(folder)

    def _add_folder(self, folder: Path) -> LibraryModel:
        name = printable(folder.name or folder)
        if _real(self.folder).is_relative_to(_real(folder)):
            raise InvalidRequest(
                f"{name} holds the model folder itself.",
                hint="Choose a .gguf file in it, or a folder with models only.",
                param="path",
            )
        inside = self._below(folder)
        usable = [
            _real(found.files.first)
            for found in inside
            if self._inspector.inspect(found.files).problem is None
        ]
        if not usable:
            raise InvalidRequest(
                f"{name} is a folder without a model that can be used.",
                hint=f"Choose one with whole .gguf files, at most {MAX_DEPTH} folders deep.",
                param="path",
            )
        self._index.add_folder(folder)
        self._index.show([_real(found.files.first) for found in inside])
        models = (model for model in self.models() if _real(model.path) in usable)
        return _there(next(models, None), folder)

    def _found(self) -> list[FoundModel]:
        """All models, each once: a file that is found twice belongs to who is asked first."""
        entries = self._entries()
        own = {files.first: FoundModel.plain("", files) for files in self._inside()}
        for files in map(set_of, entries.files):
            own.setdefault(files.first, FoundModel.plain(ADDED, files))
        seen = {key for found in own.values() for key in _keys(found)}
        others = []
        for found in self._elsewhere(entries):
            keys = _keys(found)
            if seen.isdisjoint(keys) and not (
                entries.hidden and _real(found.files.first) in entries.hidden
            ):
                others.append(found)
            seen |= keys  # also of a hidden one: a second copy of it stays hidden, too
        return [*own.values(), *others]

    def _elsewhere(self, entries: Entries) -> Iterator[FoundModel]:
        for folder in entries.folders:
            yield from self._below(folder)
        if self._foreign:
            yield from self._foreign.models()

    def _below(self, folder: Path) -> list[FoundModel]:
        return self._watch.get(folder, lambda survey: list(plain_models(survey, folder, ADDED)))

    def _inside(self) -> list[FileSet]:
        try:
            return self._watch.get(None, lambda survey: group(survey.models(self.folder)))
        except OSError as error:
            self.notice = f"The model folder could not be read ({error.strerror}). Check its disk and permissions."
            return []

    def _entries(self) -> Entries:
        try:
            return self._index.read()
        except SetupError as error:
            self.notice = str(error)
            return Entries()

    def _known(self, path: Path) -> LibraryModel | None:
        """The model of that path, or one that was found behind another path to the same file."""
        models = self.models()
        same = (m for m in models if m.origin not in _OURS and _real(m.path) == _real(path))
        return next((m for m in models if m.path == path), None) or next(same, None)

    def _checked(self, path: Path) -> Path:
        """An absolute path of what is there, spelled from the library's folder where it lies inside."""
        name = printable(path.name)
        try:
            exists = os.path.lexists(path)
            place = path.parent.resolve()
        except (OSError, ValueError):
            exists, place = False, path.parent
        if not exists:
            raise InvalidRequest(
                f"There is no file {name} there.", hint="Check the path.", param="path"
            )
        root = self.folder.resolve()
        if place.is_relative_to(root):
            return self.folder / place.relative_to(root) / path.name
        return Path(os.path.abspath(path))  # noqa: PTH100  (links stay: the name they give is the model's)


def _delete(model: LibraryModel) -> Iterator[Removal]:
    if model.origin == ADDED:
        yield from (discard(file, file.parent) for file in model.files)
    elif model.origin == hf_cache.PROGRAM:
        yield from map(discard_downloaded, model.files)
    else:
        raise InvalidRequest(
            f"{model.id} belongs to {model.origin}, which may still use it.",
            hint=f"Delete it in {model.origin}, or only hide it here.",
            param="model",
        )


def _chosen(models: Sequence[LibraryModel], wanted: str) -> LibraryModel:
    by_id = {model.id: model for model in models}
    found = find_ids(wanted, {name: model.place for name, model in by_id.items()})
    if len(found) == 1:
        return by_id[found[0]]
    shown = printable(wanted[:100])
    if found:
        raise ModelNotFound(
            f'There are several models named "{shown}".',
            hint=f"Choose one of: {listed(found)}.",
        )
    raise ModelNotFound(
        f'There is no model named "{shown}".',
        hint=f"Choose one of: {listed(list(by_id))}."
        if by_id
        else "The library is empty; add a model with `inglenook models add FILE`.",
    )


def _without_companions(
    inspected: Sequence[tuple[FoundModel, Report]],
) -> tuple[list[tuple[FoundModel, Report]], dict[Path, list[Path]]]:
    """The models, and by folder the parts for images that lie beside one. Other programs' adapters are nobody's model."""
    kinds = [report.header.kind if report.header else "model" for _, report in inspected]
    folders = {
        found.files.first.parent
        for (found, _), kind in zip(inspected, kinds, strict=True)
        if kind == "model"
    }
    shown: list[tuple[FoundModel, Report]] = []
    beside: dict[Path, list[Path]] = {}
    for (found, report), kind in zip(inspected, kinds, strict=True):
        folder = found.files.first.parent
        if kind == "projector" and folder in folders:
            beside.setdefault(folder, []).append(found.files.first)
        elif kind == "model" or found.origin in _OURS:
            shown.append((found, report))
    return shown, beside


def _named(models: Sequence[FoundModel]) -> list[FileSet]:
    """What ids are made of: each a place of its own, named for people where that is possible."""
    taken = {found.files.first for found in models}
    named = []
    for found in models:
        place = found.files.first if found.place in taken else found.place
        taken.add(place)
        named.append(dataclasses.replace(found.files, first=place, name=found.name))
    return named


def _keys(found: FoundModel) -> set[Hashable]:
    """What says that two models are the same: path, file,    return {first, (status.st_dev, status.st_ino), *content}."""
    first = found.files.first
    try:
        status = first.stat()
    except OSError:
        return {first}
    content = {(status.st_size, found.sha256)} if found.sha256 else set()
    return {first, (status.st_dev, status.st_ino)} | content


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _there(model: LibraryModel | None, path: Path) -> LibraryModel:
    if model is None:
        raise SetupError(
            f"{printable(path.name)} vanished while it was added.", hint="Add it again."
        )
    return model
