"""The host of a library's model: a `ModelHost` that knows its file and its plan, and tells when it changes.

Zone: service process, event loop. Neighbours: `host` (the worker's life), `supervisor` (all hosts).
"""

import time
from collections.abc import Callable

import psutil

from engine.hardware.plan import Plan
from engine.hub.library import LibraryModel
from engine.ipc.messages import Loaded, LoadProgress, Measured, ToSupervisor
from engine.supervisor.answer import Changes
from engine.supervisor.eviction import Resident
from engine.supervisor.host import Launch, ModelHost
from engine.supervisor.load_records import LoadRecords
from engine.supervisor.running import RunningAnswer
from engine.types import ModelState


class LibraryHost(ModelHost):
    """A ModelHost that says when its status changes."""

    def __init__(
        self,
        entry: LibraryModel,
        launch: Launch,
        on_idle: Callable[[], None],
        changes: Changes,
        records: LoadRecords,
    ) -> None:
        super().__init__(entry.id, launch, on_idle)
        self.path = entry.path
        """The model's identity; `model`, its id, may change with the library."""
        self.plan: Plan | None = None
        """Of the latest load."""
        self.loaded_since: float | None = None
        self._changes = changes
        self._entry = entry
        self._records = records

    @property
    def num_running(self) -> int:
        """Open answers."""
        return len(self._answers)

    def submit(self, answer: RunningAnswer) -> None:
        """See `ModelHost.submit`."""
        super().submit(answer)
        self._changes.note()

    def _set_state(self, state: ModelState) -> None:
        super()._set_state(state)
        self.loaded_since = time.time() if state == "ready" else None
        self._changes.note()

    def _on_message(self, message: ToSupervisor) -> None:
        super()._on_message(message)
        if isinstance(message, LoadProgress | Measured):
            self._changes.note()
        if isinstance(message, Loaded) and self.pid:
            self._records.loaded(self._entry, self.pid)
        if isinstance(message, Measured):
            self._records.measured(self._entry, self.plan, message)

    def _after_answer(self) -> None:
        super()._after_answer()
        self._changes.note()

    @property
    def resident_bytes(self) -> int:
        """Memory of the worker, shared pages included; 0 where there is none."""
        try:
            return int(psutil.Process(self.pid).memory_info().rss) if self.pid else 0
        except psutil.Error:
            return 0

    @property
    def figures(self) -> list[str]:
        """What was measured of it here, as half sentences beside the plan's reasons."""
        if self.measured is None:
            return []
        found = self.measured
        return [
            f"measured here: reads {found.reads:,.0f} and writes {found.writes:,.0f} tokens a second",
            *found.attention,
        ]

    @property
    def resident(self) -> Resident:
        """What unloading it would give back: main memory as measured, GPU memory as planned."""
        gpu = self.plan.gpu if self.plan else None
        vram = self.plan.needed.total if self.plan and gpu else 0
        return Resident(
            self.model, self.resident_bytes, self.idle_since, gpu.uuid if gpu else "", vram
        )
