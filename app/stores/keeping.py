"""What is kept of the chosen model: its own defaults, whether its file is whole, what all models take of the disk.

GUI thread. Asks by a timer only while a file is being read. Neighbours: `models` (which one is chosen), `engine.api.keeping`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.stores.calls import Calls
from engine.api.keeping import Defaults, DiskUse, Verified
from engine.errors import EngineError, ServiceUnavailable

POLL_MS = 300
SAVE_MS = 400
"""A change of a default is sent so long after the last one."""

_LOADING: Final = ("context", "kv_type", "backend")
"""These change the plan."""


class KeepingStore(QObject):
    """Of one model at a time.

    Signals:
        changed(): what is shown of the model, or the disk.
        planned_anew(str model): a default was saved that changes how it is loaded.
        system_changed(): `system` is another one.
        failed(str sentence): something that was asked for did not work.
    """

    changed = Signal()
    planned_anew = Signal(str)
    system_changed = Signal()
    failed = Signal(str)

    def __init__(self, calls: Calls, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._calls = calls
        self._followed = ""
        self._known = False
        self._version = 0
        self._unsaved = self._replan = False
        self._poll = self._single_shot(POLL_MS, self._ask_verified)
        self._save = self._single_shot(SAVE_MS, self.save_now)
        self.model = ""
        """The id of the one that is shown, or empty."""
        self.verified: Verified | None = None
        """None: not known yet."""
        self.chosen: dict[str, Any] = {}
        """The user's defaults of the model, by the names of `engine.api.keeping.Defaults`."""
        self.suggested: dict[str, Any] = {}
        self.disk: DiskUse | None = None
        self.system = ""
        """The default system prompt of the model that `follow` named."""

    @property
    def known(self) -> bool:
        """Were the model's defaults told? Before that none can be set."""
        return self._known

    # --- what is shown --------------------------------------------------------------------------

    def show(self, model: str) -> None:
        """Ask for what is kept of a model; the same one again is asked for anew. Empty: none."""
        self.save_now()
        if model != self.model:
            self._poll.stop()
            self.model, self.verified, self._known = model, None, False
            self.chosen, self.suggested = {}, {}
            self.changed.emit()
        if model:
            self._ask_defaults()
            self._ask_verified()
            self.refresh_disk()

    def refresh_disk(self) -> None:
        """Ask what the models take."""
        self._calls.call(lambda client: client.keeping.disk(), self._take_disk, _unknown)

    def follow(self, model: str, *, again: bool = False) -> None:
        """Keep `system` at that of a model, `again` after a time without service."""
        if model == self._followed and not again:
            return
        if model != self._followed:
            self._followed = model
            self._set_system("")
        if model:
            self._calls.call(
                lambda client: client.keeping.defaults(model), self._take_followed, _unknown
            )

    # --- verifying ------------------------------------------------------------------------------

    @Slot()
    def verify(self) -> None:
        """Read the model's files whole."""
        model = self.model
        self._calls.call(
            lambda client: client.keeping.verify(model), self._take_verified, self._tell
        )

    @Slot()
    def stop_verifying(self) -> None:
        """Stop that."""
        model = self.model
        self._calls.call(
            lambda client: client.keeping.stop_verifying(model), self._take_verified, self._tell
        )

    @Slot()
    def _ask_verified(self) -> None:
        model = self.model
        self._calls.call(
            lambda client: client.keeping.verification(model), self._take_verified, _unknown
        )

    def _take_verified(self, verified: Verified) -> None:
        if verified.model != self.model:
            return
        if verified.state == "running":
            self._poll.start()
        else:
            self._poll.stop()
        if verified != self.verified:
            self.verified = verified
            self.changed.emit()

    # --- defaults -------------------------------------------------------------------------------

    def set_default(self, name: str, value: object | None) -> None:
        """Choose one default; None: the general setting holds."""
        wanted = {key: kept for key, kept in self.chosen.items() if key != name}
        self._choose(wanted if value is None else wanted | {name: value})

    @Slot()
    def use_suggested(self) -> None:
        """Choose all that the other program suggests."""
        self._choose(self.chosen | self.suggested)

    @Slot()
    def reset(self) -> None:
        """Choose nothing: the general settings hold."""
        self._choose({})

    def _choose(self, wanted: dict[str, Any]) -> None:
        if self._known and wanted != self.chosen:
            self._replan |= any(wanted.get(name) != self.chosen.get(name) for name in _LOADING)
            self.chosen, self._unsaved = wanted, True
            self._version += 1
            self._save.start()
            self.changed.emit()

    @Slot()
    def save_now(self) -> None:
        """Send what was chosen and not sent yet."""
        self._save.stop()
        if not self._unsaved:
            return
        self._unsaved = False
        model, chosen = self.model, self.chosen
        replan, self._replan = self._replan, False
        self._calls.call(
            lambda client: client.keeping.choose(model, chosen),
            partial(self._saved, replan, self._version),
            partial(self._not_saved, model, replan),
        )

    def _saved(self, replan: bool, version: int, defaults: Defaults) -> None:
        self._take_followed(defaults)
        self._take_defaults(version, defaults)
        if defaults.model == self.model:
            self._version += 1  # what was asked before may be answered after, with what was before
        if replan:
            self.planned_anew.emit(defaults.model)

    def _not_saved(self, model: str, replan: bool, error: EngineError) -> None:
        self._tell(error)
        if model != self.model:
            return
        if isinstance(error, ServiceUnavailable):
            self._unsaved = True  # what was typed waits for the service
            self._replan |= replan
        else:
            self._ask_defaults()

    def _ask_defaults(self) -> None:
        model = self.model
        self._calls.call(
            lambda client: client.keeping.defaults(model),
            partial(self._take_defaults, self._version),
            _unknown,
        )

    def _take_defaults(self, version: int, defaults: Defaults) -> None:
        """Show an answer, unless something was chosen since it was asked for."""
        if defaults.model != self.model or version != self._version or self._unsaved:
            return
        told = (True, defaults.chosen, defaults.suggested)
        if told != (self._known, self.chosen, self.suggested):
            self._known, self.chosen, self.suggested = told
            self.changed.emit()

    # --- inside ---------------------------------------------------------------------------------

    def _take_disk(self, disk: DiskUse) -> None:
        if disk != self.disk:
            self.disk = disk
            self.changed.emit()

    def _take_followed(self, defaults: Defaults) -> None:
        if defaults.model == self._followed:
            self._set_system(defaults.chosen.get("system", ""))

    def _set_system(self, system: str) -> None:
        if system != self.system:
            self.system = system
            self.system_changed.emit()

    def _tell(self, error: EngineError) -> None:
        self.failed.emit(str(error))

    def _single_shot(self, after_ms: int, then: Callable[[], None]) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.setInterval(after_ms)
        timer.timeout.connect(then)
        return timer


def _unknown(error: EngineError) -> None:
    """The list of models already says that the service does not answer."""
    del error
