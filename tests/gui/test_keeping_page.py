"""A model's file and its defaults on the Models page, by mouse and keyboard; once with a real service."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QDoubleSpinBox,
    QLabel,
    QMessageBox,
    QPlainTextEdit,
    QWidget,
)

from app.application import Desktop
from app.stores.downloads import DownloadsStore
from app.stores.hub import HubStore
from app.stores.models import ModelsStore
from app.stores.settings import SettingsStore
from app.widgets.library.page import ModelsPage
from engine.api.hub import DownloadList
from engine.api.keeping import Defaults, DiskUse, Verified
from engine.api.models import ModelList, Removed
from engine.errors import ServiceUnavailable
from engine.paths import Paths
from tests.helpers.fake_bridge import FakeBridge
from tests.helpers.library_values import GIB, HARDWARE, STARTER, details, info
from tests.helpers.tiny_llama import write_tiny_llama

pytestmark = [
    pytest.mark.gui,
    pytest.mark.qt_log_ignore("This plugin does not support"),  # the offscreen platform
]
SUGGESTED = {"temperature": 0.6, "system": "Be kind.", "stop": ["<end>"]}
SHA = "ab" * 32


@pytest.fixture
def bridge(qapp) -> FakeBridge:
    return FakeBridge(
        library=ModelList(
            [
                info("alpha"),
                info("beta", origin="Hugging Face"),
                info("gamma", origin="added", path="/elsewhere/<b>gamma</b>.gguf"),
                info("omega", origin="Ollama"),
            ]
        ),
        details=details,
        hardware=HARDWARE,
        starter=STARTER,
        defaults=lambda model: Defaults(
            model=model, suggested=SUGGESTED if model == "omega" else {}
        ),
        choose=lambda model, chosen: Defaults(model=model, chosen=chosen),
        disk=DiskUse(
            {"alpha": GIB, "beta": GIB, "gamma": GIB, "omega": GIB}, {}, 4 * GIB, 88 * GIB
        ),
        remove=lambda model, delete_file=False: Removed("trashed"),
        downloads=DownloadList([]),
        search=ServiceUnavailable("not here"),
    )


@pytest.fixture
def page(bridge, tmp_path, qtbot) -> ModelsPage:
    # the language of a test before leaves now, not while this page is looked at
    QGuiApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    settings = SettingsStore(Paths.find(tmp_path))
    page = ModelsPage(ModelsStore(bridge), settings, HubStore(bridge), DownloadsStore(bridge))
    qtbot.addWidget(page)
    page.resize(1144, 780)
    with qtbot.waitExposed(page):
        page.show()
    choose(page, bridge, "alpha")
    return page


def choose(page: ModelsPage, bridge: FakeBridge, model: str) -> None:
    page._store.refresh()
    bridge.run()
    page._store.select(model)
    bridge.run()


def words(page: QWidget) -> str:
    return "\n".join(x.text() for x in page.findChildren(QLabel) if x.isVisible())


def shown(page: QWidget, name: str) -> QAbstractButton:
    found = [x for x in page.findChildren(QAbstractButton, name) if x.isVisible()]
    assert len(found) == 1, name
    return found[0]


def is_shown(page: QWidget, name: str) -> bool:
    return any(x.isVisible() for x in page.findChildren(QAbstractButton, name))


def unfold(page: QWidget) -> None:
    shown(page, "model-defaults").setChecked(True)


def number(page: QWidget, name: str) -> QDoubleSpinBox:
    found = page.findChild(QDoubleSpinBox, f"default-{name}")
    assert found is not None
    return found


# --- the file ---------------------------------------------------------------------------------------


def tell(page: ModelsPage, bridge: FakeBridge, **fields) -> None:
    bridge.answers["verification"] = lambda model: Verified(model=model, **fields)
    page._store.refresh_details()
    bridge.run()


def test_reading_shows_how_far_it_is_and_can_be_stopped(page, bridge, qtbot) -> None:
    bridge.answers |= {
        "verify": lambda model: Verified(model=model, state="running", fraction=0.434),
        "stop_verifying": lambda model: Verified(model=model, state="unknown"),
    }
    shown(page, "model-verify").setFocus()
    qtbot.keyClick(shown(page, "model-verify"), Qt.Key.Key_Space)
    bridge.run()
    assert "Reading 43 %" in words(page)
    assert not is_shown(page, "model-verify")
    assert shown(page, "model-verify-stop").hasFocus()
    qtbot.keyClick(shown(page, "model-verify-stop"), Qt.Key.Key_Space)
    bridge.run()
    assert ("stop_verifying", "alpha") in bridge.calls
    assert shown(page, "model-verify").hasFocus()


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"state": "ok", "sha256": (SHA,)}, "Whole"),
        ({"state": "damaged", "sha256": (SHA,), "damaged": ("/a",)}, "Damaged: download it again"),
        (
            {"state": "damaged", "sha256": (SHA, SHA), "damaged": ("/part-2",)},
            "Damaged: download it again\n/part-2",
        ),
        (
            {"state": "unknown", "sha256": (SHA,)},
            "Read; nobody has said what its checksum should be",
        ),
        ({"state": "unknown", "problem": "The disk is gone."}, "The disk is gone."),
        ({"state": "unknown"}, ""),
    ],
)
def test_the_last_result_is_shown(page, bridge, fields, expected) -> None:
    tell(page, bridge, **fields)
    result = page.findChild(QLabel, "model-verified")
    assert result.text() == expected
    assert result.isVisible() == bool(expected)
    assert is_shown(page, "model-sha256-copy") == bool(fields.get("sha256"))


def test_the_checksum_can_be_copied(page, bridge, qtbot) -> None:
    tell(page, bridge, state="ok", sha256=(SHA, "cd" * 32))
    with qtbot.waitSignal(page.said) as told:
        shown(page, "model-sha256-copy").click()
    assert QGuiApplication.clipboard().text() == f"{SHA}\n{'cd' * 32}"
    assert told.args[0] == "The SHA-256 was copied."


def test_the_disk_is_told_of_one_and_of_all(page) -> None:
    assert "Takes 1.0 GB of the disk." in words(page)
    assert "All together: 4.0 GB in 4 model(s), 88.0 GB free" in words(page)


# --- hiding and deleting ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "tip", "may_delete"),
    [
        ("alpha", "Remove (Delete in the list)", False),
        ("beta", "Hide (Delete in the list): the file stays", True),
        ("gamma", "Hide (Delete in the list): the file stays", True),
        ("omega", "Hide (Delete in the list): the file stays, Ollama may still use it", False),
    ],
)
def test_what_can_be_done_depends_on_where_it_comes_from(
    page, bridge, model, tip, may_delete
) -> None:
    choose(page, bridge, model)
    assert shown(page, "model-remove").toolTip() == tip
    assert shown(page, "model-remove").accessibleName() == tip.partition(" (")[0]
    assert is_shown(page, "model-delete-file") == may_delete


def test_hiding_says_that_the_file_stays(page, bridge, qtbot) -> None:
    choose(page, bridge, "omega")
    with qtbot.waitSignal(page.said) as told:
        shown(page, "model-remove").click()
    assert told.args[:2] == ["omega is hidden; its file stays.", "Undo"]
    page._store.finish_removal()
    assert ("remove", "omega") in bridge.calls


def question(page: ModelsPage) -> QMessageBox:
    shown(page, "model-delete-file").click()
    box = page.findChild(QMessageBox, "delete-file-question")
    assert box is not None
    return box


def press(box: QMessageBox, text: str) -> None:
    next(button for button in box.buttons() if button.text().strip("&") == text).click()


def test_deleting_asks_first(page, bridge, qtbot) -> None:
    choose(page, bridge, "gamma")
    box = question(page)
    assert box.text() == "Delete the file of gamma?"
    assert "94 MB" in box.informativeText()
    assert "/elsewhere/<b>gamma</b>.gguf" in box.informativeText()
    assert all(
        x.textFormat() == Qt.TextFormat.PlainText for x in box.findChildren(QLabel) if x.text()
    )
    press(box, "Cancel")
    assert bridge.count("remove") == 0
    with qtbot.waitSignal(page.said) as told:
        press(question(page), "Delete the file")
        bridge.run()
    assert ("remove", "gamma", True) in bridge.calls
    assert told.args[0] == "The file of gamma is in the trash."


# --- defaults ---------------------------------------------------------------------------------------


def test_defaults_are_folded_until_somebody_looks(page) -> None:
    assert not number(page, "context").isVisible()
    unfold(page)
    assert number(page, "context").isVisible()
    assert number(page, "context").text() == "From settings"
    assert number(page, "temperature").text() == "Default"


def test_every_field_sets_its_own_default(page, bridge, qtbot) -> None:
    unfold(page)
    for name, typed in (
        ("context", "4096"),
        ("temperature", "0"),
        ("top_p", "0.9"),
        ("top_k", "40"),
        ("min_p", "0.05"),
        ("repetition_penalty", "1.1"),
    ):
        field = number(page, name)
        field.selectAll()
        qtbot.keyClicks(field, typed)
        qtbot.keyClick(field, Qt.Key.Key_Return)
    caches = page.findChild(QComboBox, "default-kv_type")
    qtbot.keyClick(caches, Qt.Key.Key_End)
    qtbot.keyClicks(page.findChild(QPlainTextEdit, "default-system"), "Be brief.")
    page._store.keeping.save_now()
    expected = {
        "context": 4096,
        "temperature": 0.0,
        "top_p": 0.9,
        "top_k": 40,
        "min_p": 0.05,
        "repetition_penalty": 1.1,
        "kv_type": "q8_0",
        "system": "Be brief.",
    }
    sent = [call for call in bridge.calls if call[0] == "choose"]
    assert sent == [("choose", "alpha", expected)]
    assert isinstance(sent[0][2]["top_k"], int)
    assert number(page, "top_p").text() == "0.9"
    assert "8 set" in shown(page, "model-defaults").text()


def test_the_lowest_step_is_nothing_of_its_own(page, bridge, qtbot) -> None:
    unfold(page)
    for name in ("context", "temperature", "top_p", "top_k", "min_p", "repetition_penalty"):
        field = number(page, name)
        qtbot.keyClick(field, Qt.Key.Key_Up)
        assert page._store.keeping.chosen[name] >= 0
        qtbot.keyClick(field, Qt.Key.Key_Down)
        assert field.value() == field.minimum()
        assert field.text() == field.specialValueText()
    assert page._store.keeping.chosen == {}


def test_what_is_typed_stays_when_an_answer_comes(page, bridge, qtbot) -> None:
    unfold(page)
    field = number(page, "top_k")
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, "12")
    prompt = page.findChild(QPlainTextEdit, "default-system")
    prompt.setFocus()
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, "345")
    page._store.keeping.save_now()
    bridge.run()
    assert field.lineEdit().text() == "345"
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert page._store.keeping.chosen["top_k"] == 345


def test_suggestions_stand_beside_and_can_be_used(page, bridge, qtbot) -> None:
    choose(page, bridge, "omega")
    unfold(page)
    assert "Ollama: 0.6" in words(page)
    assert "Ollama: Be kind." in words(page)
    assert "Also suggested: stop '<end>'" in words(page)
    assert number(page, "temperature").text() == "Default"
    shown(page, "defaults-use-suggested").click()
    assert number(page, "temperature").value() == 0.6
    assert not shown(page, "defaults-use-suggested").isEnabled()
    page._store.keeping.save_now()
    assert ("choose", "omega", SUGGESTED) in bridge.calls
    shown(page, "defaults-reset").click()
    page._store.keeping.save_now()
    assert bridge.calls[-1] == ("choose", "omega", {})
    assert number(page, "temperature").text() == "Default"


def test_a_model_without_suggestions_offers_none(page) -> None:
    unfold(page)
    assert not is_shown(page, "defaults-use-suggested")
    assert not shown(page, "defaults-reset").isEnabled()


def test_everything_has_a_name(page, bridge) -> None:
    choose(page, bridge, "omega")
    unfold(page)
    for field in page.findChildren(QWidget):
        if field.objectName().startswith(("default-", "defaults-", "model-")) and isinstance(
            field, QAbstractButton | QComboBox | QDoubleSpinBox | QPlainTextEdit
        ):
            assert field.accessibleName(), field.objectName()


# --- with a service ---------------------------------------------------------------------------------


@pytest.fixture
def desktop(tmp_path: Path, qtbot) -> Iterator[Desktop]:
    (tmp_path / "models").mkdir()
    write_tiny_llama(tmp_path / "models" / "tiny.gguf", n_ctx=1024)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "settings.toml").write_text(
        "[server]\nport = 0\n[models]\nthreads = 1\nmeasure = false\n"
    )
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    desktop = Desktop(app, Paths.find(tmp_path))
    desktop.start()
    qtbot.waitUntil(lambda: desktop.models_store.keeping.known, timeout=15000)
    yield desktop
    desktop.window.close_now()
    desktop.close()


def test_verified_and_given_a_system_prompt_by_a_real_service(desktop: Desktop, qtbot) -> None:
    store = desktop.models_store
    desktop.window.show_page(1)
    qtbot.waitUntil(lambda: shown(desktop.window, "model-verify").isEnabled(), timeout=15000)
    shown(desktop.window, "model-verify").click()
    qtbot.waitUntil(lambda: "nobody has said" in words(desktop.window), timeout=15000)
    unfold(desktop.window)
    qtbot.keyClicks(desktop.window.findChild(QPlainTextEdit, "default-system"), "Be brief.")
    context = number(desktop.window, "context")
    context.setValue(512)
    qtbot.waitUntil(lambda: desktop.chat_store.defaults.get("system") == "Be brief.", timeout=15000)
    qtbot.waitUntil(
        lambda: store.details is not None and (store.details.plan or {}).get("context") == 512,
        timeout=15000,
    )
