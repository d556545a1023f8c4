"""A library model on a machine with the user's settings: its plan. Pure but for looking up what is installed."""

import dataclasses
import os

from engine.config import ModelSettings
from engine.hardware.facts import facts_of
from engine.hardware.parts import InstalledParts, installed_parts
from engine.hardware.plan import Plan, Wishes, make_plan
from engine.hardware.probe import Hardware
from engine.hub.library import LibraryModel
from engine.ipc.messages import Load


def plan_model(
    model: LibraryModel,
    hardware: Hardware,
    settings: ModelSettings,
    *,
    freed_bytes: int = 0,
    parts: InstalledParts | None = None,
) -> Plan:
    """Decide how to load a model.

    Args:
        model: of the library.
        hardware: as it is now.
        settings: what the user chose; 0 and "" leave a choice to the plan.
        freed_bytes: memory that idle models would give back.
        parts: what is installed; default: looked up now.

    Raises:
        ModelFormatError: the file cannot be used.
        EngineError: as `make_plan`.
    """
    model.ensure_usable()
    assert model.header is not None
    wishes = Wishes(
        backend=settings.backend or None,
        context=settings.context or None,
        num_sequences=settings.num_sequences,
        decode_threads=settings.threads or None,
        prefill_threads=settings.threads or None,
    )
    return make_plan(
        _with_freed(hardware, freed_bytes),
        facts_of(model.header, model.size_bytes),
        installed_parts() if parts is None else parts,
        wishes,
    )


def load_message(model: LibraryModel, plan: Plan, settings: ModelSettings) -> Load:
    """What the worker is told to do, as planned."""
    return Load(
        path=os.fsencode(model.path),
        backend=plan.backend,
        context=plan.context,
        num_sequences=plan.num_sequences,
        decode_threads=plan.decode_threads,
        prefill_threads=plan.prefill_threads,
        speculation=settings.speculation,
        exact=settings.exact,
    )


def _with_freed(hardware: Hardware, freed_bytes: int) -> Hardware:
    memory = hardware.memory
    freed = dataclasses.replace(
        memory,
        available=memory.available + freed_bytes,
        used_of_limit=memory.used_of_limit - freed_bytes,
    )
    return dataclasses.replace(hardware, memory=freed)
