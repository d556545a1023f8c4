"""Ollama: manifests that name their parts by SHA-256, and the parts as `blobs/sha256-…`; the model itself is plain GGUF.

Its parameters and system text are taken over as suggestions; its template is Go's, so the file's own is used.
Manifests come from strangers: each is bounded, and only a digest, never a name, becomes a path.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from engine.hub.foreign.found import FoundModel, holds
from engine.hub.foreign.places import Places
from engine.hub.model_defaults import ModelDefaults, understood
from engine.hub.scan import Survey
from engine.hub.split import FileSet

PROGRAM: Final = "Ollama"
_DEPTH: Final = 4
"""Folders below `manifests`: host, one or two of the owner, model."""
_KIND: Final = "application/vnd.ollama.image."
_DIGEST: Final = re.compile(r"sha256[:-]([0-9a-f]{64})")
_MOST_LAYERS: Final = 100
_OUR_NAMES: Final = {"num_ctx": "context", "repeat_penalty": "repetition_penalty"}


class _Layer(msgspec.Struct):
    mediaType: str  # noqa: N815  (the format's name)
    digest: str
    size: int


class _Manifest(msgspec.Struct):
    layers: list[_Layer]


def folders(places: Places) -> list[Path]:
    """Where its models may be; as a service of Linux it is a user of its own."""
    chosen = places.variable("OLLAMA_MODELS")
    found = [*([chosen] if chosen else []), places.home / ".ollama/models"]
    if places.system == "linux":
        homes = ("usr/share/ollama/.ollama", "var/lib/ollama/.ollama", "var/lib/ollama")
        found += [places.root / home / "models" for home in homes]
        found.append(places.root / "var/snap/ollama/common/models")
    return found


def find(survey: Survey, folder: Path) -> Iterator[FoundModel]:
    """The models that are whole; of a cloud model, or one in another format, there is no file for us."""
    manifests = folder / "manifests"
    survey.note(folder / "blobs")  # its parts come and go
    for path in _files(survey, manifests, _DEPTH):
        layers = _layers(survey.content(path))
        models, projectors = layers.get("model", []), layers.get("projector", [])
        parts = [*models, *projectors]
        if len(models) != 1 or "tensor" in layers or not all(_whole(folder, p) for p in parts):
            continue
        *owner, model, tag = path.relative_to(manifests).parts
        name = f"{model}:{tag}"
        blob = _blob(folder, models[0])
        yield FoundModel(
            origin=PROGRAM,
            files=FileSet(blob, name, 1, ((1, blob),)),
            name=name,
            place=Path("/", PROGRAM, *owner, name),
            sha256=_digest(models[0]),
            companions=tuple(_blob(folder, layer) for layer in projectors),
            suggested=_suggested(survey, folder, layers),
        )


def _files(survey: Survey, folder: Path, depth: int) -> Iterator[Path]:
    for entry in survey.entries(folder):
        if entry.is_file(follow_symlinks=False):
            yield Path(entry.path)
        elif depth and entry.is_dir(follow_symlinks=False):
            yield from _files(survey, Path(entry.path), depth - 1)


def _layers(manifest: bytes) -> dict[str, list[_Layer]]:
    """By kind; none where the manifest cannot be understood."""
    try:
        layers = msgspec.json.decode(manifest, type=_Manifest).layers
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return {}
    if len(layers) > _MOST_LAYERS or not all(_DIGEST.fullmatch(layer.digest) for layer in layers):
        return {}
    kinds: dict[str, list[_Layer]] = {}
    for layer in layers:
        kinds.setdefault(layer.mediaType.removeprefix(_KIND), []).append(layer)
    return kinds


def _digest(layer: _Layer) -> str:
    match = _DIGEST.fullmatch(layer.digest)
    return match[1] if match else ""


def _blob(folder: Path, layer: _Layer) -> Path:
    return folder / "blobs" / f"sha256-{_digest(layer)}"


def _whole(folder: Path, layer: _Layer) -> bool:
    return holds(_blob(folder, layer), layer.size)


def _suggested(survey: Survey, folder: Path, layers: dict[str, list[_Layer]]) -> ModelDefaults:
    claims: dict[str, Any] = {}
    for layer in layers.get("params", [])[:1]:
        try:
            params = msgspec.json.decode(survey.content(_blob(folder, layer)), type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            params = {}
        claims |= {_OUR_NAMES.get(name, name): value for name, value in params.items()}
    claims.pop("backend", None)
    for layer in layers.get("system", [])[:1]:
        if text := survey.content(_blob(folder, layer)).decode("utf-8", "replace").strip():
            claims["system"] = text
    return understood(claims)
