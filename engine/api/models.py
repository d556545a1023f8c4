"""The wire form of one model's status, as /api/models tells it."""

import msgspec

from engine.types import ModelState


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One model of the library and what it is doing. Fields: see `engine.supervisor.answer.ModelStatus`."""

    id: str
    state: ModelState
    path: str
    size_bytes: int
    created: int
    description: str = ""
    quantization: str = ""
    n_ctx_train: int | None = None
    n_ctx: int | None = None
    progress: float | None = None
    resident_bytes: int | None = None
    backend: str | None = None
    reasons: tuple[str, ...] = ()
    problem: str | None = None


class ModelList(msgspec.Struct, frozen=True):
    """GET /api/models."""

    models: list[ModelInfo]
