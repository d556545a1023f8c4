"""What does it cost to paste a megabyte, to type one more key, and to send it? Yardstick: 300 ms (case C39).

`python -m benchmarks.paste`: a real composer, history and store over a bridge that answers nothing. For each kind of text
the longest of several runs, in milliseconds of the GUI thread.
"""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QEvent, QMimeData, QObject, Qt, Signal
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.history import History
from app.stores.attachments import AttachmentsStore
from app.stores.chat import ChatStore
from app.widgets.chat.attaching import Attaching
from app.widgets.chat.composer import Composer
from benchmarks.harness import report
from engine.api.requests import ChatRequest

RUNS = 5
TEXTS = {
    "one_line": "word " * 200_000,
    "lines": "word word word word word word word word word\n" * 22_000,
    "no_space": "x" * 1_000_000,
    "emoji": "\U0001f600" * 100_000,
    "right_to_left": "\u05e9\u05dc\u05d5\u05dd " * 200_000,
    "backticks": "`" * 1_000_000,
    "brackets": "[" * 1_000_000,
    "stars": "*" * 1_000_000,
    "tags": "<" * 1_000_000,
}


class Silent(QObject):
    """Streams that never answer."""

    event = Signal(int, object)  # type: ignore[assignment] # Qt still finds its own QObject.event
    finished = Signal(int, object)

    def stream(self, request: ChatRequest) -> int:
        """Take a request."""
        del request
        return 1

    def cancel(self, stream: int) -> None:
        """Nothing runs."""


def timed(action: Callable[[], object]) -> float:
    """Milliseconds until the window can do something else."""
    started = time.perf_counter()
    action()
    QApplication.processEvents()
    return (time.perf_counter() - started) * 1000


def measure(folder: Path, text: str) -> dict[str, float]:
    """Paste, key, send: the longest of the runs."""
    history = History(folder / "history.sqlite3")
    chat = ChatStore(history, Silent())
    composer = Composer()
    attachments = AttachmentsStore(history, chat)
    Attaching(attachments, composer, lambda: chat.set_draft(composer.text), composer)
    composer.submitted.connect(chat.send)
    composer.show()
    data = QMimeData()
    data.setText(text)
    longest = dict.fromkeys(("paste_ms", "key_ms", "send_ms"), 0.0)
    for _ in range(RUNS):
        chat.open(None)
        steps: dict[str, Callable[[], object]] = {
            "paste_ms": lambda: composer.editor.insertFromMimeData(data),
            "key_ms": lambda: QTest.keyClick(composer.editor, Qt.Key.Key_X),
            "send_ms": lambda: QTest.keyClick(composer.editor, Qt.Key.Key_Return),
        }
        for name, step in steps.items():
            longest[name] = round(max(longest[name], timed(step)), 1)
        chat.stop()
        composer.set_text("")
    composer.close()
    composer.deleteLater()
    QApplication.sendPostedEvents(composer, QEvent.Type.DeferredDelete.value)
    chat.close()
    history.close()
    return longest


def main() -> None:
    """Measure all kinds of text."""
    app = QApplication([])
    figures: dict[str, object] = {}
    for name, text in TEXTS.items():
        with tempfile.TemporaryDirectory() as folder:
            figures[name] = measure(Path(folder), text)
    app.processEvents()
    report("paste", **figures)


if __name__ == "__main__":
    main()
