"""Search, card, suggestion, network: what the window asks, and what it does with the answers."""

import pytest
from PySide6.QtTest import QAbstractItemModelTester

from app.item_models.choices import ChoiceItems, Column
from app.item_models.choices import Role as ChoiceRole
from app.item_models.connections import ConnectionItems, purpose_text
from app.item_models.hub import HubItems, Role
from app.item_models.hub_words import count_text, plain_tip, speed_text
from app.stores.hub_card import CardStore
from app.stores.hub_search import SearchStore
from app.stores.network import NetworkStore
from app.stores.settings import SettingsStore
from app.stores.suggestion import SuggestionStore
from engine.api.hub import Access, ConnectionList, DownloadList, HubPage
from engine.errors import HubDenied, HubError, ServiceUnavailable
from engine.paths import Paths
from tests.helpers import hub_values as hub
from tests.helpers.fake_bridge import FakeBridge
from tests.helpers.library_values import HARDWARE

pytestmark = pytest.mark.gui
GONE = HubError("The hub cannot be reached.", hint="Try again.")
STRICT = QAbstractItemModelTester.FailureReportingMode.Warning


@pytest.fixture
def bridge(qapp) -> FakeBridge:
    return FakeBridge(
        search=hub.page(),
        card=hub.card(),
        fit=hub.fit(exact=True, needed_bytes=5_555_555_555),
        hardware=HARDWARE | {"memory": {"free": 9 * hub.GIB}},
        access=hub.ACCESS,
        connections=ConnectionList(hub.CONNECTIONS),
    )


def repos(store: SearchStore) -> list[str]:
    return [model.repo for model in store.models]


# --- search -----------------------------------------------------------------------------------------


@pytest.fixture
def search(bridge) -> SearchStore:
    return SearchStore(bridge)


def test_nothing_is_asked_before_somebody_looks_and_once_then(bridge, search) -> None:
    assert bridge.calls == []
    search.look()
    search.look()
    bridge.run()
    search.look()
    assert bridge.calls == [("search", "", "trending", "")]
    assert len(search.models) == 4


def test_typing_asks_once_after_a_pause(bridge, search, qtbot) -> None:
    search._debounce.setInterval(1)
    for text in ("h", "he", "heron "):
        search.set_text(text)
    qtbot.waitUntil(lambda: bridge.count("search") == 1)
    assert bridge.calls == [("search", "heron", "trending", "")]
    search.set_text("heron")
    assert not search._debounce.isActive()


def test_an_answer_to_an_older_question_is_dropped(bridge, search) -> None:
    search.ask()
    search.set_sort("likes")
    newer = bridge.waiting.pop()
    bridge.answers["search"] = HubPage([hub.model("new/one")])
    newer()
    bridge.answers["search"] = hub.page()
    bridge.run()
    assert repos(search) == ["new/one"]
    assert not search.asking


def test_more_is_added_without_doubles(bridge, search, qtbot) -> None:
    items = HubItems(search)
    QAbstractItemModelTester(items, STRICT)
    search.ask()
    bridge.run()
    assert search.has_more
    bridge.answers["search"] = HubPage([hub.model(), hub.model("one/more")])
    with qtbot.assertNotEmitted(items.modelReset):
        search.more()
        search.more()
        bridge.run()
    assert bridge.calls[-1] == ("search", "", "trending", "next")
    assert repos(search)[4:] == ["one/more"]
    assert items.rowCount() == 5
    assert not search.has_more


def test_a_search_that_fails_is_a_sentence_and_keeps_what_more_was_asked_of(bridge, search) -> None:
    search.ask()
    bridge.run()
    bridge.answers["search"] = GONE
    search.more()
    bridge.run()
    assert search.problem == "The hub cannot be reached. Try again."
    assert len(search.models) == 4
    search.ask()
    bridge.run()
    assert search.models == ()
    bridge.answers["search"] = hub.catalog()
    search.look()
    bridge.run()
    assert search.offline
    assert search.problem == ""
    bridge.answers["search"] = hub.page()
    search.look()
    bridge.run()
    assert not search.offline


def test_what_a_row_says(bridge, search) -> None:
    items = HubItems(search)
    search.ask()
    bridge.run()
    heron, _, otter, wren = (items.index(row) for row in range(4))
    assert heron.data() == "Heron-7B-Instruct-GGUF"
    assert heron.data(Role.OWNER) == "heron-lab"
    assert heron.data(Role.FACTS) == "7.6 B · llama · apache-2.0"
    assert heron.data(Role.NOTE) == "1.2 M downloads"
    assert (heron.data(Role.GATED), otter.data(Role.GATED)) == ("", "Licence to accept")
    assert wren.data(Role.FACTS) == "135 M · llama"
    assert items.row_of("tiny/Wren-135M-GGUF").row() == 3
    assert not items.row_of("no/such").isValid()


def test_words() -> None:
    assert [count_text(n) for n in (0, 999, 1234, 134_515_008)] == ["0", "999", "1.2 k", "135 M"]
    assert speed_text(8.44) == "about 8.4 tokens/s"
    assert speed_text(184.2) == "about 184 tokens/s"
    assert speed_text(None) == ""
    assert "<" not in plain_tip("<b>bold</b>")
    assert purpose_text("download") == "Download"
    assert purpose_text("something new") == "something new"


# --- card -------------------------------------------------------------------------------------------


@pytest.fixture
def card(bridge) -> CardStore:
    return CardStore(bridge)


def test_a_card_opens_with_its_recommended_file_and_asks_exact_figures(bridge, card, qtbot) -> None:
    card._pause.setInterval(1)
    card.open("a/b")
    card.open("a/b")
    bridge.run()
    assert bridge.count("card") == 1
    assert card.chosen == "Heron-7B-Instruct-Q4_0.gguf"
    assert card.asking_fit
    qtbot.waitUntil(lambda: bridge.count("fit") == 1)
    bridge.run()
    assert bridge.calls[-1] == ("fit", card.card.model.repo, card.chosen, "a" * 40)
    assert card.fit_of(card.choice).needed_bytes == 5_555_555_555


def test_walking_over_rows_asks_for_the_last_one_only(bridge, card, qtbot) -> None:
    bridge.answers["card"] = lambda repo: hub.card(model=hub.model(repo))
    card._pause.setInterval(1)
    card.open("a/b")
    bridge.run()
    for choice in card.models[:4]:
        card.choose(choice.name)
    qtbot.waitUntil(lambda: bridge.count("fit") == 1)
    assert bridge.calls[-1][2] == card.models[3].name


def test_figures_that_fail_are_a_sentence_and_can_be_asked_for_again(bridge, card) -> None:
    bridge.answers["card"] = lambda repo: hub.card(model=hub.model(repo))
    bridge.answers["fit"] = GONE
    card.open("a/b")
    bridge.run()
    card.ask_fit()
    bridge.run()
    assert card.fit_problem == "The hub cannot be reached. Try again."
    bridge.answers["fit"] = hub.fit("no", exact=True)
    card.ask_fit()
    bridge.run()
    assert (card.fit_problem, card.fit_of(card.choice).verdict) == ("", "no")


def test_a_card_left_meanwhile_is_dropped(bridge, card) -> None:
    bridge.answers["card"] = lambda repo: hub.card(model=hub.model(repo))
    card.open("a/b")
    card.open("c/d")
    bridge.run()
    assert card.card.model.repo == "c/d"


def test_a_card_that_cannot_be_had_is_a_sentence(bridge, card) -> None:
    bridge.answers["card"] = HubDenied("It wants a licence accepted.", hint="Open its page.")
    card.open("a/b")
    bridge.run()
    assert card.problem == "It wants a licence accepted. Open its page."
    bridge.answers["card"] = hub.card()
    card.reload()
    bridge.run()
    assert card.problem == ""


def test_the_table_of_files(bridge, card) -> None:
    items = ChoiceItems(card)
    QAbstractItemModelTester(items, STRICT)
    card.open("heron-lab/Heron-7B-Instruct-GGUF")
    bridge.run()
    rows = [[items.index(row, column).data() for column in Column] for row in range(5)]
    assert rows[0] == ["Q2_K", "2.9 GB", "4.0 GB", "Fits", "17", ""]
    assert rows[2][3:5] == ["Fits with a shorter context", "8.4"]
    assert rows[3][3:5] == ["Does not fit", ""]
    assert rows[4][2:5] == ["", "Not known", ""]
    assert items.index(1, 0).data(ChoiceRole.RECOMMENDED) == "Recommended"
    assert {items.index(row, 3).data(ChoiceRole.ICON) for row in range(5)} == {
        "check",
        "info",
        "x",
        "question",
    }
    assert [choice.name for choice in card.companions] == ["mmproj-F16.gguf"]


# --- suggestion -------------------------------------------------------------------------------------


@pytest.fixture
def suggestion(bridge) -> SuggestionStore:
    large = hub.model("big/Huge-70B-GGUF", parameters=70_000_000_000, purpose="chat")
    heron = hub.model(purpose="chat")
    small = hub.model("someone/Quill-1.7B-GGUF", parameters=1_700_000_000, purpose="chat")
    code = hub.model("someone/Code-8B-GGUF", parameters=8_000_000_000, purpose="code")
    bridge.answers["search"] = HubPage([small, large, heron, code])
    bridge.answers["card"] = lambda repo: hub.card(model=hub.model(repo))
    return SuggestionStore(bridge)


def test_the_largest_that_fits_and_is_fast_enough_is_suggested(bridge, suggestion) -> None:
    suggestion.look()
    bridge.run()
    assert suggestion.phase == "found"
    assert suggestion.card.model.repo == hub.model().repo
    assert suggestion.choice.quantization == "Q4_0"
    assert bridge.count("card") == 1
    suggestion.look()
    assert bridge.count("hardware") == 1


def test_a_slow_one_makes_room_for_a_smaller_one(bridge, suggestion) -> None:
    def answer(repo):
        writes = 1.5 if "-7B-" in repo else 14.0
        best = hub.choice("Q4_0", 1.2, fit=hub.fit(writes=writes), recommended="it fits")
        return hub.card(model=hub.model(repo), choices=(best,))

    bridge.answers["card"] = answer
    suggestion.look()
    bridge.run()
    assert suggestion.card.model.repo == "someone/Quill-1.7B-GGUF"


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("hardware", ServiceUnavailable("not here")),
        ("search", GONE),
        ("search", hub.catalog()),
        ("card", GONE),
        ("card", hub.card(choices=())),
    ],
)
def test_without_the_hub_there_is_none(bridge, suggestion, asked, answer) -> None:
    bridge.answers[asked] = answer
    suggestion.look()
    bridge.run()
    assert (suggestion.phase, suggestion.card, suggestion.choice) == ("none", None, None)


# --- network ----------------------------------------------------------------------------------------


def test_the_service_hears_of_the_switch_and_the_limit_at_once(bridge, tmp_path) -> None:
    settings = SettingsStore(Paths.find(tmp_path))
    network = NetworkStore(bridge, settings)
    bridge.answers |= {
        "set_offline": lambda offline: Access(endpoint="https://h", offline=offline),
        "set_limit": lambda limit: DownloadList([], limit),
    }
    settings.set("network.offline", value=True)
    settings.set("network.download_limit_kib_s", 1536)
    bridge.run()
    assert bridge.calls == [("set_offline", True), ("set_limit", 1536 * 1024)]
    assert network.access.offline
    assert not settings.restart_needed
    settings.set("network.endpoint", "https://mirror.example")
    assert settings.restart_needed


def test_connections_and_trouble(bridge, tmp_path) -> None:
    network = NetworkStore(bridge, SettingsStore(Paths.find(tmp_path)))
    items = ConnectionItems(network)
    QAbstractItemModelTester(items, STRICT)
    network.refresh()
    bridge.run()
    cells = [items.index(1, column).data() for column in range(1, 6)]
    assert cells == ["cdn.hub.example", "Download", "48", "4.2 GB", "0"]
    assert items.index(2, 5).data() == "2"
    assert network.access == hub.ACCESS
    bridge.answers["set_token"] = GONE
    network.set_token("hf_x")
    bridge.run()
    assert network.problem == "The hub cannot be reached. Try again."
    assert network.access == hub.ACCESS
