"""Makes room for a model that is to be loaded: idle models leave, busy ones are waited for, and nobody waits for ever.

Zone: service process, event loop. One load at a time holds `turn`, from its plan until its memory is taken; who waits for a busy
model lets go of it, because that model's next worker may need it. Neighbours: `eviction` (who leaves), `planning`.
"""

import asyncio
import logging
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from engine import aio
from engine.config import ModelSettings
from engine.errors import OutOfMemory
from engine.hardware.plan import Plan
from engine.hardware.probe import Hardware
from engine.hub.library import LibraryModel
from engine.supervisor.eviction import Resident, choose_victims
from engine.supervisor.library_host import LibraryHost
from engine.supervisor.planning import plan_model, shortfall

logger = logging.getLogger(__name__)

PATIENCE_S: Final = 15.0
"""So long a load waits for a busy model to become idle by itself; then that model takes on no further answers."""


class Room:
    """Memory, as the loads of one service share it."""

    def __init__(
        self,
        probe: Callable[[], Hardware],
        hosts: Callable[[], Iterable[LibraryHost]],
        cache_folder: Path | None,
        *,
        patience_s: float = PATIENCE_S,
    ) -> None:
        """Nobody waits yet.

        Args:
            probe: looks at the machine; called again for every load, as free memory changes.
            hosts: all that there are now.
            cache_folder: where measurements are; None: nowhere.
            patience_s: see `PATIENCE_S`.
        """
        self._probe = probe
        self._hosts = hosts
        self._cache_folder = cache_folder
        self._patience_s = patience_s
        self.turn = asyncio.Lock()
        """Held by the one load that plans and takes memory."""
        self._changed = asyncio.Condition(self.turn)
        self._starving: dict[Path, None] = {}
        """Models whose patience is over, the first one first: it loads before any other."""
        self._leaving: set[Path] = set()
        """Models that finish their answers and then leave for one that starves."""

    def tell_changed(self) -> None:
        """A model became idle, or its worker is gone."""
        aio.spawn(self._tell_changed(), name="news of free memory")

    def idle(self, other_than: Path | None) -> list[Resident]:
        """Models that could leave for this one; None: for one that is not here yet."""
        return [
            host.resident
            for host in self._hosts()
            if host.state == "ready" and not host.busy and host.path != other_than
        ]

    async def make(
        self, entry: LibraryModel, settings: ModelSettings, draft: LibraryModel | None
    ) -> Plan:
        """Plan with the memory that idle models would free, and unload as many of them as that takes. Holds `turn`.

        Raises:
            EngineError: as `plan_model`; OutOfMemory only when no other model has anything to give.
        """
        try:
            return await self._make(entry, settings, draft)
        finally:
            if entry.path in self._starving:
                del self._starving[entry.path]
                self.tell_changed()

    async def _make(
        self, entry: LibraryModel, settings: ModelSettings, draft: LibraryModel | None
    ) -> Plan:
        while True:
            while next(iter(self._starving), entry.path) != entry.path:
                await self._changed.wait()
            before = self._workers()
            hardware = await asyncio.to_thread(self._probe)
            try:
                idle, folder = self.idle(entry.path), self._cache_folder
                plan = plan_model(
                    entry, hardware, settings, idle=idle, draft=draft, cache_folder=folder
                )
            except OutOfMemory:
                if before != self._workers():
                    continue  # one came or went while the machine was looked at
                if not self._busy(entry):
                    raise
                await self._wait(entry)
                continue
            missing, gpu = shortfall(plan, hardware)
            if await self._unload(choose_victims(missing, self.idle(entry.path), gpu), entry):
                return plan

    async def _unload(self, victims: list[str] | None, entry: LibraryModel) -> bool:
        hosts = {host.model: host for host in self._hosts()}
        for victim in victims or []:
            host = hosts.get(victim)
            if host is None or host.busy:
                return False  # an answer came for it meanwhile: plan anew
            logger.info("unloading to make room, model=%s for=%s", victim, entry.id)
            await host.stop()
        return True

    async def _wait(self, entry: LibraryModel) -> None:
        """For any change; when patience is over, see to it that there is one."""
        try:
            async with asyncio.timeout(self._patience_s):
                await self._changed.wait()
        except TimeoutError:
            self._starving[entry.path] = None
            waited_for = [h for h in self._busy(entry) if h.path not in self._leaving]
            if waited_for:
                oldest = min(waited_for, key=lambda host: host.loaded_since or math.inf)
                logger.info("no new answers to make room, model=%s for=%s", oldest.model, entry.id)
                self._leaving.add(oldest.path)
                aio.spawn(self._let_go(oldest), name=f"last answers of {oldest.model}")

    async def _let_go(self, host: LibraryHost) -> None:
        try:
            await host.stop()
        finally:
            self._leaving.discard(host.path)
        await self._tell_changed()

    async def _tell_changed(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    def _busy(self, entry: LibraryModel) -> list[LibraryHost]:
        """Those that hold memory and work; without a worker a model holds nothing."""
        return [h for h in self._hosts() if h.path != entry.path and h.busy and h.pid]

    def _workers(self) -> set[int | None]:
        return {host.pid for host in self._hosts()}
