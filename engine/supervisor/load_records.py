"""What loads taught: the speed of a model here, and the memory it really took beside what llama.cpp had said.

Zone: service process, event loop. The comparison is made once for each model, in its spare time. Neighbours: `engine.hardware.reality`
(the file, and the correction), `speed_book`, `library_host` (who tells).
"""

import logging
import os
from pathlib import Path

from engine import aio
from engine.errors import EngineError
from engine.formats.ghost_file import ContextWish
from engine.hardware.cpu import read_cpu
from engine.hardware.facts import facts_of
from engine.hardware.fit import CELLS_AT_LOAD, need_of
from engine.hardware.outlook import work_of
from engine.hardware.plan import Plan
from engine.hardware.reality import Outcome, Resident, read_outcome, resident, write_outcome
from engine.hub.library import LibraryModel
from engine.ipc.messages import Measured
from engine.supervisor.ghosts import Ghosts
from engine.supervisor.speed_book import SpeedBook

logger = logging.getLogger(__name__)


class LoadRecords:
    """Of all models of one service."""

    def __init__(self, cache_folder: Path | None, speeds: SpeedBook, ghosts: Ghosts) -> None:
        """Nothing was loaded yet.

        Args:
            cache_folder: where outcomes are kept; None: nowhere.
            speeds: is told how fast models are.
            ghosts: ask llama.cpp.
        """
        self._cache_folder = cache_folder
        self._speeds = speeds
        self._ghosts = ghosts
        self._held: dict[Path, Resident] = {}

    def loaded(self, entry: LibraryModel, pid: int) -> None:
        """A worker has just become ready: what it holds now is what the load took."""
        held = resident(pid)
        if held is not None:
            self._held[entry.path] = held

    def measured(self, entry: LibraryModel, plan: Plan | None, found: Measured) -> None:
        """Its figures are known, and nobody waits for it."""
        if entry.header is None:
            return
        cpu, facts = read_cpu(), facts_of(entry.header, entry.size_bytes)
        work = work_of(entry.header, facts, cpu.features)
        path = os.fspath(entry.path)
        self._speeds.note(cpu.name, path, work, writes=found.writes, reads=found.reads)
        held = self._held.pop(entry.path, None)
        if held is None or plan is None or plan.backend != "llama.cpp" or not self._cache_folder:
            return
        if read_outcome(self._cache_folder, entry.path, plan.backend) is None:
            compare = self._compare(self._cache_folder, entry, plan, held)
            aio.spawn(compare, name=f"memory of {entry.id}")

    async def _compare(
        self, cache_folder: Path, entry: LibraryModel, plan: Plan, held: Resident
    ) -> None:
        assert entry.header is not None
        wish = ContextWish(
            min(plan.context, CELLS_AT_LOAD),
            plan.num_sequences,
            kv_type=plan.kv_type,
            flash_attention=plan.flash_attention,
        )
        try:
            (told,) = await self._ghosts.memory_of_file(entry.path, [wish])
        except EngineError as error:
            logger.info("memory is not compared, model=%s error=%s", entry.id, error)
            return
        facts = facts_of(entry.header, entry.size_bytes)
        need = need_of(told, facts, plan.num_sequences)
        outcome = Outcome(need.private, held.private, held.file)
        write_outcome(cache_folder, entry.path, plan.backend, outcome)
