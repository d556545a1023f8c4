"""The window as a process: it ends in order on a signal, hands over to a running one, needs a display."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.helpers.service_process import ROOT

pytestmark = pytest.mark.gui


def start(folder: Path, **environment: str) -> subprocess.Popen[str]:
    env = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    env.pop("QT_QPA_PLATFORM", None)
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "app", "--data-dir", str(folder)],
        cwd=ROOT,
        env={**env, "PYTHONPATH": str(ROOT), **environment},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_service(process: subprocess.Popen[str], folder: Path) -> psutil.Process:
    """The window's service, once it has written its runtime file."""
    for _ in range(400):
        children = psutil.Process(process.pid).children()
        if children and (folder / "service.json").exists():
            return children[0]
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
        raise AssertionError(process.communicate()[1])
    raise AssertionError("no service")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_closes_in_order(tmp_path: Path, number: signal.Signals) -> None:
    process = start(tmp_path, QT_QPA_PLATFORM="offscreen")
    service = wait_for_service(process, tmp_path)
    process.send_signal(number)
    assert process.wait(timeout=10) == 0
    _, log = process.communicate()
    assert "QThread" not in log
    assert "Traceback" not in log
    service.wait(timeout=10)
    assert not (tmp_path / "service.json").exists()


def test_a_second_start_hands_over(tmp_path: Path) -> None:
    first = start(tmp_path, QT_QPA_PLATFORM="offscreen")
    wait_for_service(first, tmp_path)
    second = start(tmp_path, QT_QPA_PLATFORM="offscreen")
    assert second.wait(timeout=10) == 0
    second.communicate()
    assert first.poll() is None
    first.terminate()
    assert first.wait(timeout=10) == 0
    first.communicate()


def test_a_killed_window_takes_its_service_along_and_the_next_start_works(tmp_path: Path) -> None:
    process = start(tmp_path, QT_QPA_PLATFORM="offscreen")
    service = wait_for_service(process, tmp_path)
    process.kill()
    process.communicate()
    service.wait(timeout=10)
    again = start(tmp_path, QT_QPA_PLATFORM="offscreen")
    wait_for_service(again, tmp_path)
    again.terminate()
    assert again.wait(timeout=10) == 0
    again.communicate()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems always have a display")
def test_without_a_display_one_line_says_what_to_run(tmp_path: Path) -> None:
    process = start(tmp_path)
    _, log = process.communicate(timeout=20)
    assert process.returncode == 2
    assert log.count("\n") == 1
    assert "inglenook chat" in log
