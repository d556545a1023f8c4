"""LM Studio: `PUBLISHER/REPOSITORY/FILE.gguf`, with `mmproj-*.gguf` beside."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from engine.hub.foreign.found import FoundModel, plain_models
from engine.hub.foreign.places import Places
from engine.hub.scan import Survey

PROGRAM: Final = "LM Studio"


def homes(places: Places) -> list[Path]:
    """Where its folder may be, should no pointer file name it: the same on every system."""
    return [places.home / ".cache/lm-studio", places.home / ".lmstudio"]


def folders(places: Places, survey: Survey) -> list[Path]:
    """Where its models may be: as its settings say, and where they are by default."""
    pointer = survey.content(places.home / ".lmstudio-home-pointer").decode("utf-8", "replace")
    home = places.expanded(pointer)
    found = []
    for folder in [home] if home else homes(places):
        try:
            settings = json.loads(survey.content(folder / "settings.json") or b"{}")
        except (ValueError, RecursionError):
            settings = {}
        moved = settings.get("downloadsFolder") if isinstance(settings, dict) else None
        if isinstance(moved, str) and (chosen := places.expanded(moved)):
            found.append(chosen)
        found.append(folder / "models")
    return found


def find(survey: Survey, folder: Path) -> Iterator[FoundModel]:
    """The models in its folder."""
    return plain_models(survey, folder, PROGRAM)
