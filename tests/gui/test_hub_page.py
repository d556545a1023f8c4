"""Finding models as a user does it: search, card, table, download; the downloads below; the first model."""

import pytest
from PySide6.QtCore import QEvent, QObject, Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import (
    QAbstractButton,
    QCheckBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QListView,
    QTabBar,
    QTableView,
    QTextBrowser,
    QWidget,
)

from app.stores.downloads import DownloadsStore
from app.stores.hub import HubStore
from app.stores.models import ModelsStore
from app.stores.settings import SettingsStore
from app.widgets.chat.markdown_view import MarkdownView
from app.widgets.library.download_row import DownloadRow
from app.widgets.library.page import ModelsPage
from app.widgets.library.readme import MOST_CHARACTERS, Readme, without_html
from engine.api.hub import DownloadList, DownloadRequest, HubPage
from engine.api.models import ModelList
from engine.errors import HubError
from engine.paths import Paths
from tests.helpers import hub_values as hub
from tests.helpers.fake_bridge import FakeBridge
from tests.helpers.library_values import HARDWARE, STARTER, details, info

pytestmark = [
    pytest.mark.gui,
    pytest.mark.qt_log_ignore("This plugin does not support"),  # the offscreen platform
]
GONE = HubError("The hub cannot be reached.", hint="Try again.")
Q4 = "Heron-7B-Instruct-Q4_0.gguf"


@pytest.fixture
def bridge(qapp) -> FakeBridge:
    return FakeBridge(
        library=ModelList([info("alpha"), info("beta", path="/o/beta")]),
        details=details,
        hardware=HARDWARE | {"memory": {"free": 9 * hub.GIB}},
        starter=STARTER,
        search=hub.page(),
        card=lambda repo: hub.card(model=hub.model(repo)),
        fit=hub.fit(exact=True),
        downloads=DownloadList([]),
        download=lambda request: hub.download("Q4_0", "queued", done_bytes=0),
        change=lambda name, change: DownloadList([]),
    )


@pytest.fixture
def page(bridge, tmp_path, qtbot) -> ModelsPage:
    page = ModelsPage(
        ModelsStore(bridge),
        SettingsStore(Paths.find(tmp_path)),
        HubStore(bridge),
        DownloadsStore(bridge),
    )
    qtbot.addWidget(page)
    page.resize(1144, 780)
    with qtbot.waitExposed(page):
        page.show()
    page._store.refresh()
    bridge.run()
    return page


@pytest.fixture
def finding(page, bridge) -> ModelsPage:
    find(page, QTabBar, "models-ways").setCurrentIndex(1)
    bridge.run()
    return page


@pytest.fixture
def opened(finding, bridge) -> ModelsPage:
    results = find(finding, QListView, "hub-results")
    results.setCurrentIndex(results.model().index(0, 0))
    bridge.run()
    finding._hub.card.ask_fit()
    bridge.run()
    return finding


def find(page: QWidget, kind: type, name: str):
    found = [widget for widget in page.findChildren(kind, name) if widget.isVisible()]
    assert len(found) == 1, (name, len(found))
    return found[0]


def words(page: QWidget) -> str:
    return "\n".join(x.text() for x in page.findChildren(QLabel) if x.isVisible())


def click(qtbot, page: QWidget, name: str) -> None:
    qtbot.mouseClick(find(page, QAbstractButton, name), Qt.MouseButton.LeftButton)


def take(page: ModelsPage, bridge: FakeBridge, *downloads) -> None:
    bridge.answers["downloads"] = DownloadList(list(downloads))
    page._downloads.refresh()
    bridge.run()


class Browser(QObject):
    """Catches what would be opened."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []

    @Slot(QUrl)
    def open(self, url: QUrl) -> None:
        self.opened.append(url.toString())


@pytest.fixture
def browser(qapp):
    browser = Browser()
    for scheme in ("http", "https", "file"):
        QDesktopServices.setUrlHandler(scheme, browser, "open")
    yield browser
    for scheme in ("http", "https", "file"):
        QDesktopServices.unsetUrlHandler(scheme)


# --- search -----------------------------------------------------------------------------------------


def test_the_hub_is_asked_only_by_who_looks_for_models(page, bridge, qtbot) -> None:
    assert bridge.count("search") == 0
    find(page, QTabBar, "models-ways").setCurrentIndex(1)
    bridge.run()
    assert bridge.count("search") == 1
    assert find(page, QListView, "hub-results").model().rowCount() == 4
    assert "Find a model" in words(page)
    find(page, QTabBar, "models-ways").setCurrentIndex(0)
    assert find(page, QListView, "models").model().rowCount() == 2


def test_searching_by_keyboard(finding, bridge, qtbot) -> None:
    finding._hub.search._debounce.setInterval(1)
    finding.activateWindow()
    finding.focus_search()
    field = find(finding, QLineEdit, "hub-search")
    qtbot.waitUntil(field.hasFocus)
    qtbot.keyClicks(field, "heron")
    qtbot.waitUntil(lambda: bridge.calls[-1] == ("search", "heron", "trending", ""))
    assert "Searching…" in words(finding)
    bridge.run()
    order = find(finding, QComboBox, "hub-sort")
    order.setCurrentIndex(order.findData("downloads"))
    assert bridge.calls[-1] == ("search", "heron", "downloads", "")
    bridge.run()
    results = find(finding, QListView, "hub-results")
    results.setFocus()
    qtbot.keyClick(results, Qt.Key.Key_Down)
    qtbot.keyClick(results, Qt.Key.Key_Down)
    assert bridge.calls[-1][0] == "card"


def test_more(finding, bridge, qtbot) -> None:
    bridge.answers["search"] = HubPage([hub.model("one/more")])
    click(qtbot, finding, "hub-more")
    bridge.run()
    assert find(finding, QListView, "hub-results").model().rowCount() == 5
    assert not [b for b in finding.findChildren(QAbstractButton, "hub-more") if b.isVisible()]


def test_trouble_offline_and_nothing_found_are_said(finding, bridge, qtbot) -> None:
    bridge.answers["search"] = GONE
    finding._hub.search.ask()
    bridge.run()
    assert "The hub cannot be reached. Try again." in words(finding)
    bridge.answers["search"] = hub.catalog()
    click(qtbot, finding, "error_action")
    bridge.run()
    assert "The hub was not asked" in words(finding)
    bridge.answers["search"] = HubPage([])
    finding._hub.search.ask()
    bridge.run()
    assert "Nothing was found" in words(finding)


def test_another_language_goes_on_where_it_was(opened, bridge, qtbot) -> None:
    old = find(opened, QListView, "hub-results")
    QGuiApplication.sendEvent(opened, QEvent(QEvent.Type.LanguageChange))
    qtbot.waitUntil(lambda: old not in opened.findChildren(QListView))
    bridge.run()
    results = find(opened, QListView, "hub-results")
    assert results.currentIndex().data() == "Heron-7B-Instruct-GGUF"
    assert "From its page" in words(opened)
    assert bridge.count("search") == bridge.count("card") == 1


# --- card -------------------------------------------------------------------------------------------


def test_a_card_says_what_each_file_would_do_here(opened, bridge) -> None:
    shown = words(opened)
    for expected in (
        "heron-lab/Heron-7B-Instruct-GGUF",
        "7.6 B parameters · llama · 32,768 tokens of context · apache-2.0 licence",
        "Recommended for this machine: Q4_0, the best quality that writes faster than you read.",
        "Exact: llama.cpp's own figures for this file.",
        "512 MB (8,192 tokens of context)",
        "memory: 6.0 GB of 9.0 GB free",
        "From its page",
    ):
        assert expected in shown
    table = find(opened, QTableView, "hub-choices")
    assert table.currentIndex().row() == 1


def test_a_row_is_chosen_and_downloaded_by_keyboard(opened, bridge, qtbot) -> None:
    table = find(opened, QTableView, "hub-choices")
    opened.activateWindow()
    table.setFocus()
    qtbot.waitUntil(table.hasFocus)
    qtbot.keyClick(table, Qt.Key.Key_Up)
    assert opened._hub.card.choice.quantization == "Q2_K"
    assert "By formula" in words(opened)
    qtbot.keyClick(table, Qt.Key.Key_Down)
    find(opened, QCheckBox, "hub-also-0").click()
    qtbot.keyClick(table, Qt.Key.Key_Return)
    request = DownloadRequest(
        "heron-lab/Heron-7B-Instruct-GGUF", Q4, "a" * 40, ("mmproj-F16.gguf",)
    )
    assert ("download", request) in bridge.calls


def test_a_button_becomes_the_state_of_its_download(opened, bridge, qtbot) -> None:
    button = find(opened, QAbstractButton, "download-1")
    assert (button.text(), button.isEnabled()) == ("Download", True)
    missing = find(opened, QAbstractButton, "download-4")
    assert (missing.text(), missing.isEnabled()) == ("1 part(s) missing", False)
    bridge.answers["downloads"] = DownloadList([hub.download("Q4_0", "queued", done_bytes=0)])
    click(qtbot, opened, "download-1")
    bridge.run()
    assert (button.text(), button.isEnabled()) == ("0 %", False)
    take(opened, bridge, hub.download("Q4_0", "paused"))
    assert button.text() == "Resume"
    click(qtbot, opened, "download-1")
    assert bridge.calls[-1][1:] == ("Q4_0", bridge.calls[-1][2])
    assert bridge.calls[-1][2].action == "resume"
    bridge.run()
    take(opened, bridge, hub.download("Q4_0", "done", model="heron"))
    assert (button.text(), button.isEnabled()) == ("Downloaded", False)


def test_a_gated_card_leads_to_its_page(finding, bridge, browser, qtbot) -> None:
    gated = hub.model("o/r", gated=True)
    problem = "Its licence has to be accepted first. Open its page."
    bridge.answers["card"] = lambda repo: hub.card(model=gated, problem=problem)
    finding._hub.card.open("o/r")
    bridge.run()
    assert problem in words(finding)
    assert not find(finding, QAbstractButton, "download-1").isEnabled()
    click(qtbot, finding, "hub-gate-page")
    assert browser.opened == ["https://hub.example/heron-lab/Heron-7B-Instruct-GGUF"]
    bridge.answers["card"] = lambda repo: hub.card(model=gated)
    click(qtbot, finding, "hub-gate-again")
    bridge.run()
    assert find(finding, QAbstractButton, "download-1").isEnabled()


def test_a_card_that_cannot_be_had_has_a_button(finding, bridge, qtbot) -> None:
    bridge.answers["card"] = GONE
    finding._hub.card.open("o/r")
    assert "Asking the hub…" in words(finding)
    bridge.run()
    assert "The hub cannot be reached. Try again." in words(finding)
    bridge.answers["card"] = hub.card()
    click(qtbot, finding, "empty_action")
    bridge.run()
    assert "From its page" in words(finding)


def test_a_repository_without_models_says_so(finding, bridge) -> None:
    bridge.answers["card"] = hub.card(choices=(), readme="")
    finding._hub.card.open("o/r")
    bridge.run()
    assert "no model file" in words(finding)
    assert "From its page" not in words(finding)


def test_what_the_hub_says_is_never_markup_and_opens_nothing(finding, bridge, browser) -> None:
    evil = '<img src="http://evil.example/p.png"><b>x</b>'
    bridge.answers["card"] = hub.card(
        model=hub.model("o/r", about=evil, license=evil, architecture=evil),
        choices=(hub.choice(evil, 1.0, name=evil, recommended=evil),),
        url="file:///etc/passwd",
        problem=evil,
        readme=f"{evil}\n\n![p](http://evil.example/q.png) [f](file:///etc/passwd)",
    )
    bridge.answers["search"] = HubPage([hub.model(evil, about=evil)])
    finding._hub.search.ask()
    finding._hub.card.open("o/r")
    bridge.run()
    for label in finding.findChildren(QLabel):
        assert label.textFormat() is Qt.TextFormat.PlainText or "<" not in label.text()
    for widget in finding.findChildren(QWidget):
        assert "<" not in widget.toolTip()
    for model, columns in (
        (find(finding, QListView, "hub-results").model(), 1),
        (find(finding, QTableView, "hub-choices").model(), 6),
    ):
        for column in range(columns):
            assert "<" not in (model.index(0, column).data(Qt.ItemDataRole.ToolTipRole) or "")
    for button in finding.findChildren(QAbstractButton, "hub-gate-page"):
        button.click()
    texts = [view.toHtml() for view in finding.findChildren(QTextBrowser)]
    assert texts
    assert not any("<img" in text or "file://" in text for text in texts)
    assert browser.opened == []


# --- its own text -------------------------------------------------------------------------------------


def test_a_readme_has_no_html_but_its_code_stays(qtbot) -> None:
    shown = without_html(hub.README)
    assert "<div" not in shown
    assert "<img" not in shown
    assert 'print("<b>code stays</b>")' in shown
    assert "<https://example.org>" in without_html("See <https://example.org>, 1 < 2 and 3 > 2.")
    assert without_html("a<!-- hidden\n\nlong -->b") == "ab"


def test_a_readme_opens_links_on_a_click_only(qtbot, browser) -> None:
    readme = Readme()
    qtbot.addWidget(readme)
    readme.show_source("[its page](https://example.org/heron)")
    readme.show()
    view = readme.findChild(MarkdownView)
    assert browser.opened == []
    view.anchorClicked.emit(QUrl("https://example.org/heron"))
    view.anchorClicked.emit(QUrl("file:///etc/passwd"))
    assert browser.opened == ["https://example.org/heron"]


def test_a_long_readme_is_cut_and_says_so(qtbot) -> None:
    readme = Readme()
    qtbot.addWidget(readme)
    readme.show_source("word " * MOST_CHARACTERS)
    readme.show()
    assert "The rest is on its page." in words(readme)
    qtbot.waitUntil(lambda: readme._body.is_built)


# --- downloads ----------------------------------------------------------------------------------------


def rows(page: ModelsPage) -> list[DownloadRow]:
    return page._waiting.findChildren(DownloadRow)


def test_there_is_no_panel_without_downloads(page, bridge) -> None:
    assert not page._waiting.isVisible()
    take(page, bridge, hub.download("Q4_0"))
    assert page._waiting.isVisible()
    assert "1.2 of 4.9 GB · 23.4 MB/s · 2:41 left" in words(page._waiting)
    take(page, bridge)
    assert not page._waiting.isVisible()


def test_what_can_be_done_with_a_download(page, bridge, qtbot) -> None:
    take(page, bridge, hub.download("a"), hub.download("b", "paused", position=1))
    first, second = rows(page)
    assert not find(first, QAbstractButton, "download-up").isEnabled()
    click(qtbot, first, "download-down")
    click(qtbot, first, "download-switch")
    click(qtbot, second, "download-switch")
    click(qtbot, second, "download-up")
    done = [(c[1], c[2].action, c[2].position) for c in bridge.calls if c[0] == "change"]
    assert done == [("a", "move", 1), ("a", "pause", 0), ("b", "resume", 0), ("b", "move", 0)]


def test_cancelling_offers_undo(page, bridge, qtbot) -> None:
    take(page, bridge, hub.download("a"))
    with qtbot.waitSignal(page.said) as said:
        click(qtbot, rows(page)[0], "download-cancel")
    sentence, action, undo = said.args
    assert (sentence, action) == (
        "The download of Heron-7B-Instruct-a.gguf was cancelled.",
        "Undo",
    )
    assert not page._waiting.isVisible()
    undo()
    assert page._waiting.isVisible()


def test_a_finished_one_is_told_and_shown_in_the_list(finding, bridge, qtbot) -> None:
    take(finding, bridge, hub.download("a"))
    with qtbot.waitSignal(finding.said) as said:
        take(finding, bridge, hub.download("a", "done", model="beta"))
    assert said.args[:2] == ["beta is ready.", "Show"]
    click(qtbot, rows(finding)[0], "download-show")
    assert finding._store.selected == "beta"
    assert find(finding, QTabBar, "models-ways").currentIndex() == 0


def test_a_problem_is_said_and_can_be_tried_again(page, bridge, qtbot) -> None:
    problem = "The disk is full: 2.1 GB are missing. Make room, and it goes on by itself."
    take(page, bridge, hub.download("a", "failed", problem=problem))
    assert problem in words(page._waiting)
    assert "Failed" in words(page._waiting)
    click(qtbot, rows(page)[0], "download-switch")
    assert bridge.calls[-1][2].action == "resume"


def test_every_control_is_named_and_reached(opened, bridge) -> None:
    take(opened, bridge, hub.download("a"), hub.download("b", "failed", problem="x"))
    controls = opened.findChildren(QAbstractButton) + opened.findChildren(QLineEdit)
    own = [control for control in controls if control.isVisible() and control.objectName()]
    assert len(own) > 12
    for control in own:
        if control.objectName().startswith(("qt_", "_q_")):
            continue
        assert control.accessibleName() or control.text(), control.objectName()
        assert control.focusPolicy() & Qt.FocusPolicy.TabFocus, control.objectName()


# --- first run ----------------------------------------------------------------------------------------


@pytest.fixture
def welcome(page, bridge) -> ModelsPage:
    bridge.answers["library"] = ModelList([])
    small = hub.model("someone/Quill-1.7B-GGUF", parameters=1_700_000_000, purpose="chat")
    bridge.answers["search"] = HubPage([hub.model(purpose="chat"), small])
    page._store.refresh()
    bridge.run()
    return page


def test_one_model_is_recommended_with_its_reason(welcome, bridge, qtbot) -> None:
    shown = words(welcome)
    assert "Heron-7B-Instruct-GGUF" in shown
    assert "4.2 GB to download · about 12 tokens/s · 7.6 B parameters" in shown
    assert "Recommended: the best quality that writes faster than you read" in shown
    assert "SmolLM2-135M-Instruct" in shown
    find(welcome, QAbstractButton, "welcome-fetch-small")
    bridge.answers["downloads"] = DownloadList([hub.download("Q4_0")])
    click(qtbot, welcome, "suggestion-download")
    bridge.run()
    assert "Downloading · 1.2 of 4.9 GB" in words(welcome)
    bridge.answers["downloads"] = DownloadList([hub.download("Q4_0", "done", model="heron")])
    bridge.answers["library"] = ModelList([info("heron")])
    welcome._downloads.refresh()
    bridge.run()
    assert welcome._store.get("heron") is not None
    assert "A first model" not in words(welcome)


def test_without_the_hub_the_starter_model_is_offered(page, bridge) -> None:
    bridge.answers |= {"library": ModelList([]), "search": hub.catalog()}
    page._store.refresh()
    bridge.run()
    find(page, QAbstractButton, "welcome-fetch")
    assert "Heron" not in words(page)


def test_the_welcome_leads_to_the_search(welcome, bridge, qtbot) -> None:
    click(qtbot, welcome, "welcome-search")
    bridge.run()
    find(welcome, QLineEdit, "hub-search")
    find(welcome, QTabBar, "models-ways").setCurrentIndex(0)
    assert "A first model" in words(welcome)
