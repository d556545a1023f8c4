"""Keeping models, on the wire: their defaults, whether their files are whole, what they take of the disk.

Zone: service and desktop. Neighbours: `engine.hub.model_defaults` (names and ranges of defaults), `engine.server.keeping`.
"""

from typing import Any, Literal

import msgspec


class Defaults(msgspec.Struct, frozen=True, kw_only=True):
    """GET and POST /api/models/defaults. Names: context, kv_type, backend, temperature, top_k, top_p, …, system, stop."""

    model: str
    chosen: dict[str, Any] = {}
    """What the user chose for this model; what is not there follows the general settings."""
    suggested: dict[str, Any] = {}
    """How the program that keeps the file runs it; only said. Ignored by POST."""


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """GET and POST /api/models/verify."""

    model: str
    state: Literal["unknown", "running", "ok", "damaged"]
    """`unknown`: nobody has said what its SHA-256 should be (it is recorded now, if it was read)."""
    fraction: float = 0.0
    """While running."""
    sha256: tuple[str, ...] = ()
    """Of each file."""
    damaged: tuple[str, ...] = ()
    problem: str = ""
    """Why it could not be read."""


class DiskUse(msgspec.Struct, frozen=True):
    """GET /api/models/disk. Bytes; what models share counts once in the sums."""

    models: dict[str, int]
    """By id."""
    origins: dict[str, int]
    """By `ModelInfo.origin`."""
    total: int
    free: int
    """Of the disk with the model folder."""


class Removing(msgspec.Struct):
    """POST /api/models/remove."""

    model: str
    delete_file: bool = False
    """Also move the files of a model that was added from elsewhere to the trash. Ask the user first."""
