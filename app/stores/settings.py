"""The settings as the window knows them: changed at once, saved at once, kept when saving fails.

Zone: GUI thread. Neighbours: `app.preferences` (file and ranges), `app.widgets.settings`.
"""

import logging
import secrets

from PySide6.QtCore import QObject, Signal

from app.preferences import (
    SERVICE_SECTIONS,
    TOLD_AT_ONCE,
    Language,
    Preferences,
    ThemeMode,
    Value,
    load,
    save,
)
from engine.errors import EngineError, SetupError
from engine.paths import Paths

logger = logging.getLogger(__name__)


class SettingsStore(QObject):
    """Current values and where they are kept.

    Signals:
        changed(str name): a value is different now, such as `desktop.theme`.
        trouble_changed(): `trouble` is different now.
        restart_needed_changed(): `restart_needed` is different now.
    """

    changed = Signal(str)
    trouble_changed = Signal()
    restart_needed_changed = Signal()

    def __init__(self, paths: Paths, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.paths = paths
        self._path = paths.settings
        self._unsaved: dict[str, Value] = {}
        self._running: dict[str, Value] = {}
        self.trouble = ""
        """A sentence with a next step while the file cannot be read or written; empty otherwise."""
        try:
            self._values = load(self._path)
        except SetupError as error:
            self._values = Preferences()
            self.trouble = str(error)

    @property
    def values(self) -> Preferences:
        """Everything, as a frozen value."""
        return self._values

    @property
    def language(self) -> Language:
        """Of the window."""
        return self._values.desktop.language

    @property
    def theme(self) -> ThemeMode:
        """Light, dark, or the system's."""
        return self._values.desktop.theme

    @property
    def shared(self) -> bool:
        """Does the service listen to other machines?"""
        return self._values["server.host"] not in ("", "localhost", "127.0.0.1", "::1")

    @property
    def restart_needed(self) -> bool:
        """Something differs from what the running service was started with."""
        return bool(self._running)

    def set(self, name: str, value: Value) -> None:
        """Change `section.field` and save it. A save that fails keeps the value here and sets `trouble`.

        Raises:
            InvalidRequest: the value is not possible; nothing changes.
        """
        before = self._values[name]
        if before == value:
            return
        self._values = self._values.with_value(name, value)
        self._unsaved[name] = value
        self._save()
        self._compare_with_service(name, before)
        self.changed.emit(name)

    def retry(self) -> None:
        """Try again what failed: save what is unsaved, then read the rest of the file anew."""
        if self._unsaved:
            self._save()
        if not self._unsaved:
            self._reload()

    def new_key(self) -> None:
        """Replace the service's key; whoever uses the old one needs the new one after a restart."""
        self.set("server.api_key", secrets.token_urlsafe(24))

    def share(self, on: bool) -> None:
        """Listen on all addresses of this machine, which needs a key, or on loopback only."""
        if on and not self._values["server.api_key"]:
            self.new_key()
        self.set("server.host", "0.0.0.0" if on else "localhost")  # noqa: S104  (asked for, with a key)

    def service_started(self) -> None:
        """Take the current values as those of the running service."""
        if self._running:
            self._running.clear()
            self.restart_needed_changed.emit()

    def _compare_with_service(self, name: str, before: Value) -> None:
        if name.partition(".")[0] not in SERVICE_SECTIONS or name in TOLD_AT_ONCE:
            return
        needed = self.restart_needed
        started_with = self._running.setdefault(name, before)
        if started_with == self._values[name]:
            del self._running[name]
        if needed != self.restart_needed:
            self.restart_needed_changed.emit()

    def _save(self) -> None:
        try:
            save(self._path, self._unsaved)
        except SetupError as error:
            logger.warning("settings not saved, reason=%s", error.message)
            self._set_trouble(str(error))
        else:
            self._unsaved.clear()
            self._set_trouble("")

    def _reload(self) -> None:
        before = self._values
        try:
            self._values = load(self._path)
        except EngineError as error:
            self._set_trouble(str(error))
            return
        self._set_trouble("")
        for name in self._values.names():
            if self._values[name] != before[name]:
                self._compare_with_service(name, before[name])
                self.changed.emit(name)

    def _set_trouble(self, sentence: str) -> None:
        if sentence != self.trouble:
            self.trouble = sentence
            self.trouble_changed.emit()
