"""llama.cpp's cache of its own, before it took to the Hugging Face cache: a flat folder of `OWNER_NAME_FILE.gguf`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from engine.hub.foreign.found import FoundModel, plain_models
from engine.hub.foreign.places import Places
from engine.hub.scan import Survey

PROGRAM: Final = "llama.cpp"


def folders(places: Places) -> list[Path]:
    """Where it may be."""
    chosen = places.variable("LLAMA_CACHE")
    return [*([chosen] if chosen else []), places.cache / "llama.cpp"]


def find(survey: Survey, folder: Path) -> Iterator[FoundModel]:
    """The models in it."""
    return plain_models(survey, folder, PROGRAM, depth=0)
