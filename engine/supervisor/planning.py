"""A library model on a machine with the user's settings: its plan. Pure but for looking up what is installed."""

import dataclasses
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from engine.config import ModelSettings
from engine.errors import ModelNotFound
from engine.hardware.attention import AttentionFigures, read_attention
from engine.hardware.facts import facts_of
from engine.hardware.gpu import Gpu
from engine.hardware.parts import InstalledParts, installed_parts
from engine.hardware.plan import Plan, Wishes, make_plan
from engine.hardware.probe import Hardware
from engine.hardware.reality import corrected, outcome_reason, read_outcome
from engine.hub.library import Library, LibraryModel
from engine.ipc.messages import Load
from engine.supervisor.eviction import Resident

logger = logging.getLogger(__name__)


def plan_model(
    model: LibraryModel,
    hardware: Hardware,
    settings: ModelSettings,
    *,
    idle: Sequence[Resident] = (),
    draft: LibraryModel | None = None,
    parts: InstalledParts | None = None,
    cache_folder: Path | None = None,
) -> Plan:
    """Decide how to load a model.

    Args:
        model: of the library.
        hardware: as it is now.
        settings: what the user chose; 0 and "" leave a choice to the plan.
        idle: models that would leave to make room.
        draft: a model that is loaded beside it; its memory is left free.
        parts: what is installed; default: looked up now.
        cache_folder: where measurements are; None: there are none.

    Raises:
        ModelFormatError: the file cannot be used.
        EngineError: as `make_plan`.
    """
    model.ensure_usable()
    assert model.header is not None
    wishes = Wishes(
        backend=settings.backend_for.get(model.id) or settings.backend or None,
        context=settings.context or None,
        num_sequences=settings.num_sequences,
        decode_threads=settings.threads or None,
        prefill_threads=settings.threads or None,
        kv_type="f16" if settings.exact else settings.kv_type or None,
    )
    parts = installed_parts() if parts is None else parts
    hardware = _without_idle(hardware, idle)
    if draft is not None and draft.header is not None:
        beside = make_plan(hardware, facts_of(draft.header, draft.size_bytes), parts, wishes)
        hardware = _without(hardware, beside)
    attention = AttentionFigures() if settings.exact else read_attention(cache_folder, model.path)
    facts = facts_of(model.header, model.size_bytes)
    plan = make_plan(hardware, facts, parts, wishes, attention)
    outcome = read_outcome(cache_folder, model.path, plan.backend)
    if outcome is None:
        return plan
    said = outcome_reason(outcome)
    return dataclasses.replace(
        plan,
        needed=corrected(plan.needed, outcome),
        reasons=(*plan.reasons, *[said] * bool(said)),
    )


def shortfall(plan: Plan, hardware: Hardware) -> tuple[int, str]:
    """Bytes that are needed beyond what is free now, and on which GPU (empty: of main memory)."""
    if plan.gpu is None:
        return plan.needed.total - hardware.memory.free, ""
    free = next((g.vram_free for g in hardware.gpus if g.uuid == plan.gpu.uuid), 0)
    return plan.needed.total - free, plan.gpu.uuid


def _without(hardware: Hardware, other: Plan) -> Hardware:
    """The machine as the other model leaves it."""
    if other.gpu is None:
        return _with_freed(hardware, -other.needed.total)
    taken = {other.gpu.uuid: -other.needed.total}
    return dataclasses.replace(hardware, gpus=_with_vram(hardware.gpus, taken))


def _without_idle(hardware: Hardware, idle: Sequence[Resident]) -> Hardware:
    """The machine as it is when they have left."""
    freed = {gpu.uuid: sum(r.held(gpu.uuid) for r in idle) for gpu in hardware.gpus}
    hardware = dataclasses.replace(hardware, gpus=_with_vram(hardware.gpus, freed))
    return _with_freed(hardware, sum(r.held("") for r in idle))


def _with_vram(gpus: Sequence[Gpu], freed: Mapping[str, int]) -> tuple[Gpu, ...]:
    return tuple(
        dataclasses.replace(gpu, vram_free=max(0, gpu.vram_free + freed.get(gpu.uuid, 0)))
        for gpu in gpus
    )


def settings_after_death(
    settings: ModelSettings, last: Plan | None, *, died: bool
) -> ModelSettings:
    """How to load again: a worker's death may come from its CUDA context, so llama.cpp goes on where it died.

    Args:
        settings: what the user chose.
        last: plan of the worker before.
        died: it died, and nothing was answered since.
    """
    if died and last is not None and last.backend == "torch-cuda":
        return dataclasses.replace(settings, backend="llama.cpp", backend_for={})
    return settings


def draft_of(library: Library, model: LibraryModel, settings: ModelSettings) -> LibraryModel | None:
    """The model that guesses for another: only one that is there, can be used and is smaller."""
    try:
        draft = library.get(settings.draft_model) if settings.draft_model else None
    except ModelNotFound as error:  # guessing may never cost an answer
        logger.warning("no draft model: %s", error)
        return None
    if draft is None or draft.problem is not None or draft.size_bytes >= model.size_bytes:
        return None
    return draft


def load_message(
    model: LibraryModel,
    plan: Plan,
    settings: ModelSettings,
    *,
    draft: LibraryModel | None = None,
    cache_folder: Path | None = None,
) -> Load:
    """What the worker is told to do, as planned.

    Args:
        model: to load.
        plan: how.
        settings: what the user chose.
        draft: a model that guesses for it.
        cache_folder: where conversations' memory and measurements may be written; None: nowhere.
    """
    on_disk = settings.keep == "disk" and cache_folder is not None
    return Load(
        path=os.fsencode(model.path),
        backend=plan.backend,
        context=plan.context,
        num_sequences=plan.num_sequences,
        decode_threads=plan.decode_threads,
        prefill_threads=plan.prefill_threads,
        measure=settings.measure,
        follow_load=plan.follows_load,
        kv_type=plan.kv_type,
        flash_attention=plan.flash_attention,
        pads_from=plan.pads_from,
        speculation=settings.speculation,
        exact=settings.exact,
        gpu=plan.gpu.uuid if plan.gpu else "",
        draft_path=os.fsencode(draft.path) if draft else b"",
        kept_memory_bytes=settings.keep_memory_mib << 20 if settings.keep != "off" else 0,
        kept_disk_bytes=settings.keep_disk_mib << 20 if on_disk else 0,
        cache_folder=os.fsencode(cache_folder) if cache_folder else b"",
    )


def _with_freed(hardware: Hardware, freed_bytes: int) -> Hardware:
    memory = hardware.memory
    freed = dataclasses.replace(
        memory,
        available=memory.available + freed_bytes,
        used_of_limit=memory.used_of_limit - freed_bytes,
    )
    return dataclasses.replace(hardware, memory=freed)
