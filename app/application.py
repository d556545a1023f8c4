"""Composition root of the desktop: the only place where history, service, bridge, stores and widgets meet."""

import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QTimer, Slot
from PySide6.QtWidgets import QApplication

from app.bridge import Bridge
from app.history import History
from app.service import Service
from app.single_instance import SingleInstance
from app.stores.attachments import AttachmentsStore
from app.stores.chat import ChatStore
from app.stores.diagnostics import DiagnosticsStore
from app.stores.downloads import DownloadsStore
from app.stores.forgetting import Forgetting
from app.stores.hinting import Hinting
from app.stores.hub import HubStore
from app.stores.kept import KeptStore
from app.stores.models import ModelsStore
from app.stores.network import NetworkStore
from app.stores.settings import SettingsStore
from app.theme import Theme
from app.translation import Translation
from app.unix_signals import SignalCloser
from app.widgets.chat.page import ChatPage
from app.widgets.keyboard_map import KeyboardMap
from app.widgets.library.page import ModelsPage
from app.widgets.main_window import MainWindow
from app.widgets.settings.page import SettingsPage
from app.widgets.start_error import ask_to_try_again
from engine import logs
from engine.config import VERSION
from engine.errors import EngineError
from engine.paths import Paths

if TYPE_CHECKING:
    from engine.client.client import Client

_GEOMETRY = "window"
_LAST_CONVERSATION = "conversation"
_UNDO_S = 300.0
"""What was deleted so long ago leaves the file when the window closes; nobody can undo it any more."""
_CLOSE_MS = 3000
"""So long a service may take to say whom it answers, when the user closes the window."""


class Desktop(QObject):
    """Everything that lives as long as the window."""

    def __init__(self, app: QApplication, paths: Paths) -> None:
        super().__init__()
        self.settings = SettingsStore(paths, self)
        self.theme = Theme(self)
        self.theme.set_mode(self.settings.theme)
        self.theme.apply(app)
        self.translation = Translation(self)
        self.translation.set_language(self.settings.language)
        self.history = History(paths.data / "history.sqlite3")
        self.bridge = Bridge(self)
        self.service = Service(paths, self)
        self._connected = False
        self._closed = False
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.setInterval(_CLOSE_MS)
        self._patience.timeout.connect(self._close_anyway)
        self.chat_store = ChatStore(self.history, self.bridge, self)
        self.models_store = ModelsStore(self.bridge, self)
        self.attachments = AttachmentsStore(self.history, self.chat_store, self)
        self.hinting = Hinting(self.history, self.chat_store, self.models_store, self.bridge, self)
        self.forgetting = Forgetting(self.history, self.chat_store, self.bridge, self)
        self.kept = KeptStore(self.bridge, self)
        self.hub = HubStore(self.bridge, self)
        self.downloads = DownloadsStore(self.bridge, self)
        self.network = NetworkStore(self.bridge, self.settings, self)
        self.diagnostics = DiagnosticsStore(
            self.bridge, VERSION, {"Data": paths.data, "Settings": paths.settings}, self
        )
        self._use_defaults()
        self.window = self._build_window()
        self.window.restore_geometry_text(self.history.value(_GEOMETRY))
        self._connect()
        last = self.history.value(_LAST_CONVERSATION)
        self.chat_store.open(int(last) if last.isdecimal() else None)

    def _build_window(self) -> MainWindow:
        """All widgets, in the language that is in force; the stores keep everything they show."""
        self.chat = ChatPage(self.chat_store, self.models_store, self.attachments)
        self.chat.composer.paused.connect(self.hinting.tell)
        window = MainWindow(
            self.chat,
            ModelsPage(self.models_store, self.settings, self.hub, self.downloads),
            SettingsPage(
                self.settings, self.diagnostics, self.kept, self.network, KeyboardMap.meanings
            ),
        )
        window.closing.connect(self._save)
        window.close_asked.connect(self._on_close_asked)
        window.settings.restart_wanted.connect(self._restart_service)
        window.models.restart_wanted.connect(self._restart_service)
        return window

    def _connect(self) -> None:
        # an answer may have loaded its model, and its end tells how full the context is
        self.chat_store.message_added.connect(self.models_store.notify)
        self.chat_store.message_changed.connect(self.models_store.notify)
        self.chat_store.status_changed.connect(self._follow_model)
        self.models_store.keeping.system_changed.connect(self._use_defaults)
        self.settings.changed.connect(self._on_setting)
        self.service.ready.connect(self._on_service_ready)
        self.service.lost.connect(self._on_service_lost)
        self.service.failed.connect(self._on_service_failed)
        self.service.noticed.connect(self._say)
        self.service.restarting.connect(self._on_service_restarting)

    def start(self) -> None:
        """Show the window first, then start what it talks to."""
        self.window.show()
        self.chat.composer.editor.setFocus()
        QTimer.singleShot(0, self._start_service)
        if self.history.notice:
            self.window.say(self.history.notice)

    @Slot()
    def _start_service(self) -> None:
        if not self._closed:  # the window may be closed in its first instant
            self.service.start()

    def close(self) -> None:
        """End in order: answers are saved, the service leaves, the thread ends."""
        self._closed = True
        self.models_store.finish_removal()
        self.models_store.keeping.save_now()
        self.downloads.finish_cancel()
        # before the translators: their end would have the pages built anew
        self.window.deleteLater()
        QCoreApplication.sendPostedEvents(self.window, QEvent.Type.DeferredDelete)
        self.chat_store.close()
        self.bridge.close()
        self.service.stop()
        with suppress(EngineError):  # a full disk: next time
            self.history.purge_deleted(_UNDO_S)
        self.history.close()

    @Slot(str, str)
    def _on_service_ready(self, url: str, key: str) -> None:
        self._connected = True
        self.settings.service_started()
        self.bridge.connect_to(url, key)
        self.forgetting.tell()
        self.downloads.refresh()
        self.models_store.notify()
        self.models_store.refresh_details()  # a service with other settings plans otherwise
        self.models_store.keeping.follow(self.chat_store.model, again=True)

    @Slot()
    def _on_service_lost(self) -> None:
        self._connected = False
        self.bridge.disconnect_client()
        self.models_store.notify()

    @Slot(str)
    def _on_service_failed(self, sentence: str) -> None:
        self.models_store.notify()
        self.window.say_with_action(sentence, self.tr("Try again"), self.service.start)

    @Slot()
    def _restart_service(self) -> None:
        self.bridge.disconnect_client()
        self.service.restart()

    @Slot(str)
    def _on_setting(self, name: str) -> None:
        if name == "desktop.theme":
            self.theme.set_mode(self.settings.theme)
        elif name == "desktop.language":
            self._change_language()
        else:
            self._use_defaults()

    def _change_language(self) -> None:
        """A new window in the new language takes the old one's place."""
        old = self.window
        self.chat.save_draft()
        self.translation.set_language(self.settings.language)
        self.window = self._build_window()
        self.window.setGeometry(old.geometry())
        self.window.show_page(old.pages.currentIndex())
        self.window.show()
        old.closing.disconnect(self._save)
        old.close_now()
        old.deleteLater()

    @Slot(str)
    def _say(self, sentence: str) -> None:
        self.window.say(sentence)

    @Slot(int)
    def _on_service_restarting(self, attempt: int) -> None:
        self.window.say(
            self.tr("The service ended and is started again (attempt {0}).").format(attempt)
        )

    @Slot()
    def _follow_model(self) -> None:
        self.models_store.keeping.follow(self.chat_store.model)

    @Slot()
    def _use_defaults(self) -> None:
        """The window's own defaults: the service knows the others from the same file, and of the model."""
        desktop = self.settings.values.desktop
        system = self.models_store.keeping.system
        wanted: dict[str, Any] = {"max_tokens": desktop.max_tokens, "system": system}
        self.chat_store.defaults = {name: value for name, value in wanted.items() if value}
        self.hinting.enabled = desktop.read_along

    @Slot()
    def _on_close_asked(self) -> None:
        """Others may use the service that would end with this window, or it downloads: ask before it does."""
        if self._connected and self.service.can_keep:
            self._patience.start()
            self.bridge.call(_activity, self._on_activity, self._close_anyway)
        else:
            self.window.close_now()

    def _on_activity(self, running: tuple[int, int]) -> None:
        self._patience.stop()
        if self._closed:
            return
        answers, downloads = running
        others = max(0, answers - self.chat_store.num_writing)
        if others or downloads:
            self.window.ask_to_keep(others, downloads, self._keep_and_close)
        else:
            self.window.close_now()

    @Slot()
    def _close_anyway(self, _error: EngineError | None = None) -> None:
        """A service that does not answer cannot be busy with others."""
        self._patience.stop()
        if not self._closed:
            self.window.close_now()

    def _keep_and_close(self) -> None:
        self.service.keep()
        self.window.close_now()

    @Slot()
    def _save(self) -> None:
        self.chat.save_draft()
        self.history.set_value(_GEOMETRY, self.window.geometry_text())


async def _activity(client: "Client") -> tuple[int, int]:
    """Answers for all clients, and downloads, that the end of the service would cut off."""
    return await client.activity(), await client.num_downloading()


def run(data_dir: str | None = None) -> int:
    """Run the desktop until its window closes; returns the exit code."""
    logs.setup()
    paths = Paths.find(data_dir)
    app = QApplication(sys.argv[:1])
    app.setApplicationName("Inglenook")
    app.setDesktopFileName("inglenook")
    instance = SingleInstance(str(paths.data))
    if not instance.is_first:
        return 0
    desktop = open_desktop(app, paths)
    if desktop is None:
        return 1
    instance.activated.connect(partial(_bring_to_front, desktop.window))
    signals = SignalCloser(lambda: desktop.window.close_now())
    desktop.start()
    code = app.exec()
    desktop.close()
    signals.stop()
    instance.close()
    return code


def open_desktop(app: QApplication, paths: Paths) -> Desktop | None:
    """Build it, as often as the user wants to try; None where they gave up."""
    while True:
        try:
            return Desktop(app, paths)
        except EngineError as error:
            sys.stderr.write(f"{error}\n")
            if not ask_to_try_again(error):
                return None


def _bring_to_front(window: MainWindow) -> None:
    window.showNormal() if window.isMinimized() else window.show()
    window.raise_()
    window.activateWindow()
