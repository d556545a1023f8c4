"""The whole desktop with a real service and a hub on loopback: find, download, use; and closing while it downloads."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QLabel,
    QLineEdit,
    QListView,
    QMessageBox,
    QTabBar,
    QTableView,
)

from app.application import Desktop
from engine.client import discovery
from engine.paths import Paths
from tests.helpers.mock_hub import MockFile, MockHub, MockRepo
from tests.helpers.tiny_llama import write_tiny_llama

pytestmark = pytest.mark.gui
REPO = "maker/heron-GGUF"
WAIT_MS = 20_000


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[MockHub]:
    model = write_tiny_llama(tmp_path / "remote.gguf", n_ctx=1024).read_bytes()
    files = {"heron-Q8_0.gguf": MockFile(model), "heron-F16.gguf": MockFile(size=64 << 20, seed=3)}
    with MockHub({REPO: MockRepo(files, readme="# Heron\n\nIt **wades**.")}) as served:
        yield served


@pytest.fixture
def desktop(hub: MockHub, tmp_path: Path, qtbot) -> Iterator[Desktop]:
    (tmp_path / "models").mkdir()
    write_tiny_llama(tmp_path / "models" / "tiny.gguf", n_ctx=512)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "settings.toml").write_text(
        f'[server]\nport = 0\n[models]\nthreads = 1\n[network]\nendpoint = "{hub.url}"\n'
        f'hub_folder = "{(tmp_path / "hub").as_posix()}"\n'
    )
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    desktop = Desktop(app, Paths.find(tmp_path))
    desktop.start()
    qtbot.waitUntil(lambda: bool(desktop.models_store.models), timeout=15000)
    yield desktop
    if not desktop._closed:
        desktop.window.close_now()
        desktop.close()


def child(desktop: Desktop, kind: type, name: str):
    found = [w for w in desktop.window.findChildren(kind, name) if w.isVisible()]
    assert found, name
    return found[0]


def open_card(desktop: Desktop, qtbot) -> QTableView:
    desktop.window.show_page(1)
    child(desktop, QTabBar, "models-ways").setCurrentIndex(1)
    qtbot.keyClicks(child(desktop, QLineEdit, "hub-search"), "heron")
    results = child(desktop, QListView, "hub-results")
    qtbot.waitUntil(lambda: desktop.hub.search.text == "heron", timeout=WAIT_MS)
    qtbot.waitUntil(lambda: results.model().rowCount() == 1, timeout=WAIT_MS)
    results.setCurrentIndex(results.model().index(0, 0))
    qtbot.waitUntil(lambda: desktop.hub.card.card is not None, timeout=WAIT_MS)
    return child(desktop, QTableView, "hub-choices")


def words(desktop: Desktop) -> str:
    return "\n".join(x.text() for x in desktop.window.findChildren(QLabel) if x.isVisible())


def download(desktop: Desktop, name: str) -> None:
    table = child(desktop, QTableView, "hub-choices")
    names = [table.model().index(row, 0).data() for row in range(table.model().rowCount())]
    child(desktop, QAbstractButton, f"download-{names.index(name)}").click()


def test_from_a_search_to_a_model_that_is_loaded(desktop: Desktop, qtbot) -> None:
    open_card(desktop, qtbot)
    assert "From its page" in words(desktop)
    download(desktop, "Q8_0")
    with qtbot.waitSignal(desktop.downloads.arrived, timeout=WAIT_MS) as arrived:
        pass
    model = arrived.args[0]
    qtbot.waitUntil(lambda: desktop.models_store.get(model) is not None, timeout=WAIT_MS)
    assert desktop.window.toast.isVisible()
    desktop.window.toast._act()
    assert desktop.models_store.selected == model
    desktop.models_store.load(model)
    qtbot.waitUntil(
        lambda: (info := desktop.models_store.get(model)) and info.state == "ready",
        timeout=WAIT_MS,
    )


def test_closing_while_it_downloads_finishes_in_the_background(
    desktop: Desktop, hub: MockHub, tmp_path: Path, qtbot
) -> None:
    hub.fault("throttle", "heron-F16.gguf", times=1000, bytes_per_s=4 << 20)
    open_card(desktop, qtbot)
    download(desktop, "F16")
    qtbot.waitUntil(
        lambda: any(info.done_bytes > 1 << 20 for info in desktop.downloads.downloads),
        timeout=WAIT_MS,
    )
    assert "maker/heron-F16.gguf" in words(desktop)
    desktop.window.close()
    box: list[QMessageBox] = []
    qtbot.waitUntil(
        lambda: bool(box.extend(desktop.window.findChildren(QMessageBox, "keep_service")) or box),
        timeout=WAIT_MS,
    )
    pid = desktop.service.pid
    assert pid is not None
    keep = next(b for b in box[0].buttons() if "background" in b.text())
    qtbot.mouseClick(keep, Qt.MouseButton.LeftButton)
    assert not desktop.window.isVisible()
    desktop.close()
    try:
        assert psutil.pid_exists(pid)
        found = discovery.read(Paths.find(tmp_path))
        assert found is not None
        assert found.pid == pid
    finally:
        os.kill(pid, signal.SIGTERM)
        psutil.Process(pid).wait(15)


def test_offline_is_at_once(desktop: Desktop, hub: MockHub, qtbot) -> None:
    desktop.settings.set("network.offline", value=True)
    qtbot.waitUntil(
        lambda: desktop.network.access is not None and desktop.network.access.offline,
        timeout=WAIT_MS,
    )
    asked = len(hub.log)
    desktop.window.show_page(1)
    child(desktop, QTabBar, "models-ways").setCurrentIndex(1)
    qtbot.waitUntil(lambda: desktop.hub.search.answered, timeout=WAIT_MS)
    assert desktop.hub.search.offline
    assert "The hub was not asked" in words(desktop)
    assert len(hub.log) == asked
