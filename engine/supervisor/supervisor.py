"""All models of this service: finds them, plans them, makes room for them, hands answers to them.

Zone: service process, event loop; implements `engine.supervisor.answer.Engine`.
`ModelHost` has the life of each worker, `Room` the memory they share; here they meet.
The library is looked at and changed beside the event loop, by one call at a time (`_library_turn`).
"""

import asyncio
import logging
import os
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from engine import aio
from engine.api.kept import KeptOnDisk
from engine.api.models import ModelDetails, StarterInfo
from engine.config import ModelSettings
from engine.errors import (
    EngineError,
    InvalidRequest,
    ModelNotFound,
    ServiceUnavailable,
)
from engine.formats.filenames import printable
from engine.formats.kv_file import KEPT, forget_files, measure
from engine.hardware.parts import installed_parts
from engine.hardware.probe import Hardware
from engine.hardware.report import as_json, plan_as_json
from engine.hub.library import Library, LibraryModel
from engine.hub.model_defaults import DefaultsStore, for_loading, for_sampling
from engine.hub.removal import Removal
from engine.ipc.messages import Load
from engine.supervisor.answer import Answer, AnswerRequest, Changes, ModelStatus, describe
from engine.supervisor.appraisal import Appraisal
from engine.supervisor.ghosts import Ghosts
from engine.supervisor.host import Launch
from engine.supervisor.library_host import LibraryHost
from engine.supervisor.load_records import LoadRecords
from engine.supervisor.planning import (
    draft_of,
    load_message,
    plan_model,
    settings_after_death,
)
from engine.supervisor.process import Worker, WorkerProcess
from engine.supervisor.room import PATIENCE_S, Room
from engine.supervisor.running import RunningAnswer
from engine.supervisor.speed_book import SpeedBook
from engine.supervisor.starter import StarterFetch
from engine.types import SamplingParams

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
        cache_folder: Path | None = None,
        defaults: DefaultsStore | None = None,
        start: Callable[[str], Awaitable[Worker]] = WorkerProcess.start,
        load_overrides: Mapping[str, Any] | None = None,
        patience_s: float = PATIENCE_S,
        before_connecting: Callable[[], None] = lambda: None,
    ) -> None:
        """Nothing is started yet.

        Args:
            library: the models on disk.
            settings: how to load them.
            probe: looks at the machine; called again for every load, as free memory changes.
            default_model: answers requests that name none.
            cache_folder: where workers keep conversations and measurements; None: nowhere.
            defaults: what was chosen for single models; None: nothing.
            start: starts a worker process.
            load_overrides: fields of `Load` that tests set, such as the fake backend.
            patience_s: how long a load waits for a model that always has work.
            before_connecting: called before the starter model is fetched; what it raises stops it.
        """
        self._library = library
        self._settings = settings
        self._probe = probe
        self._default_model = default_model
        self._cache_folder = cache_folder
        self._defaults = defaults
        self._kept = cache_folder / KEPT if cache_folder else None
        self._start = start
        self._load_overrides = dict(load_overrides or {})
        self._hosts: dict[str, LibraryHost] = {}
        self._room = Room(probe, self._hosts_now, cache_folder, patience_s=patience_s)
        self._library_turn = asyncio.Lock()
        speeds, ghosts = SpeedBook(cache_folder), Ghosts()
        self._records = LoadRecords(cache_folder, speeds, ghosts)
        self.appraisal = Appraisal(probe, lambda: self._room.idle(None), settings, speeds, ghosts)
        """What models would cost that are not here."""
        self._closing = False
        self._changes = Changes()
        self._starter = StarterFetch(library.folder, self._changes.note, before=before_connecting)

    # --- Engine --------------------------------------------------------------------------------

    @asynccontextmanager
    async def answer(self, model: str | None, request: AnswerRequest) -> AsyncIterator[Answer]:
        """See Engine."""
        if self._closing:
            raise ServiceUnavailable("The service is stopping.", hint="Try again in a moment.")
        entry = await self.find(model)
        running = RunningAnswer(uuid.uuid4().hex, entry.id, request)
        host = self._host(entry)
        host.submit(running)
        try:
            yield running
        finally:
            host.release(running)

    async def read_ahead(self, model: str | None, request: AnswerRequest) -> bool:
        """See Engine."""
        host = self._host_of(await self.find(model))
        return host is not None and host.read_ahead(request)

    async def models(self) -> list[ModelStatus]:
        """See Engine."""
        async with self._library_turn:
            entries = await asyncio.to_thread(self._library.models)
            self._follow(entries)
        return [self._status(entry) for entry in entries]

    @property
    def notice(self) -> str | None:
        """See Engine."""
        return self._library.notice

    async def details(self, model: str) -> ModelDetails:
        """See Engine."""
        entry = await self.find(model)
        host = self._host_of(entry)
        plan = host.plan if host and host.loaded else None
        details = await asyncio.to_thread(describe, entry)
        try:
            wire = plan_as_json(plan) if plan else await self.plan(entry.id)
        except EngineError as error:
            wire = None
            details = msgspec.structs.replace(details, plan_problem=str(error))
        problem = entry.problem or (str(host.problem) if host and host.problem else None)
        return msgspec.structs.replace(details, plan=wire, problem=problem)

    def note_change(self) -> None:
        """`models` would tell something new."""
        self._changes.note()

    async def entries(self) -> list[LibraryModel]:
        """The library itself, with files and headers."""
        async with self._library_turn:
            return await asyncio.to_thread(self._library.models)

    async def add(self, path: str) -> ModelStatus:
        """See Engine."""
        file = Path(path)
        if not file.is_absolute():
            raise InvalidRequest(
                "The path of the file does not begin at the root.",
                hint="Send the whole path.",
                param="path",
            )
        async with self._library_turn:
            entry = await asyncio.to_thread(self._library.add, file)
            await self._library_changed()
        return self._status(entry)

    async def sampling(self, model: str | None, params: SamplingParams) -> SamplingParams:
        """See Engine."""
        if self._defaults is None:
            return params
        try:
            entry = await self.find(model)
        except EngineError:
            return params  # the answer says why
        return for_sampling(await asyncio.to_thread(self._defaults.read, entry.path), params)

    async def remove(self, model: str, *, delete_file: bool = False) -> Removal:
        """See Engine."""
        async with self._library_turn:  # until it is gone, nobody finds it to ask it something
            entry = await asyncio.to_thread(self._library.get, model)
            if host := self._host_of(entry):
                if host.num_running:
                    raise InvalidRequest(
                        f"{entry.id} is answering at the moment.",
                        hint="Stop its answers or wait for their end, then remove it.",
                        param="model",
                        status=409,
                    )
                await host.stop()
            outcome = await asyncio.to_thread(
                self._library.remove, entry.id, delete_file=delete_file
            )
            if host:
                del self._hosts[entry.id]
            await self._library_changed()
        return outcome

    async def load(self, model: str) -> ModelStatus:
        """See Engine."""
        entry = await self.find(model)
        await self._host(entry).ensure_ready()
        return self._status(entry)

    async def unload(self, model: str) -> ModelStatus:
        """See Engine."""
        entry = await self.find(model)
        if host := self._host_of(entry):
            await host.stop()
        return self._status(entry)

    async def hardware(self) -> dict[str, object]:
        """See Engine."""
        found: dict[str, object] = as_json(await asyncio.to_thread(self._probe))
        return found | {"backends": installed_parts().backends}

    async def plan(self, model: str) -> dict[str, object]:
        """See Engine."""
        entry, hardware = await self.find(model), await asyncio.to_thread(self._probe)
        idle, folder = self._room.idle(entry.path), self._cache_folder
        settings = await self._settings_for(entry)
        plan = plan_model(entry, hardware, settings, idle=idle, cache_folder=folder)
        return plan_as_json(plan)

    async def starter(self) -> StarterInfo:
        """See Engine."""
        return await self._starter.info()

    async def start_starter(self) -> StarterInfo:
        """See Engine."""
        self._starter.start()
        return await self._starter.info()

    async def cancel_starter(self) -> StarterInfo:
        """See Engine."""
        await self._starter.cancel()
        return await self._starter.info()

    async def kept(self) -> KeptOnDisk:
        """See Engine."""
        if self._kept is None:
            return KeptOnDisk()
        num_bytes, num_files = await asyncio.to_thread(measure, self._kept)
        return KeptOnDisk(num_bytes, num_files, printable(os.fspath(self._kept)))

    async def forget(self, key: str | None) -> None:
        """See Engine."""
        await asyncio.gather(*(host.forget(key or "") for host in self._hosts.values()))
        if self._kept is not None:  # also files of loaded models: what is gone is no error to them
            await asyncio.to_thread(forget_files, self._kept, key)

    def changes(self) -> AsyncGenerator[None, None]:
        """See Engine."""
        return self._changes.listen()

    async def close(self) -> None:
        """End all answers with a clear error, and all workers and fetches."""
        self._closing = True
        await self._starter.cancel()
        stops = [
            aio.spawn(host.stop(finish_answers=False), name=f"stop of {host.model}")
            for host in self._hosts.values()
        ]
        if stops:
            await asyncio.wait(stops)

    # --- models --------------------------------------------------------------------------------

    async def find(self, model: str | None) -> LibraryModel:
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

    def _hosts_now(self) -> list[LibraryHost]:
        return list(self._hosts.values())

    def _host_of(self, entry: LibraryModel) -> LibraryHost | None:
        host = self._hosts.get(entry.id)
        return host if host and host.path == entry.path else None

    def _host(self, entry: LibraryModel) -> LibraryHost:
        if host := self._host_of(entry):
            return host
        launch = Launch(
            prepare=lambda: self._prepare(new),
            start=self._start,
            load_turn=self._room.turn,
            idle_timeout_s=self._settings.idle_timeout_s,
        )
        new = LibraryHost(entry, launch, self._room.tell_changed, self._changes, self._records)
        self._put(new)
        return new

    def _put(self, host: LibraryHost) -> None:
        if old := self._hosts.get(host.model):  # of a file that is gone, whose id is free again
            aio.spawn(old.stop(), name=f"stop of {old.model}")
        self._hosts[host.model] = host

    async def _library_changed(self) -> None:
        self._follow(await asyncio.to_thread(self._library.models))
        self._changes.note()

    def _follow(self, entries: list[LibraryModel]) -> None:
        """Ids change with the library (two models of one name get longer ones); the paths stay."""
        ids = {entry.path: entry.id for entry in entries}
        hosts = sorted(self._hosts.values(), key=lambda host: host.path in ids)
        self._hosts = {}
        for host in hosts:
            host.model = ids.get(host.path, host.model)
            self._put(host)

    def _status(self, entry: LibraryModel) -> ModelStatus:
        host = self._host_of(entry)
        plan = host.plan if host else None
        loaded = host.loaded if host else None
        problem = host.problem if host else None
        return ModelStatus(
            id=entry.id,
            state=host.state if host else "unloaded",
            path=printable(os.fspath(entry.path)),
            origin=entry.origin,
            size_bytes=entry.size_bytes,
            created=entry.modified,
            description=loaded.description if loaded else entry.name or "",
            quantization=entry.quantization or "",
            n_ctx_train=entry.context_length,
            n_ctx=loaded.n_ctx if loaded else None,
            progress=host.progress if host else None,
            resident_bytes=host.resident_bytes if loaded and host else None,
            backend=plan.backend if plan and loaded else None,
            reasons=(*plan.reasons, *loaded.notes, *host.figures)
            if plan and loaded and host
            else (),
            problem=str(problem) if problem else entry.problem,
            num_running=host.num_running if host else 0,
            loaded_since=host.loaded_since if host else None,
            load_seconds=loaded.load_seconds if loaded else None,
        )

    # --- loading -------------------------------------------------------------------------------

    async def _settings_for(self, entry: LibraryModel) -> ModelSettings:
        if self._defaults is None:
            return self._settings
        return for_loading(await asyncio.to_thread(self._defaults.read, entry.path), self._settings)

    async def _prepare(self, host: LibraryHost) -> Load:
        entry = await self.find(host.model)
        chosen = await self._settings_for(entry)
        settings = settings_after_death(chosen, host.plan, died=host.has_died)
        draft = await asyncio.to_thread(draft_of, self._library, entry, settings)
        plan = host.plan = await self._room.make(entry, settings, draft)
        for reason in plan.reasons:
            logger.info("plan, model=%s: %s", entry.id, reason)
        load = load_message(entry, plan, settings, draft=draft, cache_folder=self._cache_folder)
        return msgspec.structs.replace(load, **self._load_overrides)
