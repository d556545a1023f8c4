"""All models of this service: finds them, plans them, makes room for them, hands answers to them.

Zone: service process, event loop; implements `engine.supervisor.answer.Engine`.
`ModelHost` has the life of each worker, `choose_victims` who leaves; here they meet.
"""

import asyncio
import logging
import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import psutil

from engine import aio
from engine.config import ModelSettings
from engine.errors import InvalidRequest, ModelNotFound, OutOfMemory, ServiceUnavailable
from engine.formats.filenames import printable
from engine.hardware.plan import Plan
from engine.hardware.probe import Hardware
from engine.hardware.report import as_json, plan_as_json
from engine.hub.library import Library, LibraryModel
from engine.ipc.messages import Load
from engine.supervisor.answer import Answer, AnswerRequest, ModelStatus
from engine.supervisor.eviction import Resident, choose_victims
from engine.supervisor.host import Launch, ModelHost
from engine.supervisor.planning import plan_model
from engine.supervisor.process import Worker, WorkerProcess
from engine.supervisor.running import RunningAnswer

logger = logging.getLogger(__name__)


class Supervisor:
    """The engine as the fronts see it."""

    def __init__(
        self,
        library: Library,
        settings: ModelSettings,
        probe: Callable[[], Hardware],
        *,
        default_model: str | None = None,
        start: Callable[[str], Awaitable[Worker]] = WorkerProcess.start,
        load_overrides: Mapping[str, Any] | None = None,
    ) -> None:
        """Nothing is started yet.

        Args:
            library: the models on disk.
            settings: how to load them.
            probe: looks at the machine; called again for every load, as free memory changes.
            default_model: answers requests that name none.
            start: starts a worker process.
            load_overrides: fields of `Load` that tests set, such as the fake backend.
        """
        self._library = library
        self._settings = settings
        self._probe = probe
        self._default_model = default_model
        self._start = start
        self._load_overrides = dict(load_overrides or {})
        self._hosts: dict[str, ModelHost] = {}
        self._plans: dict[str, Plan] = {}
        self._load_turn = asyncio.Lock()
        self._library_turn = asyncio.Lock()
        self._became_idle = asyncio.Event()
        self._closing = False

    # --- Engine --------------------------------------------------------------------------------

    @asynccontextmanager
    async def answer(self, model: str | None, request: AnswerRequest) -> AsyncIterator[Answer]:
        """See Engine."""
        if self._closing:
            raise ServiceUnavailable("The service is stopping.", hint="Try again in a moment.")
        entry = await self._find(model)
        running = RunningAnswer(uuid.uuid4().hex, entry.id, request)
        host = self._host(entry)
        host.submit(running)
        try:
            yield running
        finally:
            host.release(running)

    async def models(self) -> list[ModelStatus]:
        """See Engine."""
        async with self._library_turn:
            entries = await asyncio.to_thread(self._library.models)
        return [self._status(entry) for entry in entries]

    async def load(self, model: str) -> ModelStatus:
        """See Engine."""
        entry = await self._find(model)
        await self._host(entry).ensure_ready()
        return self._status(entry)

    async def unload(self, model: str) -> ModelStatus:
        """See Engine."""
        entry = await self._find(model)
        if host := self._hosts.get(entry.id):
            await host.stop()
        return self._status(entry)

    async def hardware(self) -> dict[str, object]:
        """See Engine."""
        return as_json(await asyncio.to_thread(self._probe))

    async def plan(self, model: str) -> dict[str, object]:
        """See Engine."""
        entry = await self._find(model)
        hardware = await asyncio.to_thread(self._probe)
        freed = self._idle_bytes(entry.id)
        return plan_as_json(plan_model(entry, hardware, self._settings, freed_bytes=freed))

    async def close(self) -> None:
        """End all answers with a clear error, and all workers."""
        self._closing = True
        stops = [
            aio.spawn(host.stop(finish_answers=False), name=f"stop of {host.model}")
            for host in self._hosts.values()
        ]
        if stops:
            await asyncio.wait(stops)

    # --- models --------------------------------------------------------------------------------

    async def _find(self, model: str | None) -> LibraryModel:
        """Look a model up beside the event loop: the library may lie on a slow disk."""
        loaded = [h.model for h in self._hosts.values() if h.state in ("ready", "loading")]
        async with self._library_turn:
            return await asyncio.to_thread(self._resolve, model, loaded)

    def _resolve(self, model: str | None, loaded: list[str]) -> LibraryModel:
        if model:
            return self._library.get(model)
        if self._default_model:
            return self._library.get(self._default_model)
        entries = [m for m in self._library.models() if m.problem is None]
        if len(loaded) == 1:
            return self._library.get(loaded[0])
        if len(entries) == 1:
            return entries[0]
        if not entries:
            raise ModelNotFound(
                "There is no model yet.", hint="Add one with `inglenook models add FILE`."
            )
        raise InvalidRequest(
            "The request names no model, and there are several.",
            hint="Name one of: " + ", ".join(m.id for m in entries) + ".",
            param="model",
        )

    def _host(self, entry: LibraryModel) -> ModelHost:
        host = self._hosts.get(entry.id)
        if host is None:
            launch = Launch(
                prepare=lambda: self._prepare(entry.id),
                start=self._start,
                load_turn=self._load_turn,
                idle_timeout_s=self._settings.idle_timeout_s,
            )
            host = self._hosts[entry.id] = ModelHost(entry.id, launch, self._became_idle.set)
        return host

    def _status(self, entry: LibraryModel) -> ModelStatus:
        host = self._hosts.get(entry.id)
        plan = self._plans.get(entry.id)
        loaded = host.loaded if host else None
        problem = host.problem if host else None
        return ModelStatus(
            id=entry.id,
            state=host.state if host else "unloaded",
            path=printable(os.fspath(entry.path)),
            size_bytes=entry.size_bytes,
            created=entry.modified,
            description=loaded.description if loaded else entry.name or "",
            quantization=entry.quantization or "",
            n_ctx_train=entry.context_length,
            n_ctx=loaded.n_ctx if loaded else None,
            progress=host.progress if host else None,
            resident_bytes=_resident_bytes(host) if loaded and host else None,
            backend=plan.backend if plan and loaded else None,
            reasons=plan.reasons if plan and loaded else (),
            problem=str(problem) if problem else entry.problem,
        )

    # --- loading -------------------------------------------------------------------------------

    async def _prepare(self, model: str) -> Load:
        entry = await self._find(model)
        plan = await self._make_room(entry)
        self._plans[entry.id] = plan
        for reason in plan.reasons:
            logger.info("plan, model=%s: %s", entry.id, reason)
        load = Load(
            path=os.fsencode(entry.path),
            backend=plan.backend,
            context=plan.context,
            num_sequences=plan.num_sequences,
            decode_threads=plan.decode_threads,
            prefill_threads=plan.prefill_threads,
        )
        return msgspec.structs.replace(load, **self._load_overrides)

    async def _make_room(self, entry: LibraryModel) -> Plan:
        """Plan with the memory that idle models would free; unload as many of them as that takes."""
        while True:
            self._became_idle.clear()
            hardware = await asyncio.to_thread(self._probe)
            try:
                plan = plan_model(
                    entry, hardware, self._settings, freed_bytes=self._idle_bytes(entry.id)
                )
            except OutOfMemory:
                if not any(h.busy and h.model != entry.id for h in self._hosts.values()):
                    raise
                await self._became_idle.wait()
                continue
            missing = plan.needed.total - hardware.memory.free if plan.gpu is None else 0
            for victim in choose_victims(missing, self._idle(entry.id)) or []:
                logger.info("unloading to make room, model=%s for=%s", victim, entry.id)
                await self._hosts[victim].stop()
            return plan

    def _idle(self, other_than: str) -> list[Resident]:
        return [
            Resident(host.model, _resident_bytes(host), host.idle_since)
            for host in self._hosts.values()
            if host.state == "ready" and not host.busy and host.model != other_than
        ]

    def _idle_bytes(self, other_than: str) -> int:
        return sum(resident.resident_bytes for resident in self._idle(other_than))


def _resident_bytes(host: ModelHost) -> int:
    try:
        return int(psutil.Process(host.pid).memory_info().rss) if host.pid else 0
    except psutil.Error:
        return 0
