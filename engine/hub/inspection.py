"""Looks at a model's files: header, size, and the reason why it cannot be used. Neighbour: `engine.hub.library`."""

import os
from dataclasses import dataclass
from pathlib import Path

from engine.errors import ModelFormatError
from engine.formats.filenames import printable
from engine.formats.gguf import read_header
from engine.formats.gguf_header import GgufHeader
from engine.hub.header_cache import HeaderCache
from engine.hub.split import FileSet, part_name

_Outcome = GgufHeader | str
_Key = tuple[Path, int, int]


@dataclass(frozen=True, slots=True)
class Report:
    """What the files of one model hold."""

    header: GgufHeader | None
    """Of the file, or of part 1."""
    size_bytes: int
    """All parts that are there."""
    modified: int
    """Latest change, seconds since the epoch; 0 when nothing is there."""
    problem: str | None


class Inspector:
    """Reads headers, each once as long as its file keeps size and time."""

    def __init__(self, cache: HeaderCache | None = None) -> None:
        self._cache = cache
        self._known: dict[_Key, _Outcome] = {}
        self._used: set[_Key] = set()

    def inspect(self, files: FileSet) -> Report:
        """Look at all parts. Never raises for what a file holds."""
        size = modified = 0
        headers: dict[int, GgufHeader] = {}
        problem: str | None = None
        for number, path in files.parts or ((1, files.first),):
            try:
                status = path.stat()
                key = (path, status.st_size, status.st_mtime_ns)
                size, modified = size + status.st_size, max(modified, int(status.st_mtime))
            except OSError:
                key = (path, 0, 0)
            outcome = self._header(key)
            if isinstance(outcome, GgufHeader):
                headers[number] = outcome
            else:
                problem = problem or outcome
        if files.parts and files.missing:
            problem = _incomplete(files)
        return Report(headers.get(1), size, modified, problem or _objection(files, headers))

    def forget_unused(self) -> None:
        """Drop what was not asked for since the last call."""
        self._known = {key: outcome for key, outcome in self._known.items() if key in self._used}
        self._used = set()

    def _header(self, key: _Key) -> _Outcome:
        self._used.add(key)
        outcome = self._known.get(key)
        if outcome is None:
            try:
                outcome = self._known[key] = self._read(key)
            except ModelFormatError as error:
                outcome = str(error)
                if (
                    error.__cause__ is None
                ):  # else the system's doing, which may pass without a trace in the key
                    self._known[key] = outcome
        return outcome

    def _read(self, key: _Key) -> GgufHeader:
        if self._cache is None:
            return read_header(key[0])
        header = self._cache.get(*key)
        if header is None:
            header = read_header(key[0])
            self._cache.put(*key, header)
        return header


def _incomplete(files: FileSet) -> str:
    missing = files.missing
    which = ", ".join(map(str, missing[:5])) + (", …" if len(missing) > 5 else "")
    return (
        f"{len(files.parts)} of {files.total} parts present: missing {which}. "
        f"Put the rest into the same folder, named like {printable(part_name(files.name, missing[0], files.total))}."
    )


def _objection(files: FileSet, headers: dict[int, GgufHeader]) -> str | None:
    for number, header in headers.items():
        if (header.split_count, header.split_number) != (files.total, number - 1):
            return _misplaced(files, header)
    return headers[1].problem if 1 in headers else None


def _misplaced(files: FileSet, header: GgufHeader) -> str:
    count, number = header.split_count, header.split_number + 1
    if files.total == 1 and header.file_bytes > header.needed_bytes + header.alignment:
        return (
            f"This seems to be the {count} parts of a split model joined into one file, which cannot be read. "
            "Use the parts as they were downloaded, or join them with llama-gguf-split --merge."
        )
    if files.total == 1:
        name = printable(os.fspath(part_name(files.name, number, count)))
        return (
            f"This is part {number} of {count} of a model, under another name. Name it like {name}."
        )
    return (
        f"A part of this model says that it is part {number} of {count}, its name says otherwise. "
        "Give the parts the names they were downloaded with."
    )
