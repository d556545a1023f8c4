"""How soon the window can be used, what it weighs, and what it costs when nobody touches it.

Targets: process start to an interactive window < 1.0 s with a warm disk cache, window process < 150 MB,
idle < 1 % of a core. Yardstick: `python -c "import PySide6.QtWidgets"` in the same interleaved run.
`python -m benchmarks.window [--rounds N] [--idle-seconds N]`; offscreen, so no compositor is measured.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

import psutil

from benchmarks.harness import paired, report, rounded

_WINDOW = """
import sys
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from app.application import Desktop
from engine.paths import Paths
app = QApplication([])
desktop = Desktop(app, Paths.find(sys.argv[1]))
desktop.start()
def ready():
    print("ready", flush=True)
    QTimer.singleShot(int(float(sys.argv[2]) * 1000), desktop.window.close_now)
desktop.chat.composer.editor.setFocus()
QTimer.singleShot(0, ready)
app.exec()
desktop.close()
"""
_QT_ONLY = "import PySide6.QtWidgets; print('ready', flush=True)"


def main() -> None:
    """Run and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--idle-seconds", type=float, default=20)
    args = parser.parse_args()
    results = paired(
        {"window": lambda: _start(_WINDOW, idle=0.0), "qt": lambda: _start(_QT_ONLY, idle=0.0)},
        pairs=args.rounds,
    )
    idle = _start(_WINDOW, idle=args.idle_seconds)
    report(
        "window",
        to_window_s=rounded([r["seconds"] for r in results["window"]]),
        qt_import_s=rounded([r["seconds"] for r in results["qt"]]),
        resident_mb=round(idle["resident_mb"], 1),
        idle_cpu_percent=round(idle["cpu_percent"], 3),
        idle_wakeups_per_s=round(idle["wakeups_per_s"], 1),
    )


def _start(code: str, *, idle: float) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-c", code, folder, str(idle + 3 if idle else 0)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": "."},
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        figures = {"seconds": time.perf_counter() - started}
        if idle:
            time.sleep(2)  # the service has come up by then
            child = psutil.Process(process.pid)
            before, switches = child.cpu_times(), child.num_ctx_switches().voluntary
            time.sleep(idle)
            after = child.cpu_times()
            used = after.user + after.system - before.user - before.system
            figures["cpu_percent"] = 100 * used / idle
            figures["wakeups_per_s"] = (child.num_ctx_switches().voluntary - switches) / idle
            figures["resident_mb"] = child.memory_info().rss / (1 << 20)
        process.wait(timeout=60)
        process.stdout.close()
        return figures


if __name__ == "__main__":
    main()
