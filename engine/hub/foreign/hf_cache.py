"""The Hugging Face cache, which many programs share; our own downloads land there, too.

Layout: `models--OWNER--NAME/snapshots/COMMIT/PATH`, each a link (or, where there are none, the file itself) to
`models--OWNER--NAME/blobs/SHA256`. Source: huggingface_hub's documentation of its cache; newer llama.cpp writes the same.
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from engine.hub.foreign.found import FoundModel, plain_models
from engine.hub.foreign.places import Places
from engine.hub.scan import Survey
from engine.hub.verify import named_sha256

PROGRAM: Final = "Hugging Face"
_REPOSITORY: Final = "models--"
_DEPTH: Final = 3
"""Folders below a commit."""


def folders(places: Places) -> list[Path]:
    """Where it may be."""
    home = places.variable("HF_HOME")
    candidates = (
        places.variable("LLAMA_CACHE"),
        places.variable("HF_HUB_CACHE"),
        places.variable("HUGGINGFACE_HUB_CACHE"),
        home / "hub" if home else None,
        (places.variable("XDG_CACHE_HOME") or places.home / ".cache") / "huggingface/hub",
    )
    return [folder for folder in candidates if folder]


def find(survey: Survey, folder: Path) -> Iterator[FoundModel]:
    """The models in one such cache."""
    for entry in survey.entries(folder):
        if not entry.name.startswith(_REPOSITORY):
            continue
        repository = Path(entry.path)
        owner_and_name = entry.name.split("--")[1:]
        latest = survey.content(repository / "refs/main", 100).decode("ascii", "replace").strip()
        survey.note(repository / "blobs")  # what the links lead to comes and goes
        commits = survey.entries(repository / "snapshots")
        for commit in sorted(commits, key=lambda entry: (entry.name != latest, entry.name)):
            folders_shown = [*owner_and_name, *([commit.name] if commit.name != latest else [])]
            for model in plain_models(survey, Path(commit.path), PROGRAM, _DEPTH):
                first = model.files.first
                place = Path("/", *folders_shown, first.relative_to(commit.path))
                yield dataclasses.replace(model, place=place, sha256=named_sha256(first))
