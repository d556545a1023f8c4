import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QFileDialog,
    QLabel,
    QLineEdit,
    QListView,
    QPushButton,
    QWidget,
)

from app.preferences import load
from app.stores.downloads import DownloadsStore
from app.stores.hub import HubStore
from app.stores.models import ModelsStore
from app.stores.settings import SettingsStore
from app.theme import Theme
from app.widgets.library.page import ModelsPage
from engine.api.hub import DownloadList
from engine.api.models import ModelList, Removed, StarterInfo
from engine.errors import ServiceUnavailable
from engine.paths import Paths
from tests.helpers.fake_bridge import FakeBridge
from tests.helpers.library_values import GIB, HARDWARE, PLAN, STARTER, details, info

pytestmark = [
    pytest.mark.gui,
    pytest.mark.qt_log_ignore("This plugin does not support"),  # the offscreen platform
]
GONE = ServiceUnavailable("The service is gone.", hint="It restarts.")


@pytest.fixture
def bridge(qapp) -> FakeBridge:
    return FakeBridge(
        library=ModelList(
            [
                info("alpha", state="ready", resident_bytes=330 << 20),
                info("beta"),
                info("gamma", problem="It is cut off. Fetch it again."),
            ]
        ),
        details=details,
        hardware=HARDWARE,
        starter=STARTER,
        start_starter=StarterInfo(state="fetching", fraction=0.42, name="S", license="MIT"),
        cancel_starter=STARTER,
        load=lambda name: info(name, state="ready"),
        unload=info,
        add=lambda path: info("new", path=path),
        remove=lambda name: Removed("trashed"),
        downloads=DownloadList([]),
        search=GONE,
    )


@pytest.fixture
def settings(tmp_path) -> SettingsStore:
    return SettingsStore(Paths.find(tmp_path))


@pytest.fixture
def page(bridge, settings, qtbot) -> ModelsPage:
    # the language of a test before leaves now, not while this page is looked at
    QGuiApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    page = ModelsPage(ModelsStore(bridge), settings, HubStore(bridge), DownloadsStore(bridge))
    qtbot.addWidget(page)
    page.resize(1144, 780)
    with qtbot.waitExposed(page):
        page.show()
    return page


def refresh(page: ModelsPage, bridge: FakeBridge) -> None:
    page._store.refresh()
    bridge.run()


def words(page: QWidget) -> str:
    return "\n".join(x.text() for x in page.findChildren(QLabel) if x.isVisible())


def button(page: QWidget, name: str) -> QPushButton:
    found = page.findChild(QPushButton, name)
    assert found is not None
    return found


def click(qtbot, page: QWidget, name: str) -> None:
    shown = [found for found in page.findChildren(QAbstractButton, name) if found.isVisible()]
    assert len(shown) == 1
    qtbot.mouseClick(shown[0], Qt.MouseButton.LeftButton)


def view(page: QWidget) -> QListView:
    found = page.findChild(QListView, "models")
    assert found is not None
    return found


def test_loading(page) -> None:
    assert "Looking through the models folder" in words(page)


def test_offline_has_a_sentence_and_a_way_out(page, bridge, qtbot) -> None:
    bridge.answers["library"], found = GONE, bridge.answers["library"]
    refresh(page, bridge)
    assert "The service is gone. It restarts." in words(page)
    bridge.answers["library"] = found
    click(qtbot, page, "empty_action")
    bridge.run()
    assert page._store.selected == "alpha"


def test_going_offline_keeps_the_list(page, bridge, qtbot) -> None:
    refresh(page, bridge)
    bridge.answers["library"] = GONE
    refresh(page, bridge)
    assert "The service is gone. It restarts." in words(page)
    assert view(page).isVisible()


def test_the_first_model_is_chosen_and_explained(page, bridge) -> None:
    refresh(page, bridge)
    shown = words(page)
    for expected in (
        "alpha",
        "In memory",
        "llama.cpp",
        "2,048 tokens of context",
        "Takes 330 MB of memory now, 310 MB were expected",
        "no NVIDIA GPU: llama.cpp on 1 of 2 cores",
        "134,515,008",
        "apache-2.0",
        "/models/alpha.gguf",
    ):
        assert expected in shown
    assert not button(page, "model-load").isVisible()


def test_memory_before_loading(page, bridge) -> None:
    refresh(page, bridge)
    page._store.select("beta")
    bridge.run()
    assert "Needs 310 MB, 6.0 GB free" in words(page)
    bridge.answers["hardware"] = {"memory": {"free": 200 << 20}}
    page._store.refresh_details()
    bridge.run()
    assert "Does not fit: needs 310 MB, 200 MB free" in words(page)


def test_memory_of_a_gpu(page, bridge) -> None:
    gpu = PLAN | {"gpu": {"name": "A GPU", "vram_free": 2 * GIB}, "backend": "torch-cuda"}
    bridge.answers["details"] = lambda name: details(name, plan=gpu)
    refresh(page, bridge)
    page._store.select("beta")
    bridge.run()
    assert "torch-cuda · A GPU" in words(page)
    assert "Needs 310 MB, 2.0 GB free" in words(page)


def test_no_plan_is_a_sentence(page, bridge) -> None:
    bridge.answers["details"] = lambda name: details(name, plan=None, plan_problem="Too big.")
    refresh(page, bridge)
    assert "Too big." in words(page)


def test_details_that_fail_can_be_asked_for_again(page, bridge, qtbot) -> None:
    bridge.answers["details"] = lambda name: GONE
    refresh(page, bridge)
    assert "The service is gone. It restarts." in words(page)
    bridge.answers["details"] = details
    click(qtbot, page, "error_action")
    bridge.run()
    assert "134,515,008" in words(page)


def test_load_and_unload(page, bridge, qtbot) -> None:
    refresh(page, bridge)
    click(qtbot, page, "model-unload")
    assert not button(page, "model-unload").isEnabled()
    bridge.run()
    assert ("unload", "alpha") in bridge.calls
    page._store.select("beta")
    click(qtbot, page, "model-load")
    assert ("load", "beta") in bridge.calls
    bridge.answers["library"] = ModelList([info("beta", state="loading", progress=0.42)])
    bridge.run(leave="load")
    assert "Loading, 42 %" in words(page)


def test_a_failed_load_can_be_repeated(page, bridge, qtbot) -> None:
    bridge.answers["library"] = ModelList([info("a", state="failed", problem="It died.")])
    refresh(page, bridge)
    assert "It died." in words(page)
    click(qtbot, page, "error_action")
    assert ("load", "a") in bridge.calls


def test_an_unusable_file_can_only_be_removed(page, bridge, qtbot) -> None:
    refresh(page, bridge)
    page._store.select("gamma")
    bridge.run()
    assert not button(page, "model-load").isEnabled()
    click(qtbot, page, "error_action")
    assert page._store.get("gamma") is None


def test_removing_offers_undo_and_chooses_the_neighbour(page, bridge, qtbot) -> None:
    refresh(page, bridge)
    page._store.select("beta")
    with qtbot.waitSignal(page.said) as said:
        click(qtbot, page, "model-remove")
    sentence, action, undo = said.args
    assert (sentence, action) == ("beta was removed.", "Undo")
    bridge.run()
    assert page._store.selected == "gamma"
    undo()
    assert page._store.selected == "beta"
    assert bridge.count("remove") == 0


def test_keyboard(page, bridge, qtbot) -> None:
    refresh(page, bridge)
    models = view(page)
    page.activateWindow()
    models.setFocus()
    qtbot.waitUntil(models.hasFocus)
    qtbot.keyClick(models, Qt.Key.Key_Down)
    assert page._store.selected == "beta"
    qtbot.keyClick(models, Qt.Key.Key_Return)
    assert ("load", "beta") in bridge.calls
    bridge.run()
    qtbot.keyClick(models, Qt.Key.Key_Delete)
    assert page._store.get("beta") is None
    page.focus_search()
    search = page.findChild(QLineEdit, "search-models")
    qtbot.waitUntil(search.hasFocus)
    qtbot.keyClicks(search, "AMM")
    assert models.model().rowCount() == 1
    qtbot.keyClicks(search, "zzz")
    assert "No model has this in its name." in words(page)


def test_files_are_added_by_dialog(page, bridge, qtbot) -> None:
    refresh(page, bridge)
    dialog = page.choose_file()
    assert dialog.isVisible()
    assert isinstance(dialog, QFileDialog)
    dialog.filesSelected.emit(["/somewhere/new.gguf"])
    dialog.close()
    assert ("add", "/somewhere/new.gguf") in bridge.calls


def drop(page: ModelsPage, *urls: str) -> QDragEnterEvent:
    data = QMimeData()
    data.setUrls([QUrl(url) for url in urls])
    left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    copy = Qt.DropAction.CopyAction
    enter = QDragEnterEvent(QPoint(300, 300), copy, data, left, none)
    enter.ignore()
    QGuiApplication.sendEvent(page, enter)
    if enter.isAccepted():
        assert "Drop the file to add it" in words(page)
        QGuiApplication.sendEvent(page, QDropEvent(QPointF(300, 300), copy, data, left, none))
    assert "Drop the file to add it" not in words(page)
    return enter


def test_files_are_added_by_dropping(page, bridge) -> None:
    refresh(page, bridge)
    assert drop(
        page, "file:///a/one.gguf", "file:///a/notes.txt", "file:///a/TWO.GGUF"
    ).isAccepted()
    assert [call for call in bridge.calls if call[0] == "add"] == [
        ("add", "/a/one.gguf"),
        ("add", "/a/TWO.GGUF"),
    ]
    assert not drop(page, "file:///a/notes.txt", "https://example.org/x.gguf").isAccepted()


def test_the_path_is_copied(page, bridge, qtbot) -> None:
    refresh(page, bridge)
    with qtbot.waitSignal(page.said):
        click(qtbot, page, "model-copy-path")
    assert QGuiApplication.clipboard().text() == "/models/alpha.gguf"


def test_another_language_builds_the_page_anew(page, bridge, qtbot) -> None:
    refresh(page, bridge)
    page._store.select("beta")
    bridge.run()
    old = view(page)
    QGuiApplication.sendEvent(page, QEvent(QEvent.Type.LanguageChange))
    qtbot.waitUntil(lambda: old not in page.findChildren(QListView))
    assert view(page).currentIndex().data() == "beta"
    assert "Needs 310 MB" in words(page)
    click(qtbot, page, "model-load")
    assert ("load", "beta") in bridge.calls


def test_names_are_shown_as_they_are(page, bridge) -> None:
    bridge.answers["library"] = ModelList([info("<b>bold</b><img src=x>")])
    bridge.answers["details"] = lambda name: details(name, name="<i>maker</i>")
    refresh(page, bridge)
    for label in page.findChildren(QLabel):
        assert label.textFormat() is Qt.TextFormat.PlainText or "<" not in label.text()
    assert "<b>bold</b><img src=x>" in words(page)


def test_a_backend_is_forced_for_one_model(page, bridge, settings, qtbot) -> None:
    refresh(page, bridge)
    page._store.select("beta")
    bridge.run()
    choice = page.findChild(QComboBox, "model-backend")
    said = []
    page.said.connect(lambda *what: said.append(what))
    qtbot.keyClick(choice, Qt.Key.Key_Down)
    assert settings.values["models.backend_for"] == {"beta": "llama.cpp"}
    assert load(settings.paths.settings)["models.backend_for"] == {"beta": "llama.cpp"}
    sentence, _, restart = said[-1]
    assert "beta" in sentence
    with qtbot.waitSignal(page.restart_wanted):
        restart()
    page._store.select("alpha")
    bridge.run()
    assert choice.currentData() == ""
    page._store.select("beta")
    bridge.run()
    assert choice.currentData() == "llama.cpp"
    qtbot.keyClick(choice, Qt.Key.Key_Up)
    assert load(settings.paths.settings)["models.backend_for"] == {}


# --- first run --------------------------------------------------------------------------------------


@pytest.fixture
def welcome(page, bridge) -> ModelsPage:
    bridge.answers["library"] = ModelList([])
    refresh(page, bridge)
    return page


def test_an_empty_library_is_a_welcome(welcome) -> None:
    shown = words(welcome)
    assert "SmolLM2-135M-Instruct" in shown
    assert "89 MB to download · Apache-2.0 licence" in shown
    assert not view(welcome).isVisible()


def test_the_starter_is_fetched_with_a_number_and_can_be_cancelled(welcome, bridge, qtbot) -> None:
    click(qtbot, welcome, "welcome-fetch")
    bridge.run()
    assert "Fetching, 42 %" in words(welcome)
    assert not button(welcome, "welcome-fetch").isVisible()
    click(qtbot, welcome, "welcome-cancel")
    bridge.run()
    assert button(welcome, "welcome-fetch").isVisible()


def test_a_starter_that_fails_can_be_tried_again(welcome, bridge, qtbot) -> None:
    bridge.answers["start_starter"] = StarterInfo(state="failed", error="No connection.")
    click(qtbot, welcome, "welcome-fetch")
    bridge.run()
    assert "No connection." in words(welcome)
    click(qtbot, welcome, "error_action")
    assert bridge.count("start_starter") == 2


def test_everything_can_be_named_and_reached(page, bridge, welcome) -> None:
    for control in page.findChildren(QPushButton) + page.findChildren(QLineEdit):
        if control.objectName().startswith("qt_") or control.objectName() == "":
            continue
        assert control.accessibleName() or control.text() or not control.isVisible(), control
        assert control.focusPolicy() & Qt.FocusPolicy.TabFocus


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_it_is_drawn_in_both_themes(page, bridge, qapp, mode) -> None:
    theme = Theme()
    theme.apply(qapp)
    theme.set_mode(mode)
    refresh(page, bridge)
    picture = page.grab().toImage()
    corner = picture.pixelColor(picture.width() - 4, 4).name().upper()
    assert corner == theme.tokens.ground
    assert picture.pixelColor(4, picture.height() - 4).name().upper() == theme.tokens.panel
