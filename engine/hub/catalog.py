"""The models that the app knows without a connection: `resources/catalog/models.toml`. Neighbours: `engine.hub.search`, `starter`.

Where even these do not fit or cannot be fetched, `engine.hub.starter.STARTER` needs no hub.
"""

import tomllib
from collections.abc import Sequence
from importlib.resources import files
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from engine.api.hub import HubChoice, HubFile, HubModel

Purpose = Literal["chat", "code", "draft", "small"]

_WORKING_BYTES: Final = 400_000_000
_QUICK_PARAMETERS: Final = 15_000_000_000
"""More of them working on each token are slow on most machines."""
_WORKING_SHARE: Final = 1.15
"""What a loaded model takes beside its file at a usual context: roughly; `engine.hardware` knows exactly."""


class CatalogEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One model with a good file of it."""

    repo: str
    title: str
    about: str
    """One sentence."""
    purpose: Purpose
    architecture: str
    family: str
    """Of its vocabulary: a draft guesses for larger models of the same."""
    parameters: int
    active_parameters: int = 0
    """That work on each token, of a mixture of experts; 0: all."""
    context: int
    """Tokens that it was trained for."""
    license: str
    file: str
    quantization: str
    size_bytes: int
    size_is_exact: bool = False
    """Else rounded to three digits."""
    memory_gb: Annotated[int, Meta(ge=4, le=64)]
    """RAM of a machine that it suits."""

    @property
    def needed_bytes(self) -> int:
        """Rough memory of the loaded model."""
        return int(self.size_bytes * _WORKING_SHARE) + _WORKING_BYTES

    @property
    def model(self) -> HubModel:
        """As a line of a search."""
        return HubModel(
            repo=self.repo,
            architecture=self.architecture,
            parameters=self.parameters,
            context_length=self.context,
            license=self.license,
            purpose=self.purpose,
            about=self.about,
        )

    @property
    def choice(self) -> HubChoice:
        """Its file, as the hub would offer it."""
        return HubChoice(
            name=self.file,
            kind="model",
            quantization=self.quantization,
            size_bytes=self.size_bytes,
            files=(HubFile(self.file, self.size_bytes),),
        )


class Catalog:
    """The entries, smallest file first."""

    def __init__(self, entries: Sequence[CatalogEntry]) -> None:
        """Take entries; `Catalog.load` reads the ones the app brings along."""
        self.entries = tuple(sorted(entries, key=lambda entry: entry.size_bytes))
        self._by_repo = {entry.repo.lower(): entry for entry in self.entries}

    @staticmethod
    def load() -> "Catalog":
        """Read what the app brings along."""
        data = tomllib.loads(files("resources.catalog").joinpath("models.toml").read_text("utf-8"))
        return Catalog(msgspec.convert(data["models"], list[CatalogEntry]))

    def find(self, repo: str) -> CatalogEntry | None:
        """The entry of a repository, in any case of letters."""
        return self._by_repo.get(repo.lower())

    def matching(self, search: str) -> list[CatalogEntry]:
        """The entries that hold all words of a search in name, title, purpose or description; all for an empty one."""
        words = search.lower().split()
        return [
            entry
            for entry in self.entries
            if all(
                word in f"{entry.repo} {entry.title} {entry.purpose} {entry.about}".lower()
                for word in words
            )
        ]

    def recommend(self, free_bytes: int, purpose: Purpose = "chat") -> CatalogEntry | None:
        """The largest model of a purpose that fits and writes at a usable speed without a GPU; None: the starter model is left.

        Args:
            free_bytes: of memory, with what would be unloaded for it.
            purpose: what it is for; for chat even the smallest will do where no other fits.
        """
        purposes = {purpose, *(("small", "draft") if purpose == "chat" else ())}
        fitting = [
            entry
            for entry in self.entries
            if entry.purpose in purposes
            and entry.needed_bytes <= free_bytes
            and (entry.active_parameters or entry.parameters) <= _QUICK_PARAMETERS
        ]
        return max(fitting, key=lambda entry: entry.parameters, default=None)

    def draft_for(self, repo: str) -> CatalogEntry | None:
        """A small model that can guess ahead for another one of the catalog."""
        target = self.find(repo)
        if target is None:
            return None
        return next(
            (
                entry
                for entry in self.entries
                if entry.purpose == "draft"
                and entry.family == target.family
                and entry.parameters * 2 < target.parameters
            ),
            None,
        )

    def described(self, model: HubModel) -> HubModel:
        """A model of a search, with what the catalog says of it."""
        entry = self.find(model.repo)
        if entry is None:
            return model
        return msgspec.structs.replace(
            model,
            purpose=entry.purpose,
            about=entry.about,
            architecture=model.architecture or entry.architecture,
            parameters=model.parameters or entry.parameters,
            context_length=model.context_length or entry.context,
            license=model.license or entry.license,
        )
