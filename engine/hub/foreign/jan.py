"""Jan: `llamacpp/models/**/model.yml`, each naming its files relative to the data folder, or wherever they lie."""

import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from engine.hub.foreign.found import FoundModel, is_file
from engine.hub.foreign.places import Places
from engine.hub.scan import Survey
from engine.hub.split import SUFFIX, set_of

PROGRAM: Final = "Jan"
_DEPTH: Final = 4
_ENTRY: Final = re.compile(r"^(model_path|mmproj_path):[ \t]*(.+?)[ \t\r]*$", re.MULTILINE)
"""Two of the entries of a flat YAML file; their values are plain or quoted and stand on one line."""


def folders(places: Places, survey: Survey) -> list[Path]:
    """Where its data folder may be."""
    found = [places.variable("JAN_DATA_FOLDER")]
    homes = [places.data / "Jan"]
    if places.system == "linux":
        homes.append(places.config / "Jan")
    for home in homes:
        try:
            settings = json.loads(survey.content(home / "settings.json") or b"{}")
        except (ValueError, RecursionError):
            settings = {}
        moved = settings.get("data_folder") if isinstance(settings, dict) else None
        found.append(places.expanded(moved) if isinstance(moved, str) else None)
        found.append(home / "data")
    return [folder for folder in found if folder]


def find(survey: Survey, folder: Path) -> Iterator[FoundModel]:
    """The models that are described below one data folder."""
    models = folder / "llamacpp/models"
    for description in _descriptions(survey, models, _DEPTH):
        text = survey.content(description).decode("utf-8", "replace")
        entries = {key: folder / _unquoted(value) for key, value in _ENTRY.findall(text)}
        path = entries.get("model_path")
        if path is None or path.suffix.lower() != SUFFIX:
            continue
        survey.note(path.parent)
        if not is_file(path):
            continue
        beside = entries.get("mmproj_path")
        yield dataclasses.replace(
            FoundModel.plain(PROGRAM, set_of(path)),
            name=description.parent.name,  # the files are mostly called model.gguf
            place=description.parent,
            companions=(beside,) if beside and is_file(beside) else (),
        )


def _descriptions(survey: Survey, folder: Path, depth: int) -> Iterator[Path]:
    for entry in survey.entries(folder):
        if entry.name == "model.yml":
            yield Path(entry.path)
        elif depth and entry.is_dir(follow_symlinks=False):
            yield from _descriptions(survey, Path(entry.path), depth - 1)


def _unquoted(value: str) -> str:
    quote = value[0]
    inner = value[1:-1] if quote in "\"'" and value.endswith(quote) and len(value) > 1 else value
    return inner.replace("\\\\", "\\") if quote == '"' else inner
