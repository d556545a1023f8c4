import os
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QWheelEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QLabel,
    QLineEdit,
    QListWidget,
    QPlainTextEdit,
    QWidget,
)

from app.preferences import Preferences, load
from app.stores.diagnostics import DiagnosticsStore
from app.stores.kept import KeptStore
from app.stores.network import NetworkStore
from app.stores.settings import SettingsStore
from app.widgets.settings.page import SettingsPage
from engine.api.kept import KeptOnDisk
from engine.errors import EngineError, InvalidRequest, ServiceUnavailable
from engine.paths import Paths
from tests.helpers.fake_bridge import FakeBridge
from tests.helpers.library_values import HARDWARE

pytestmark = [
    pytest.mark.gui,
    pytest.mark.qt_log_ignore("This plugin does not support"),  # the offscreen platform
]


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths.find(tmp_path)


@pytest.fixture
def store(qapp, paths) -> SettingsStore:
    return SettingsStore(paths)


# --- the store ----------------------------------------------------------------------------------------


def test_a_change_is_announced_and_saved_at_once(store, paths, qtbot) -> None:
    with qtbot.waitSignal(store.changed) as changed:
        store.set("desktop.theme", "dark")
    assert changed.args == ["desktop.theme"]
    assert store.theme == "dark"
    assert load(paths.settings)["desktop.theme"] == "dark"
    with qtbot.assertNotEmitted(store.changed):
        store.set("desktop.theme", "dark")


def test_an_impossible_value_changes_nothing(store, paths) -> None:
    with pytest.raises(InvalidRequest):
        store.set("server.port", 70_000)
    assert store.values == Preferences()
    assert not paths.settings.exists()


def test_only_what_the_service_reads_asks_for_its_restart(store, qtbot) -> None:
    store.set("desktop.theme", "dark")
    assert not store.restart_needed
    with qtbot.waitSignal(store.restart_needed_changed):
        store.set("models.threads", 2)
    assert store.restart_needed
    with qtbot.waitSignal(store.restart_needed_changed):
        store.set("models.threads", 0)
    assert not store.restart_needed
    store.set("models.threads", 3)
    store.service_started()
    assert not store.restart_needed


def test_a_damaged_file_is_told_kept_and_nothing_is_lost(qapp, paths, qtbot) -> None:
    paths.config.mkdir()
    paths.settings.write_text("= =")
    store = SettingsStore(paths)
    assert "settings.toml cannot be read" in store.trouble
    store.set("models.threads", 2)
    assert store.values["models.threads"] == 2
    assert paths.settings.read_text() == "= ="
    paths.settings.write_text('[desktop]\ntheme = "dark"\n')
    with qtbot.waitSignals([store.changed, store.trouble_changed]):
        store.retry()
    assert store.trouble == ""
    assert (store.theme, store.values["models.threads"]) == ("dark", 2)
    assert load(paths.settings)["models.threads"] == 2


@pytest.mark.skipif(os.name != "posix", reason="a file where the folder should be")
def test_a_place_that_cannot_be_written_is_told_and_tried_again(store, paths) -> None:
    paths.config.write_text("")
    store.set("models.threads", 2)
    assert "could not be saved" in store.trouble
    assert store.values["models.threads"] == 2
    paths.config.unlink()
    store.set("models.context", 4096)
    assert store.trouble == ""
    assert load(paths.settings)["models.threads"] == 2


def test_sharing_needs_a_key(store) -> None:
    store.share(True)
    key = store.values["server.api_key"]
    assert len(key) >= 32
    assert store.shared
    store.new_key()
    assert store.values["server.api_key"] not in ("", key)
    store.share(False)
    assert not store.shared


# --- the page -------------------------------------------------------------------------------------------


@pytest.fixture
def bridge() -> FakeBridge:
    kept = KeptOnDisk(1_300_000_000, 41, "/cache/conversations")
    return FakeBridge(hardware=HARDWARE, version="9.9", kept=kept, forget=None)


@pytest.fixture
def page(store, bridge, paths, qtbot) -> SettingsPage:
    diagnostics = DiagnosticsStore(bridge, "1.2", {"Settings": paths.settings})
    page = SettingsPage(
        store,
        diagnostics,
        KeptStore(bridge),
        NetworkStore(bridge, store),
        lambda: [("New chat", "Ctrl+N")],
    )
    qtbot.addWidget(page)
    page.resize(1144, 780)
    with qtbot.waitExposed(page):
        page.show()
    return page


def find(page: QWidget, kind: type, name: str):
    found = page.findChild(kind, name)
    assert found is not None, name
    return found


def click(qtbot, page: QWidget, name: str) -> None:
    qtbot.mouseClick(find(page, QAbstractButton, name), Qt.MouseButton.LeftButton)


def words(page: QWidget) -> str:
    return "\n".join(x.text() for x in page.findChildren(QLabel) if x.isVisible())


def test_choices_and_numbers_are_saved(page, store, qtbot) -> None:
    language = find(page, QComboBox, "settings-language")
    language.setCurrentIndex(language.findText("简体中文"))
    assert store.language == "zh_CN"
    temperature = find(page, QDoubleSpinBox, "settings-temperature")
    temperature.setValue(0.35)
    assert store.values["generation.temperature"] == 0.35
    idle = find(page, QDoubleSpinBox, "settings-idle")
    assert idle.value() == 15
    idle.setValue(1)
    assert store.values["models.idle_timeout_s"] == 60
    threads = find(page, QDoubleSpinBox, "settings-threads")
    assert threads.text() == "Automatic"
    threads.setValue(4)
    assert store.values["models.threads"] == 4
    assert type(store.values["models.threads"]) is int


def test_fields_follow_the_store(page, store) -> None:
    store.set("generation.top_k", 7)
    store.set("desktop.theme", "light")
    assert find(page, QDoubleSpinBox, "settings-top-k").value() == 7
    assert find(page, QComboBox, "settings-theme").currentData() == "light"


def test_a_value_out_of_range_in_the_file_is_not_overwritten_by_looking(qapp, paths, qtbot) -> None:
    paths.config.mkdir()
    paths.settings.write_text("[server]\nport = 99999\n")
    store = SettingsStore(paths)
    bridge = FakeBridge()
    page = SettingsPage(
        store,
        DiagnosticsStore(bridge, "1", {"S": paths.settings}),
        KeptStore(bridge),
        NetworkStore(bridge, store),
    )
    qtbot.addWidget(page)
    assert paths.settings.read_text() == "[server]\nport = 99999\n"


def test_the_wheel_over_a_field_without_focus_changes_nothing(page, store) -> None:
    field = find(page, QDoubleSpinBox, "settings-temperature")
    event = QWheelEvent(
        QPointF(5, 5),
        QPointF(5, 5),
        QPoint(0, 0),
        QPoint(0, 120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QGuiApplication.sendEvent(field, event)
    assert store.values == Preferences()


def test_answers_go_back_to_their_defaults(page, store, qtbot) -> None:
    find(page, QListWidget, "settings-sections").setCurrentRow(1)
    reset = find(page, QAbstractButton, "settings-reset-answers")
    assert not reset.isEnabled()
    store.set("generation.top_p", 0.5)
    store.set("desktop.max_tokens", 256)
    click(qtbot, page, "settings-reset-answers")
    assert store.values == Preferences()


def test_restart_is_said_and_asked_for(page, store, qtbot) -> None:
    store.set("models.context", 4096)
    assert "wait for the service to start again" in words(page)
    with qtbot.waitSignal(page.restart_wanted):
        click(qtbot, page, "settings-restart")
    store.service_started()
    assert "wait for the service to start again" not in words(page)


def test_trouble_with_the_file_has_a_button(page, store, paths, qtbot) -> None:
    paths.config.mkdir(exist_ok=True)
    paths.settings.write_text("= =")
    store.set("desktop.theme", "dark")
    assert "cannot be read" in words(page)
    paths.settings.unlink()
    click(qtbot, page, "error_action")
    assert "cannot be read" not in words(page)
    assert load(paths.settings)["desktop.theme"] == "dark"


def test_sharing_warns_and_shows_the_key(page, store, qtbot) -> None:
    find(page, QListWidget, "settings-sections").setCurrentRow(4)
    warning = find(page, QLabel, "settings-share-warning")
    assert not warning.isVisible()
    find(page, QCheckBox, "settings-share").setChecked(True)
    assert warning.isVisible()
    assert not find(page, QAbstractButton, "settings-key-drop").isVisible()
    key = find(page, QLineEdit, "settings-key")
    assert key.text() == store.values["server.api_key"] != ""
    assert key.echoMode() is QLineEdit.EchoMode.Password
    click(qtbot, page, "settings-key-show")
    assert key.echoMode() is QLineEdit.EchoMode.Normal
    with qtbot.waitSignal(page.said):
        click(qtbot, page, "settings-key-copy")
    assert QGuiApplication.clipboard().text() == key.text()
    find(page, QCheckBox, "settings-share").setChecked(False)
    click(qtbot, page, "settings-key-drop")
    assert store.values["server.api_key"] == ""


def test_the_models_folder(page, store, paths, tmp_path, qtbot) -> None:
    find(page, QListWidget, "settings-sections").setCurrentRow(2)
    assert str(paths.models) in words(page)
    click(qtbot, page, "settings-folder-choose")
    dialog = find(page, QWidget, "settings-folder-dialog")
    dialog.fileSelected.emit(str(tmp_path))
    dialog.close()
    assert store.values["models.folder"] == str(tmp_path)
    assert store.restart_needed
    click(qtbot, page, "settings-folder-default")
    assert store.values["models.folder"] == ""


def test_diagnostics_are_fetched_when_seen_and_can_be_copied(page, bridge, store, qtbot) -> None:
    store.new_key()
    assert bridge.calls == []
    page.show_section("About")
    bridge.run()
    text = find(page, QPlainTextEdit, "about-text").toPlainText()
    for expected in ("A Processor", "2 physical, 4 logical, 2 usable", "8,192 MB", "Inglenook 9.9"):
        assert expected in text
    assert store.values["server.api_key"] not in text
    click(qtbot, page, "about-copy")
    assert QGuiApplication.clipboard().text() == text


def test_diagnostics_without_a_service(page, bridge) -> None:
    bridge.answers = dict.fromkeys(("hardware", "version"), ServiceUnavailable("It is gone."))
    page.show_section("About")
    bridge.run()
    text = find(page, QPlainTextEdit, "about-text").toPlainText()
    assert "It is gone." in text
    assert "Inglenook 1.2" in text


def test_another_language_builds_the_page_anew(page, store, qapp, qtbot) -> None:
    page.show_section("General")
    language = find(page, QComboBox, "settings-language")
    page.activateWindow()
    language.setFocus()
    qtbot.waitUntil(language.hasFocus)
    for _ in range(3):
        QGuiApplication.sendEvent(page, QEvent(QEvent.Type.LanguageChange))
    qtbot.waitUntil(lambda: find_last(page) is not language)
    qtbot.waitUntil(lambda: len(page.findChildren(QComboBox, "settings-language")) == 1)
    again = find(page, QComboBox, "settings-language")
    qtbot.waitUntil(again.hasFocus)
    again.setCurrentIndex(1)
    assert store.language == "en"


def find_last(page: QWidget) -> QComboBox:
    return page.findChildren(QComboBox, "settings-language")[-1]


def test_shortcuts_are_listed(page) -> None:
    page.show_section("Keyboard")
    assert "Ctrl+N" in words(page)


def test_every_control_says_what_it_is(page) -> None:
    kinds = (QComboBox, QDoubleSpinBox, QCheckBox, QAbstractButton, QPlainTextEdit)
    own = [
        control
        for kind in kinds
        for control in page.findChildren(kind)
        if control.objectName().startswith(("settings-", "about-"))
    ]
    assert len(own) > 15
    for control in own:
        assert control.accessibleName() or control.text(), control.objectName()
        assert control.toolTip(), control.objectName()


def test_reading_along_is_on_and_can_be_switched_off(store, page, paths) -> None:
    switch = find(page, QCheckBox, "settings-read-along")
    reset = find(page, QAbstractButton, "settings-reset-answers")
    assert switch.isChecked()
    assert not reset.isEnabled()
    switch.click()
    assert load(paths.settings)["desktop.read_along"] is False
    reset.click()
    assert switch.isChecked()


def test_how_models_are_computed_is_set_and_saved(store, page, paths) -> None:
    backend, ways = (
        find(page, QComboBox, "settings-backend"),
        find(page, QComboBox, "settings-speculation"),
    )
    backend.setCurrentIndex(backend.findData("torch-cpu"))
    ways.setCurrentIndex(ways.findData("off"))
    exact = find(page, QCheckBox, "settings-exact")
    exact.click()
    caches = find(page, QComboBox, "settings-kv-type")
    caches.setCurrentIndex(caches.findData("q8_0"))
    saved = load(paths.settings)
    assert saved["models.kv_type"] == "q8_0"
    assert saved["models.backend"] == "torch-cpu"
    assert saved["models.speculation"] == "off"
    assert saved["models.exact"] is True
    assert store.restart_needed
    store.set("models.exact", False)
    assert not exact.isChecked()


def test_guessing_is_on_or_off_and_the_old_word_is_on(qapp, paths, qtbot) -> None:
    paths.config.mkdir()
    paths.settings.write_text('[models]\nspeculation = "ngram"\n')
    store, bridge = SettingsStore(paths), FakeBridge()
    page = SettingsPage(
        store, DiagnosticsStore(bridge, "1", {}), KeptStore(bridge), NetworkStore(bridge, store)
    )
    qtbot.addWidget(page)
    ways = find(page, QComboBox, "settings-speculation")
    assert (ways.count(), ways.currentData()) == (2, "")
    assert "ngram" in paths.settings.read_text()
    ways.setCurrentIndex(1)
    ways.setCurrentIndex(0)
    assert load(paths.settings)["models.speculation"] == ""


def test_what_is_kept_of_conversations_is_set(store, page, paths) -> None:
    place = find(page, QComboBox, "settings-keep")
    limit = find(page, QDoubleSpinBox, "settings-keep-disk")
    assert (place.currentData(), limit.value(), limit.isEnabled()) == ("disk", 4.0, True)
    limit.setValue(1.5)
    assert load(paths.settings)["models.keep_disk_mib"] == 1536
    for choice in ("memory", "off"):
        place.setCurrentIndex(place.findData(choice))
        assert load(paths.settings)["models.keep"] == choice
        assert not limit.isEnabled()
    assert store.restart_needed


def test_how_much_is_kept_is_shown_and_deleted(page, bridge) -> None:
    words = find(page, QLabel, "settings-keep-delete-words")
    delete = find(page, QAbstractButton, "settings-keep-delete")
    assert not bridge.count("kept")  # nobody has looked
    assert not delete.isEnabled()
    page.show_section("Conversations")
    bridge.run()
    assert words.text() == "1.2 GB on disk, in /cache/conversations"
    delete.click()
    assert not delete.isEnabled()
    bridge.answers["kept"] = KeptOnDisk(0, 0, "/cache/conversations")
    bridge.run()
    assert [call for call in bridge.calls if call[0] == "forget"] == [("forget", None)]
    assert words.text() == "Nothing on disk."
    assert delete.isEnabled()


@pytest.mark.parametrize("asked", ["kept", "forget"])
def test_why_it_is_not_known_or_not_deleted_is_said(page, bridge, asked: str) -> None:
    words = find(page, QLabel, "settings-keep-delete-words")
    page.show_section("Conversations")
    bridge.answers[asked] = EngineError("It failed.", hint="Try again.")
    bridge.run()
    find(page, QAbstractButton, "settings-keep-delete").click()
    bridge.run()
    assert words.text() == "It failed. Try again."
    bridge.answers |= {"kept": KeptOnDisk(), "forget": None}
    page.show_section("General")
    page.show_section("Conversations")
    bridge.run()
    assert words.text() == "Nothing on disk."
