"""Does the window stay smooth while a model is downloaded as fast as the machine can?

The whole app (window, service, hub on loopback, each a process of its own) with the download's row and card on screen. A timer of
one frame (16 ms) tells how late the window's thread is; every third beat a key is typed into the search field and painted. The same
is measured before the download begins. Yardstick: no gap over 100 ms, 99 % of keys on screen within a frame. Offscreen.
`python -m benchmarks.download_window [--gigabytes N]`; one JSON line on stdout.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.harness import report
from engine.api.hub import DownloadRequest
from tests.helpers.tiny_llama import write_tiny_llama

if TYPE_CHECKING:
    from PySide6.QtCore import QObject

    from app.application import Desktop

REPO: Final = "maker/heron-GGUF"
_FRAME_S: Final = 0.016
_WAIT_S: Final = 60.0
_QUIET_S: Final = 10.0
_MOST_S: Final = 300.0
_HUB: Final = """
import sys
from tests.helpers.mock_hub import MockFile, MockHub, MockRepo
file = MockFile(size=int(sys.argv[1]), seed=3)
file.sha256
with MockHub({sys.argv[2]: MockRepo({"heron-F16.gguf": file}, readme="# Heron")}) as hub:
    print(hub.url, flush=True)
    sys.stdin.read()
"""


def main() -> None:
    """Run and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=4)
    args = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    size = int(args.gigabytes * 1e9)
    command = [sys.executable, "-c", _HUB, str(size), REPO]
    hub = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert hub.stdout is not None
        with tempfile.TemporaryDirectory() as folder:
            _run(hub.stdout.readline().strip(), Path(folder), size)
    finally:
        hub.communicate("", timeout=_WAIT_S)


def _run(url: str, folder: Path, size: int) -> None:
    from PySide6.QtWidgets import QApplication

    from app.application import Desktop
    from engine.paths import Paths

    (folder / "models").mkdir()
    write_tiny_llama(folder / "models" / "tiny.gguf", n_ctx=512)
    (folder / "config").mkdir()
    (folder / "config" / "settings.toml").write_text(
        f'[server]\nport = 0\n[network]\nendpoint = "{url}"\nhub_folder = "{folder / "hub"}"\n'
    )
    app = QApplication([])
    desktop = Desktop(app, Paths.find(folder))
    desktop.start()
    _until(app, lambda: bool(desktop.models_store.models))
    try:
        _open_card(app, desktop)
        before = _beats(desktop, until=_after(_QUIET_S))
        began = time.perf_counter()
        desktop.downloads.start(DownloadRequest(REPO, "F16"))
        ended = _after(_MOST_S)
        during = _beats(desktop, until=lambda: _ended(desktop) or ended())
        seconds = time.perf_counter() - began
        if not _ended(desktop):
            sys.exit("The download did not end; nothing was measured.")
        report(
            "download_window",
            mb_per_s=round(size / seconds / 1e6, 1),
            before=before,
            while_downloading=during,
        )
    finally:
        desktop.window.close_now()
        desktop.close()


def _ended(desktop: "Desktop") -> bool:
    return any(info.state in ("done", "failed") for info in desktop.downloads.downloads)


def _open_card(app: "QObject", desktop: "Desktop") -> None:
    from PySide6.QtWidgets import QListView, QTabBar

    desktop.window.show_page(1)
    _child(desktop, QTabBar, "models-ways").setCurrentIndex(1)
    results = _child(desktop, QListView, "hub-results")
    _until(app, lambda: results.model() and results.model().rowCount() >= 1)
    results.setCurrentIndex(results.model().index(0, 0))
    _until(app, lambda: desktop.hub.card.card is not None)


def _child(desktop: "Desktop", kind: type, name: str):  # noqa: ANN202 -- of the kind asked for
    return next(w for w in desktop.window.findChildren(kind, name) if w.isVisible())


def _after(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end


def _until(app: "QObject", true: Callable[[], object]) -> None:
    from PySide6.QtWidgets import QApplication

    assert isinstance(app, QApplication)
    late = _after(_WAIT_S)
    while not true():
        if late():
            sys.exit("The window did not get ready; nothing was measured.")
        app.processEvents()
        time.sleep(0.002)


def _beats(desktop: "Desktop", until: Callable[[], bool]) -> dict[str, float]:
    """Milliseconds between beats of a timer of one frame, and from a key to its painting."""
    from PySide6.QtCore import QEventLoop, Qt, QTimer
    from PySide6.QtWidgets import QLineEdit

    field = _child(desktop, QLineEdit, "hub-search")
    field.blockSignals(True)  # no search: only the window is looked at
    gaps: list[float] = []
    keys: list[float] = []
    last = time.perf_counter()
    loop, timer = QEventLoop(), QTimer(timerType=Qt.TimerType.PreciseTimer)

    def beat() -> None:
        nonlocal last
        now = time.perf_counter()
        gaps.append((now - last) * 1e3)
        last = now
        if len(gaps) % 3 == 0:
            field.insert("x")
            field.repaint()
            keys.append((time.perf_counter() - now) * 1e3)
        if until():
            loop.quit()

    timer.timeout.connect(beat)
    timer.start(int(_FRAME_S * 1e3))
    loop.exec()
    timer.stop()
    field.clear()
    field.blockSignals(False)
    gaps.sort()
    keys.sort()
    return {
        "beats": len(gaps),
        "gap_p50_ms": round(gaps[len(gaps) // 2], 1),
        "gap_p99_ms": round(gaps[int(len(gaps) * 0.99)], 1),
        "gap_max_ms": round(gaps[-1], 1),
        "key_p99_ms": round(keys[int(len(keys) * 0.99)], 1),
        "key_max_ms": round(keys[-1], 1),
    }


if __name__ == "__main__":
    main()
