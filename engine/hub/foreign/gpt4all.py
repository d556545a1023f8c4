"""GPT4All: a flat folder of GGUF files; one that it is still downloading begins with `incomplete-`."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from engine.hub.foreign.found import FoundModel, plain_models
from engine.hub.foreign.places import Places
from engine.hub.scan import Survey

PROGRAM: Final = "GPT4All"
_MODEL_PATH: Final = re.compile(r"^modelPath=(.*)$", re.MULTILINE)


def folders(places: Places, survey: Survey) -> list[Path]:
    """Where its models may be: as its settings say, and where they are by default."""
    settings = survey.content(places.config / "nomic.ai/GPT4All.ini").decode("utf-8", "replace")
    moved = _MODEL_PATH.search(settings)
    text = moved[1].strip().strip('"').replace("\\\\", "\\") if moved else ""
    chosen = places.expanded(text)
    return [*([chosen] if chosen else []), places.local_data / "nomic.ai/GPT4All"]


def find(survey: Survey, folder: Path) -> Iterator[FoundModel]:
    """The models in its folder."""
    return plain_models(survey, folder, PROGRAM, depth=0)
