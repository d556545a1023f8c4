"""The network settings, and the question when the window closes while something is downloaded."""

import pytest
from PySide6.QtWidgets import (
    QAbstractButton,
    QCheckBox,
    QDoubleSpinBox,
    QLabel,
    QLineEdit,
    QMessageBox,
    QTableView,
    QWidget,
)

from app.preferences import load
from app.stores.network import NetworkStore
from app.stores.settings import SettingsStore
from app.widgets.settings.network import NetworkSection
from engine.api.hub import Access, ConnectionList, DownloadList
from engine.errors import SetupError
from engine.paths import Paths
from tests.gui.test_chat_page import Desk, desk, dressed
from tests.gui.test_keyboard_only import assert_all_reached
from tests.helpers import hub_values as hub
from tests.helpers.fake_bridge import FakeBridge

pytestmark = [
    pytest.mark.gui,
    pytest.mark.qt_log_ignore("This plugin does not support"),  # the offscreen platform
]
__all__ = ["desk", "dressed"]


@pytest.fixture
def paths(tmp_path) -> Paths:
    return Paths.find(tmp_path)


@pytest.fixture
def bridge(qapp) -> FakeBridge:
    return FakeBridge(
        access=hub.ACCESS,
        connections=ConnectionList(hub.CONNECTIONS),
        set_token=lambda token: Access(
            endpoint="https://hub.example", offline=False, token="app" if token else "none"
        ),
        set_offline=lambda on: Access(endpoint="https://hub.example", offline=on),
        set_limit=lambda limit: DownloadList([], limit),
    )


@pytest.fixture
def section(bridge, paths, qtbot) -> NetworkSection:
    store = SettingsStore(paths)
    section = NetworkSection(store, NetworkStore(bridge, store))
    qtbot.addWidget(section)
    section.resize(760, 900)
    with qtbot.waitExposed(section):
        section.show()
    bridge.run()
    return section


def find(page: QWidget, kind: type, name: str):
    found = page.findChild(kind, name)
    assert found is not None, name
    return found


def words(page: QWidget) -> str:
    return "\n".join(x.text() for x in page.findChildren(QLabel) if x.isVisible())


def test_how_it_stands_is_asked_when_somebody_looks(section, bridge) -> None:
    shown = words(section)
    assert "Set, in this app. It is ada's." in shown
    assert "Off: the hub is reached when you search or download" in shown
    assert find(section, QLineEdit, "settings-hub").placeholderText() == "https://hub.example"
    ledger = find(section, QTableView, "settings-ledger")
    assert ledger.model().rowCount() == 3


def test_the_offline_switch(section, bridge, paths) -> None:
    find(section, QCheckBox, "settings-offline").click()
    bridge.run()
    assert ("set_offline", True) in bridge.calls
    assert load(paths.settings)["network.offline"] is True
    assert "On: nothing here connects" in words(section)


def test_the_token_is_never_shown_again(section, bridge, qtbot) -> None:
    field = find(section, QLineEdit, "settings-token")
    keep = find(section, QAbstractButton, "settings-token-keep")
    assert field.echoMode() is QLineEdit.EchoMode.Password
    assert not keep.isEnabled()
    qtbot.keyClicks(field, " hf_secret ")
    keep.click()
    assert field.text() == ""
    bridge.run()
    assert ("set_token", "hf_secret") in bridge.calls
    assert "hf_secret" not in words(section)
    forget = find(section, QAbstractButton, "settings-token-forget")
    forget.click()
    bridge.run()
    assert bridge.calls[-1] == ("set_token", "")
    assert "None. It is needed only" in words(section)
    assert not forget.isVisible()


def test_a_token_that_the_hub_refuses_is_said(section, bridge, qtbot) -> None:
    bridge.answers["set_token"] = Access(
        endpoint="https://hub.example", offline=False, token="app", token_refused=True
    )
    qtbot.keyClicks(find(section, QLineEdit, "settings-token"), "hf_old")
    find(section, QAbstractButton, "settings-token-keep").click()
    bridge.run()
    assert "Set, in this app. The hub does not accept it" in words(section)


def test_a_token_that_cannot_be_kept_is_said(section, bridge) -> None:
    bridge.answers["set_token"] = SetupError("The token could not be saved.", hint="Try again.")
    find(section, QLineEdit, "settings-token").setText("hf_x")
    find(section, QAbstractButton, "settings-token-keep").click()
    bridge.run()
    assert "The token could not be saved. Try again." in words(section)
    find(section, QAbstractButton, "error_action").click()
    bridge.run()
    assert "could not be saved" not in words(section)


@pytest.mark.parametrize(
    ("name", "setting", "good", "bad"),
    [
        ("settings-hub", "network.endpoint", "https://mirror.example/hf", "mirror"),
        ("settings-proxy", "network.proxy", "socks5h://localhost:1080", "localhost:1080"),
    ],
)
def test_an_address_is_saved_if_it_is_one(section, paths, qtbot, name, setting, good, bad) -> None:
    field = find(section, QLineEdit, name)
    field.setText(bad)
    field.editingFinished.emit()
    assert field.property("invalid")
    assert not paths.settings.exists()
    field.setText(f" {good} ")
    field.editingFinished.emit()
    assert not field.property("invalid")
    assert load(paths.settings)[setting] == good
    field.setText("")
    field.editingFinished.emit()
    assert load(paths.settings)[setting] == ""


def test_a_password_in_the_proxy_is_hidden(section) -> None:
    field = find(section, QLineEdit, "settings-proxy")
    field.setText("http://ada:secret@proxy:3128")
    field.editingFinished.emit()
    assert field.echoMode() is QLineEdit.EchoMode.PasswordEchoOnEdit


def test_limit_and_folder(section, bridge, paths, tmp_path) -> None:
    limit = find(section, QDoubleSpinBox, "settings-download-limit")
    assert limit.text() == "None"
    limit.setValue(1.5)
    bridge.run()
    assert ("set_limit", 1536 * 1024) in bridge.calls
    find(section, QAbstractButton, "settings-hub-folder-choose").click()
    dialog = find(section, QWidget, "settings-hub-folder-dialog")
    dialog.fileSelected.emit(str(tmp_path))
    dialog.close()
    assert load(paths.settings)["network.hub_folder"] == str(tmp_path)
    find(section, QAbstractButton, "settings-hub-folder-default").click()
    assert load(paths.settings)["network.hub_folder"] == ""


def test_tab_comes_to_everything_while_models_are_found(desk: Desk) -> None:
    downloads = [hub.download("a"), hub.download("b", "done", model="first")]
    desk.bridge.answers |= {
        "search": hub.page(),
        "card": hub.card(model=hub.model(gated=True), readme="[a](https://a.example)"),
        "fit": hub.fit(exact=True),
        "downloads": DownloadList(downloads),
    }
    desk.window.show_page(1)
    desk.window.models.show_hub(True)
    desk.hub.card.open("heron-lab/Heron-7B-Instruct-GGUF")
    desk.bridge.run()
    desk.window.models.focus_search()
    assert_all_reached(desk)


@pytest.mark.parametrize(
    ("answers", "downloads", "expected", "button"),
    [
        (0, 2, "Models are being downloaded (2", "Finish in the background"),
        (1, 0, "Other programs are being answered (1", "Keep running"),
        (1, 1, "Models are being downloaded (1", "Keep running"),
    ],
)
def test_closing_asks_what_becomes_of_it(
    desk: Desk, qtbot, answers, downloads, expected, button
) -> None:
    kept = []
    desk.window.ask_to_keep(answers, downloads, lambda: kept.append(True))
    box = find(desk.window, QMessageBox, "keep_service")
    assert expected in box.text()
    next(b for b in box.buttons() if b.text().replace("&", "") == button).click()
    assert kept == [True]
    assert desk.window.isVisible()
    desk.window.ask_to_keep(answers, downloads, lambda: kept.append(True))
    box = desk.window.findChildren(QMessageBox, "keep_service")[-1]
    no = next(b for b in box.buttons() if box.buttonRole(b) is box.ButtonRole.DestructiveRole)
    no.click()
    assert not desk.window.isVisible()
    assert kept == [True]
