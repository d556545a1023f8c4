"""The library as the window sees it: which models there are, what they do, what is known of the chosen one.

Zone: GUI thread. Asks the service when told that something changed (`notify`), and by a timer only
while a model is being loaded. Neighbours: `calls` (the bridge), `keeping`, `starter`, `app.item_models.library`.
"""

from collections.abc import Sequence
from functools import partial
from typing import Literal

import msgspec
from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.stores.calls import Calls
from app.stores.keeping import KeepingStore
from app.stores.starter import StarterStore
from engine.api.models import ModelDetails, ModelInfo, ModelList, Removed
from engine.errors import EngineError

POLL_MS = 500
UNDO_MS = 8000
"""How long a removal can be taken back; the service hears of it only afterwards."""

Phase = Literal["loading", "ready", "offline"]


class _Memory(msgspec.Struct, frozen=True):
    free: int


class _Machine(msgspec.Struct, frozen=True):
    memory: _Memory


class ModelsStore(QObject):
    """The library.

    Signals:
        changed(): the list, a state in it, or the connection to the service.
        details_changed(): the chosen model, or what is known of it.
        added(str model): a file was added and is chosen now.
        removed(str model): it is gone from the list; `undo_remove` brings it back for `UNDO_MS`.
        deleted(str model, bool trashed): its file is in the trash, or it went another way.
        failed(str sentence): something that was asked for did not work.
    """

    changed = Signal()
    details_changed = Signal()
    added = Signal(str)
    removed = Signal(str)
    deleted = Signal(str, bool)
    failed = Signal(str)

    def __init__(self, calls: Calls, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._calls = calls
        self._all: tuple[ModelInfo, ...] = ()
        self._asking = self._ask_again = False
        self._busy: set[str] = set()
        self._leaving: set[str] = set()
        self._undoable = ""
        self._undo = QTimer(self)
        self._undo.setSingleShot(True)
        self._undo.setInterval(UNDO_MS)
        self._undo.timeout.connect(self.finish_removal)
        self.starter = StarterStore(calls, self)
        self.starter.arrived.connect(self.refresh)
        self.keeping = KeepingStore(calls, self)
        self.keeping.failed.connect(self.failed)
        self.keeping.planned_anew.connect(self._replan)
        self._poll = QTimer(self)
        self._poll.setInterval(POLL_MS)
        self._poll.timeout.connect(self.refresh)
        self.phase: Phase = "loading"
        self.problem = ""
        """Why the service cannot be asked, while the phase is `offline`."""
        self.notice = ""
        """Trouble with the library itself, such as a folder that cannot be read; models may be missing."""
        self.selected = ""
        """The chosen model's id, or empty."""
        self.details: ModelDetails | None = None
        self.details_problem = ""
        self.free_bytes: int | None = None
        """Free main memory when the details were fetched."""

    # --- what is shown --------------------------------------------------------------------------

    @property
    def models(self) -> tuple[ModelInfo, ...]:
        """All models but those on their way out, sorted by id."""
        return tuple(model for model in self._all if model.id not in self._leaving)

    def get(self, model: str) -> ModelInfo | None:
        """One model by its id."""
        return next((info for info in self.models if info.id == model), None)

    def lies_elsewhere(self, model: str) -> bool:
        """Was it found or added, so that removing it leaves its file alone? Also of one on its way out."""
        return any(info.id == model and bool(info.origin) for info in self._all)

    def busy(self, model: str) -> bool:
        """Is it being loaded or unloaded because somebody asked here?"""
        return model in self._busy

    # --- asking ---------------------------------------------------------------------------------

    @Slot()
    def notify(self) -> None:
        """The service said that something changed, or came back."""
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Ask for the list; requests that come while one is on its way become one more."""
        if self._asking:
            self._ask_again = True
            return
        self._asking = True
        self._calls.call(lambda client: client.library(), self._take, self._lost)

    def select(self, model: str) -> None:
        """Choose a model and ask for its details; an empty id chooses none."""
        if model == self.selected:
            return
        self.selected, self.details, self.details_problem = model, None, ""
        self.details_changed.emit()
        self.refresh_details()

    def refresh_details(self) -> None:
        """Ask again for what is known of the chosen model."""
        model = self.selected
        self.keeping.show(model)
        if not model:
            return
        self._calls.call(
            lambda client: client.details(model),
            partial(self._take_details, model),
            partial(self._no_details, model),
        )
        self._calls.call(lambda client: client.hardware(), self._take_machine, self._no_machine)

    # --- changing -------------------------------------------------------------------------------

    def load(self, model: str) -> None:
        """Load a model; `changed` tells how it goes."""
        self._begin(model)
        self._calls.call(
            lambda client: client.load(model), partial(self._done, model), partial(self._bad, model)
        )
        self.refresh()

    def unload(self, model: str) -> None:
        """Free a model's memory."""
        self._begin(model)
        self._calls.call(
            lambda client: client.unload(model),
            partial(self._done, model),
            partial(self._bad, model),
        )

    def add(self, paths: Sequence[str]) -> None:
        """Make files known that lie on this machine."""
        for path in paths:
            self._add_one(path)

    def _add_one(self, path: str) -> None:
        self._calls.call(lambda client: client.add(path), self._added, self._tell)

    def remove(self, model: str) -> None:
        """Take a model off the list; after `UNDO_MS`, or with the next removal, it really goes to the trash."""
        if self.get(model) is None:
            return
        self.finish_removal()
        self._leaving.add(model)
        self._undoable = model
        self._undo.start()
        if model == self.selected:
            self.select("")
        self.changed.emit()
        self.removed.emit(model)

    def delete_file(self, model: str) -> None:
        """Delete the file of a model from elsewhere, too; the user has been asked."""
        if self.get(model) is None:
            return
        self._leaving.add(model)
        if model == self.selected:
            self.select("")
        self.changed.emit()
        self._calls.call(
            lambda client: client.remove(model, delete_file=True),
            partial(self._deleted, model),
            partial(self._stayed, model),
        )

    @Slot(str)
    def undo_remove(self, model: str) -> None:
        """Bring the model back that was just removed; too late, nothing happens."""
        if model and model == self._undoable:
            self._undo.stop()
            self._undoable = ""
            self._leaving.discard(model)
            self.changed.emit()
            self.select(model)

    @Slot()
    def finish_removal(self) -> None:
        """Do now what could still be undone."""
        self._undo.stop()
        model, self._undoable = self._undoable, ""
        if model:
            self._calls.call(
                lambda client: client.remove(model),
                partial(self._gone, model),
                partial(self._stayed, model),
            )

    @Slot(str)
    def _replan(self, model: str) -> None:
        if model == self.selected:
            self.refresh_details()

    # --- answers --------------------------------------------------------------------------------

    def _take(self, library: ModelList) -> None:
        before = self.get(self.selected)
        was = (self._all, self.phase, self.notice)
        kept = _on_disk(self._all)
        self._all = tuple(sorted(library.models, key=lambda model: model.id))
        self.phase, self.problem, self.notice = "ready", "", library.notice or ""
        self._asked()
        if not self.models:
            self.starter.refresh()
        if was != (self._all, self.phase, self.notice):
            self.changed.emit()
        if kept != _on_disk(self._all):
            self.keeping.refresh_disk()
        after = self.get(self.selected)
        if after is None:
            self.select("")
        elif before is None or _settled(before) != _settled(after):
            self.refresh_details()

    def _lost(self, error: EngineError) -> None:
        self.phase, self.problem = "offline", str(error)
        self._asked()
        self.changed.emit()

    def _asked(self) -> None:
        self._asking = False
        moving = any(info.state in ("loading", "stopping") for info in self._all)
        if self.phase == "ready" and (moving or self._busy):
            self._poll.start()
        else:
            self._poll.stop()
        if self._ask_again:
            self._ask_again = False
            self.refresh()

    def _take_details(self, model: str, details: ModelDetails) -> None:
        if model == self.selected:
            self.details, self.details_problem = details, ""
            self.details_changed.emit()

    def _no_details(self, model: str, error: EngineError) -> None:
        if model == self.selected:
            self.details_problem = str(error)
            self.details_changed.emit()

    def _take_machine(self, hardware: dict[str, object]) -> None:
        try:
            self.free_bytes = msgspec.convert(hardware, _Machine).memory.free
        except msgspec.ValidationError:
            self.free_bytes = None
        self.details_changed.emit()

    def _no_machine(self, error: EngineError) -> None:
        del error  # the details or the list tell it
        self.free_bytes = None

    def _added(self, info: ModelInfo) -> None:
        if info.id in self._leaving:
            self.undo_remove(info.id)
        self.select(info.id)
        self.refresh()
        self.added.emit(info.id)

    def _tell(self, error: EngineError) -> None:
        self.failed.emit(str(error))

    # --- loads and removals on their way ----------------------------------------------------------

    def _begin(self, model: str) -> None:
        self._busy.add(model)
        self._poll.start()
        self.changed.emit()

    def _done(self, model: str, info: ModelInfo) -> None:
        del info
        self._busy.discard(model)
        self.changed.emit()
        self.refresh()

    def _bad(self, model: str, error: EngineError) -> None:
        self._busy.discard(model)
        self.changed.emit()
        self._tell(error)
        self.refresh()

    def _gone(self, model: str, outcome: Removed) -> None:
        del outcome
        self._all = tuple(info for info in self._all if info.id != model)
        self._leaving.discard(model)
        self.refresh()
        self.keeping.refresh_disk()

    def _deleted(self, model: str, outcome: Removed) -> None:
        self._gone(model, outcome)
        self.deleted.emit(model, outcome.outcome == "trashed")

    def _stayed(self, model: str, error: EngineError) -> None:
        self._leaving.discard(model)
        self.changed.emit()
        self._tell(error)


def _settled(info: ModelInfo) -> ModelInfo:
    """What the details depend on: not progress and the figures that move all the time."""
    return msgspec.structs.replace(info, progress=None, resident_bytes=None, num_running=0)


def _on_disk(models: Sequence[ModelInfo]) -> list[tuple[str, int]]:
    return [(info.id, info.size_bytes) for info in models]
