"""How one model is loaded and asked unless somebody says otherwise: chosen by the user, or suggested by another program.

Zone: service; any thread. Neighbours: `engine.config` (what holds for all models), `engine.hub.foreign` (suggestions).
"""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from engine.config import ModelSettings
from engine.formats.filenames import from_portable, portable
from engine.hub.json_file import JsonFile
from engine.types import SamplingParams

_VERSION: Final = 1
_MOST_SYSTEM: Final = 100_000
"""Characters of a system prompt."""

Penalty = Annotated[float, Meta(ge=-2, le=2)]
Fraction = Annotated[float, Meta(gt=0, le=1)]


class ModelDefaults(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """None: nothing is chosen, the general setting holds. Sampling: see `engine.types.SamplingParams`."""

    context: Annotated[int, Meta(ge=1, le=2**31 - 1)] | None = None
    """Tokens."""
    kv_type: Literal["f16", "q8_0"] | None = None
    backend: Annotated[str, Meta(min_length=1, max_length=40)] | None = None
    temperature: Annotated[float, Meta(ge=0, le=10)] | None = None
    top_k: Annotated[int, Meta(ge=0, le=2**31 - 1)] | None = None
    top_p: Fraction | None = None
    min_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    typical_p: Fraction | None = None
    repetition_penalty: Annotated[float, Meta(gt=0, le=10)] | None = None
    repeat_last_n: Annotated[int, Meta(ge=0, le=2**31 - 1)] | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    system: Annotated[str, Meta(max_length=_MOST_SYSTEM)] | None = None
    """System prompt of new conversations."""
    stop: (
        Annotated[
            tuple[Annotated[str, Meta(min_length=1, max_length=1024)], ...], Meta(max_length=16)
        ]
        | None
    ) = None
    """Strings that end an answer."""


def over(chosen: ModelDefaults, below: ModelDefaults) -> ModelDefaults:
    """What was chosen, and the rest from below."""
    return msgspec.structs.replace(below, **_given(chosen))


def for_loading(defaults: ModelDefaults, settings: ModelSettings) -> ModelSettings:
    """The settings this model is loaded with."""
    given = {
        name: value
        for name, value in _given(defaults).items()
        if name in ("context", "kv_type", "backend")
    }
    if "backend" in given:
        given["backend_for"] = {}
    return dataclasses.replace(settings, **given)


def for_sampling(defaults: ModelDefaults, params: SamplingParams) -> SamplingParams:
    """What a request to this model gets where it is silent."""
    known = {field.name for field in dataclasses.fields(SamplingParams)}
    given = {name: value for name, value in _given(defaults).items() if name in known}
    return dataclasses.replace(params, **given)


def understood(claims: Mapping[str, object]) -> ModelDefaults:
    """Of what a foreign file claims, by our names, the entries that are possible; the others are passed over."""
    good: dict[str, Any] = {}
    for name, value in claims.items():
        try:
            good |= _given(msgspec.convert({name: value}, ModelDefaults))
        except msgspec.ValidationError:
            continue
    return ModelDefaults(**good)


class DefaultsStore:
    """The user's choices for single models, in one file. A model is known by its real path."""

    def __init__(self, file: Path) -> None:
        self._file = JsonFile[dict[str, ModelDefaults]](
            file,
            what="list of model defaults",
            loss="Set the defaults of your models again.",
            parse=_parse,
            build=_build,
            empty={},
        )

    def read(self, model: Path) -> ModelDefaults:
        """What was chosen for the model; nothing, where nothing was.

        Raises:
            SetupError: as `JsonFile.read`.
        """
        return self._file.read().get(_key(model), ModelDefaults())

    def write(self, model: Path, defaults: ModelDefaults) -> None:
        """Keep a choice; an empty one is forgotten.

        Raises:
            SetupError: as `JsonFile.change`.
        """
        key = _key(model)

        def edit(known: dict[str, ModelDefaults]) -> dict[str, ModelDefaults]:
            others = {name: value for name, value in known.items() if name != key}
            return others | {key: defaults} if defaults != ModelDefaults() else others

        self._file.change(edit)


def _key(model: Path) -> str:
    # A downloaded model is a link that gets another path with every revision, to content that stays.
    return portable(os.path.realpath(model))


def _given(defaults: ModelDefaults) -> dict[str, Any]:
    return {
        name: value for name, value in msgspec.structs.asdict(defaults).items() if value is not None
    }


def _parse(data: object) -> dict[str, ModelDefaults]:
    models = data.get("models") if isinstance(data, dict) and data.get("version") == _VERSION else 0
    known = msgspec.convert(models, dict[str, ModelDefaults])  # its error is a ValueError
    for key in known:
        from_portable(key)
    return known


def _build(models: dict[str, ModelDefaults]) -> object:
    return {"version": _VERSION, "models": msgspec.to_builtins(models)}
