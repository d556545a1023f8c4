"""A library model on a machine with the user's settings: its plan. Pure but for reading the header's values."""

import dataclasses

from engine.config import ModelSettings
from engine.hardware.facts import facts_from_gguf
from engine.hardware.plan import InstalledParts, Plan, Wishes, make_plan
from engine.hardware.probe import Hardware
from engine.hub.library import LibraryModel


def plan_model(
    model: LibraryModel, hardware: Hardware, settings: ModelSettings, *, freed_bytes: int = 0
) -> Plan:
    """Decide how to load a model.

    Args:
        model: of the library.
        hardware: as it is now.
        settings: what the user chose; 0 and "" leave a choice to the plan.
        freed_bytes: memory that idle models would give back.

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
    facts = facts_from_gguf(model.header.metadata, model.size_bytes)
    return make_plan(_with_freed(hardware, freed_bytes), facts, InstalledParts(), wishes)


def _with_freed(hardware: Hardware, freed_bytes: int) -> Hardware:
    memory = hardware.memory
    freed = dataclasses.replace(
        memory,
        available=memory.available + freed_bytes,
        used_of_limit=memory.used_of_limit - freed_bytes,
    )
    return dataclasses.replace(hardware, memory=freed)
