"""The real desktop, typing, sending and receiving without end, and telling on stdout what its user has seen.

Run as `python -m tests.helpers.busy_window DATA_FOLDER`, to be killed at any moment.
Each line is JSON: `[monotonic seconds, event, ...]`, and is out before the next event is handled.
"""

import json
import os
import sys
import time
from itertools import count

import psutil
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.application import Desktop
from app.history import StoredMessage
from engine.paths import Paths

_TICK_MS = 25
_WORDS = 12
_MESSAGES = 4


def tell(event: str, *values: object) -> None:
    os.write(1, (json.dumps([time.monotonic(), event, *values]) + "\n").encode())


class BusyUser:
    """Types a word at each tick, sends after some words, and begins a new chat after some messages."""

    def __init__(self, desktop: Desktop) -> None:
        self._desktop = desktop
        self._words = count()
        self._service = 0
        desktop.chat_store.message_added.connect(self._added)
        desktop.chat_store.streamed.connect(
            lambda message, text, _: tell("received", message, text)
        )

    def tick(self) -> None:
        desktop, editor = self._desktop, self._desktop.chat.composer.editor
        if desktop.service.pid and desktop.service.pid != self._service and desktop._connected:
            self._service = desktop.service.pid
            tell("service", self._service)
        number = next(self._words)
        if number % _WORDS:
            QTest.keyClicks(editor, f"{os.getpid()}-{number} ")
            tell("typed", desktop.chat.composer.text)
        elif not desktop.chat_store.busy:
            if len(desktop.chat_store.messages()) < _MESSAGES:
                QTest.keyClick(editor, Qt.Key.Key_Return)
            else:
                desktop.chat.new_chat()  # the draft stays in the old one

    def _added(self, message: StoredMessage) -> None:
        if message.role == "user":
            tell("sent", message.id, message.content)


def main() -> None:
    """Never returns by itself, but ends with the process that started it."""
    app = QApplication([])
    desktop = Desktop(app, Paths.find(sys.argv[1]))
    desktop.chat_store.defaults = {"ignore_eos": True, "max_tokens": 1500}
    desktop.start()
    user = BusyUser(desktop)
    parent = psutil.Process().ppid()

    def tick() -> None:
        if psutil.Process().ppid() != parent:
            os._exit(1)
        user.tick()

    timer = QTimer()
    timer.timeout.connect(tick)
    timer.start(_TICK_MS)
    app.exec()


if __name__ == "__main__":
    main()
