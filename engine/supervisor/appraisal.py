"""What models that are not here would cost and do on this machine now.

Zone: service process, event loop. Counts the memory of idle models as free: they would leave. Neighbours: `engine.hardware.outlook`
(the judgement, pure), `ghosts` (llama.cpp's own figures), `speed_book` (what was measured).
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from engine.api.hub import Fit, HubChoice
from engine.config import ModelSettings
from engine.formats.gguf_header import GgufHeader
from engine.formats.ghost_file import ContextWish, GhostPart
from engine.hardware.facts import ModelFacts, facts_of
from engine.hardware.fit import need_of
from engine.hardware.outlook import (
    contexts_to_try,
    expected_speed,
    in_other_quantization,
    needs_by_formula,
    outlook,
    recommend,
    work_of,
)
from engine.hardware.plan import DEFAULT_CONTEXT, DEFAULT_SEQUENCES, LEAST_CONTEXT
from engine.hardware.probe import Hardware
from engine.supervisor.eviction import Resident
from engine.supervisor.ghosts import Ghosts
from engine.supervisor.speed_book import SpeedBook

_USUAL_TRAINED: Final = LEAST_CONTEXT


class Appraisal:
    """Judges files by their headers."""

    def __init__(
        self,
        probe: Callable[[], Hardware],
        idle: Callable[[], Sequence[Resident]],
        settings: ModelSettings,
        speeds: SpeedBook,
        ghosts: Ghosts,
    ) -> None:
        """Judge nothing yet.

        Args:
            probe: looks at the machine.
            idle: models that would leave.
            settings: context and sequences that would be planned.
            speeds: what was measured here.
            ghosts: ask llama.cpp.
        """
        self._probe = probe
        self._idle = idle
        self._settings = settings
        self._speeds = speeds
        self._ghosts = ghosts

    async def by_formula(self, header: GgufHeader, choices: Sequence[HubChoice]) -> list[Fit]:
        """Fits of files of one model in several quantizations.

        Args:
            header: of the first choice's file, or of its part 1.
            choices: the first one is the header's.
        """
        hardware = await asyncio.to_thread(self._probe)
        free = self._free(hardware)
        first = choices[0].size_bytes
        work = work_of(header, facts_of(header, first), hardware.cpu.features)
        fits = []
        for choice in choices:
            facts = facts_of(header, choice.size_bytes)
            needs = needs_by_formula(facts, self._contexts(facts), self._sequences)
            other = in_other_quantization(
                work, choice.size_bytes / first, choice.quantization, hardware.cpu.features
            )
            speed = expected_speed(other, self._speeds.speeds(hardware.cpu.name))
            fits.append(outlook(needs, free, exact=False, speed=speed, notes=facts.notes))
        return fits

    async def exactly(
        self, name: str, parts: Sequence[GhostPart], header: GgufHeader, choice: HubChoice
    ) -> Fit:
        """With llama.cpp's own figures.

        Args:
            name: for messages.
            parts: headers of all its files, in order.
            header: of the first.
            choice: the file.

        Raises:
            EngineError: llama.cpp cannot use it.
        """
        hardware = await asyncio.to_thread(self._probe)
        facts = facts_of(header, choice.size_bytes)
        contexts = self._contexts(facts)
        wishes = [ContextWish(context, self._sequences) for context in contexts]
        told = await self._ghosts.memory(name, parts, wishes)
        needs = {
            context: need_of(allocation, facts, self._sequences)
            for context, allocation in zip(contexts, told, strict=True)
        }
        work = work_of(header, facts, hardware.cpu.features)
        speed = expected_speed(work, self._speeds.speeds(hardware.cpu.name))
        return outlook(needs, self._free(hardware), exact=True, speed=speed)

    async def recommended(self, choices: Sequence[HubChoice]) -> list[HubChoice]:
        """The same, with at most one marked and why."""
        hardware = await asyncio.to_thread(self._probe)
        best = recommend(choices, hardware.cpu.features)
        marked = list(choices)
        if best is not None:
            index, why = best
            marked[index] = msgspec.structs.replace(marked[index], recommended=why)
        return marked

    @property
    def _sequences(self) -> int:
        return self._settings.num_sequences or DEFAULT_SEQUENCES

    def _contexts(self, facts: ModelFacts) -> tuple[int, ...]:
        trained = facts.n_ctx_train or _USUAL_TRAINED
        usual = self._settings.context or min(trained, DEFAULT_CONTEXT)
        return contexts_to_try(usual, min(usual, LEAST_CONTEXT))

    def _free(self, hardware: Hardware) -> int:
        return hardware.memory.free + sum(resident.held("") for resident in self._idle())
