"""Keeping models: what was chosen for each, whether its files are whole, what it takes of the disk.

Zone: service process, event loop; files are read in threads. Neighbours: `engine.hub.model_defaults`, `verify`, `disk_use`.
"""

import asyncio
import shutil
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from engine import aio
from engine.api.keeping import Defaults, DiskUse, Verified
from engine.errors import EngineError, InvalidRequest
from engine.formats.filenames import printable
from engine.hub.disk_use import disk_use
from engine.hub.library import LibraryModel
from engine.hub.model_defaults import DefaultsStore, ModelDefaults
from engine.hub.verify import Verification, Verifier


@dataclass(slots=True)
class _Reading:
    """One verification."""

    task: asyncio.Task[None] | None = None
    fraction: float = 0.0
    problem: str = ""
    stop: threading.Event = field(default_factory=threading.Event)


class Keeping:
    """What the fronts may ask and set for models of the library."""

    def __init__(
        self,
        find: Callable[[str], Awaitable[LibraryModel]],
        entries: Callable[[], Awaitable[list[LibraryModel]]],
        folder: Path,
        *,
        defaults: DefaultsStore,
        verifier: Verifier,
        on_change: Callable[[], None],
    ) -> None:
        """Read nothing yet.

        Args:
            find: a model by its id.
            entries: all of them.
            folder: of the library.
            defaults: what was chosen.
            verifier: reads files whole.
            on_change: called whenever `verification` would tell something new about a model that was done.
        """
        self._find = find
        self._entries = entries
        self._folder = folder
        self._defaults = defaults
        self._verifier = verifier
        self._on_change = on_change
        self._readings: dict[Path, _Reading] = {}

    async def defaults(self, model: str) -> Defaults:
        """What was chosen for a model, and what another program suggests."""
        entry = await self._find(model)
        chosen = await asyncio.to_thread(self._defaults.read, entry.path)
        return Defaults(model=entry.id, chosen=_given(chosen), suggested=_given(entry.suggested))

    async def choose(self, model: str, wanted: dict[str, Any]) -> Defaults:
        """Keep what was chosen; it holds from the next load and the next request on.

        Raises:
            InvalidRequest: no such default, or no such value.
        """
        entry = await self._find(model)
        unknown = sorted(set(wanted) - set(ModelDefaults.__struct_fields__))
        if unknown:
            raise InvalidRequest(
                f"There is no default called “{unknown[0][:40]}”.",
                hint=f"Choose of: {', '.join(ModelDefaults.__struct_fields__)}.",
                param="chosen",
            )
        try:
            chosen = msgspec.convert(wanted, ModelDefaults)
        except msgspec.ValidationError as error:
            raise InvalidRequest(
                f"A default is not possible: {error}.", hint="Correct it.", param="chosen"
            ) from error
        await asyncio.to_thread(self._defaults.write, entry.path, chosen)
        return await self.defaults(model)

    async def verification(self, model: str) -> Verified:
        """How far it is, or what the last one said, if no file has changed since."""
        entry = await self._find(model)
        reading = self._readings.get(entry.path)
        if reading is not None and reading.task is not None:
            return Verified(model=entry.id, state="running", fraction=reading.fraction)
        found = await asyncio.to_thread(self._verifier.known, entry.files)
        problem = reading.problem if reading else ""
        return _told(entry, found, problem)

    async def verify(self, model: str) -> Verified:
        """Begin to read all files of a model, beside everything else. Idempotent."""
        entry = await self._find(model)
        reading = self._readings.get(entry.path)
        if reading is None or reading.task is None:
            reading = self._readings[entry.path] = _Reading()
            reading.task = aio.spawn(self._read(entry, reading), name=f"verifying {entry.id}")
        return await self.verification(model)

    async def stop_verifying(self, model: str) -> Verified:
        """Stop; what was read is not kept. Idempotent."""
        entry = await self._find(model)
        reading = self._readings.get(entry.path)
        if reading is not None and reading.task is not None:
            reading.stop.set()
            await asyncio.wait([reading.task])
        return await self.verification(model)

    async def disk(self) -> DiskUse:
        """What the models take."""
        entries = await self._entries()
        use = await asyncio.to_thread(disk_use, entries)
        free = 0
        if self._folder.exists():
            free = shutil.disk_usage(self._folder).free
        return DiskUse(dict(use.models), dict(use.origins), use.total, free)

    async def close(self) -> None:
        """Stop reading."""
        tasks = []
        for reading in self._readings.values():
            reading.stop.set()
            if reading.task is not None:
                tasks.append(reading.task)
        if tasks:
            await asyncio.wait(tasks)

    async def _read(self, entry: LibraryModel, reading: _Reading) -> None:
        def progress(done: int, total: int) -> None:
            reading.fraction = done / max(1, total)

        try:
            await asyncio.to_thread(
                self._verifier.verify, entry.files, progress=progress, cancelled=reading.stop
            )
        except EngineError as error:
            reading.problem = str(error)
        finally:
            reading.task = None
            self._on_change()


def _told(entry: LibraryModel, found: Verification | None, problem: str) -> Verified:
    if found is None:
        return Verified(model=entry.id, state="unknown", problem=problem)
    return Verified(
        model=entry.id,
        state=found.state,
        sha256=found.sha256,
        damaged=tuple(printable(file) for file in found.damaged),
        problem=problem,
    )


def _given(defaults: ModelDefaults) -> dict[str, Any]:
    found = msgspec.to_builtins(defaults)
    assert isinstance(found, dict)
    return {name: value for name, value in found.items() if value is not None}
