"""The library on the wire: models, their details, the starter model, the sign that something changed.

Zone: service and desktop. Neighbours: `engine.server.admin` (addresses), `engine.client.client`.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from engine.types import ModelState

StarterState = Literal["absent", "fetching", "installed", "failed"]


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One model of the library and what it is doing. Fields: see `engine.supervisor.answer.ModelStatus`."""

    id: str
    state: ModelState
    path: str
    size_bytes: int
    created: int
    origin: str = ""
    description: str = ""
    quantization: str = ""
    n_ctx_train: int | None = None
    n_ctx: int | None = None
    progress: float | None = None
    resident_bytes: int | None = None
    backend: str | None = None
    reasons: tuple[str, ...] = ()
    problem: str | None = None
    num_running: int = 0
    loaded_since: float | None = None
    load_seconds: float | None = None


class ModelList(msgspec.Struct, frozen=True):
    """GET /api/models."""

    models: list[ModelInfo]
    notice: str | None = None
    """Trouble with the library itself, for the user: a damaged list, a folder that cannot be read."""


class ModelDetails(msgspec.Struct, frozen=True, kw_only=True):
    """GET /api/models/details: what the file claims about itself, and how it would run here.

    Texts are one printable line each; None and "" mean that the file does not say.
    """

    id: str
    path: str
    """The file, or part 1."""
    files: tuple[str, ...]
    """Paths of all parts that are there."""
    parts_total: int
    size_bytes: int
    origin: str = ""
    """Empty: the model folder; `added`: from elsewhere; else the program that keeps it."""
    companions: tuple[str, ...] = ()
    """Files that belong to it, such as the part for images."""
    registered: bool
    """Lies outside the model folder: removing forgets it and leaves the file alone."""
    name: str = ""
    architecture: str = ""
    quantization: str = ""
    license: str = ""
    parameters: int | None = None
    """Numbers in all tensors."""
    context_length: int | None = None
    """Tokens it was trained for."""
    layers: int | None = None
    embedding_length: int | None = None
    vocabulary: int | None = None
    """Tokens it knows."""
    has_chat_template: bool = False
    problem: str | None = None
    """Why it cannot be used, or why the last load failed."""
    plan: dict[str, Any] | None = None
    """As GET /api/plan; of a loaded model the plan it was loaded with."""
    plan_problem: str | None = None
    """Why there is no plan."""


class ModelPath(msgspec.Struct):
    """POST /api/models/add."""

    path: Annotated[str, Meta(min_length=1)]
    """Absolute, on the service's machine."""


class Removed(msgspec.Struct, frozen=True):
    """POST /api/models/remove."""

    outcome: Literal["forgotten", "unlinked", "trashed", "set aside"]
    """Dropped from the list, its link deleted, in the system's trash, or in `.trash` of the model folder."""


class StarterInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The starter model: GET and POST /api/models/starter, POST /api/models/starter/cancel."""

    state: StarterState
    stage: str = ""
    """What is being done, while fetching."""
    fraction: float = 0.0
    """0 … 1."""
    error: str = ""
    """Why it failed and what to do."""
    name: str = ""
    license: str = ""
    size_bytes: int = 0
    """On disk."""
    download_bytes: int = 0


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """One event of GET /api/events."""

    models: bool = False
    """Ask for the models (and the starter model) again."""
    error: dict[str, Any] | None = None
    """The stream ends with it."""
