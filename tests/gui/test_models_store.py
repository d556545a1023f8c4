import pytest
from PySide6.QtTest import QAbstractItemModelTester

from app.item_models.library import LibraryItems, Role, size_text
from app.stores.models import ModelsStore
from engine.api.models import ModelInfo, ModelList, Removed, StarterInfo
from engine.errors import ModelFormatError, OutOfMemory, ServiceUnavailable
from tests.helpers.fake_bridge import FakeBridge
from tests.helpers.library_values import GIB, HARDWARE, STARTER, details, info

pytestmark = pytest.mark.gui


@pytest.fixture
def bridge(qapp) -> FakeBridge:
    return FakeBridge(
        library=ModelList([info("beta"), info("alpha")]),
        details=details,
        hardware=HARDWARE,
        starter=STARTER,
        load=lambda name: info(name, state="ready"),
        unload=info,
        add=lambda path: info("new", path=path),
        remove=lambda name: Removed("trashed"),
    )


@pytest.fixture
def store(bridge) -> ModelsStore:
    store = ModelsStore(bridge)
    assert store.phase == "loading"
    store.refresh()
    bridge.run()
    return store


def ids(store: ModelsStore) -> list[str]:
    return [model.id for model in store.models]


def test_models_are_sorted_and_nothing_is_asked_while_nothing_changes(bridge, store) -> None:
    assert ids(store) == ["alpha", "beta"]
    assert store.phase == "ready"
    assert not store._poll.isActive()
    assert bridge.count("library") == 1


def test_many_notices_become_one_more_request(bridge, store) -> None:
    for _ in range(5):
        store.notify()
    bridge.run()
    assert bridge.count("library") == 3


def test_an_unchanged_list_is_not_announced(bridge, store, qtbot) -> None:
    with qtbot.assertNotEmitted(store.changed):
        store.notify()
        bridge.run()


def test_trouble_with_the_library_itself_is_told(bridge, store) -> None:
    bridge.answers["library"] = ModelList([info("alpha")], notice="The folder could not be read.")
    store.notify()
    bridge.run()
    assert store.notice == "The folder could not be read."
    assert ids(store) == ["alpha"]


def test_details_of_the_chosen_model(bridge, store) -> None:
    store.select("alpha")
    bridge.run()
    assert store.details == details("alpha")
    assert store.free_bytes == 6 * GIB


def test_details_of_a_model_left_meanwhile_are_dropped(bridge, store) -> None:
    store.select("alpha")
    store.select("beta")
    bridge.run()
    assert store.details is not None
    assert store.details.id == "beta"


def test_details_that_fail_are_a_sentence(bridge, store) -> None:
    bridge.answers["details"] = lambda name: ModelFormatError("It is cut off.", hint="Fetch it.")
    store.select("alpha")
    bridge.run()
    assert store.details_problem == "It is cut off. Fetch it."


def test_a_load_is_followed_by_a_timer_until_it_ends(bridge, store, qtbot) -> None:
    store.load("alpha")
    assert store.busy("alpha")
    bridge.answers["library"] = ModelList(
        [info("alpha", state="loading", progress=0.4), info("beta")]
    )
    bridge.run(leave="load")
    assert store.get("alpha").progress == 0.4
    asked = bridge.count("library")
    qtbot.waitUntil(lambda: bridge.count("library") > asked)
    bridge.answers["library"] = ModelList([info("alpha", state="ready"), info("beta")])
    bridge.run()
    assert not store.busy("alpha")
    assert not store._poll.isActive()


def test_a_load_seen_from_elsewhere_is_followed_too(bridge, store) -> None:
    bridge.answers["library"] = ModelList([info("alpha", state="loading", progress=0.0)])
    store.notify()
    bridge.run()
    assert store._poll.isActive()


def test_a_failed_load_is_a_sentence(bridge, store, qtbot) -> None:
    bridge.answers["load"] = lambda name: OutOfMemory("It does not fit.", hint="Close something.")
    with qtbot.waitSignal(store.failed) as failed:
        store.load("alpha")
        bridge.run()
    assert failed.args == ["It does not fit. Close something."]
    assert not store.busy("alpha")
    assert not store._poll.isActive()


def test_unload(bridge, store) -> None:
    store.unload("alpha")
    bridge.run()
    assert ("unload", "alpha") in bridge.calls


def test_added_files_are_chosen(bridge, store, qtbot) -> None:
    bridge.answers["library"] = ModelList([info("alpha"), info("beta"), info("new")])
    with qtbot.waitSignal(store.added):
        store.add(["/elsewhere/new.gguf"])
        bridge.run()
    assert ("add", "/elsewhere/new.gguf") in bridge.calls
    assert store.selected == "new"
    assert store.get("new") is not None


def test_a_file_that_is_no_model_is_a_sentence(bridge, store, qtbot) -> None:
    bridge.answers["add"] = lambda path: ModelFormatError("This is no model.")
    with qtbot.waitSignal(store.failed) as failed:
        store.add(["/x.gguf"])
        bridge.run()
    assert failed.args == ["This is no model."]


def test_removal_can_be_taken_back(bridge, store, qtbot) -> None:
    store.select("alpha")
    with qtbot.waitSignal(store.removed):
        store.remove("alpha")
    assert ids(store) == ["beta"]
    assert store.selected == ""
    store.undo_remove("alpha")
    bridge.run()
    assert ids(store) == ["alpha", "beta"]
    assert store.selected == "alpha"
    assert bridge.count("remove") == 0


def test_a_removal_that_is_not_taken_back_happens(bridge, store, qtbot) -> None:
    store._undo.setInterval(1)
    store.remove("alpha")
    qtbot.waitUntil(lambda: bridge.count("remove") == 1)
    bridge.answers["library"] = ModelList([info("beta")])
    bridge.run()
    assert ids(store) == ["beta"]


def test_the_next_removal_ends_the_chance_to_undo_the_last(bridge, store) -> None:
    store.remove("alpha")
    store.remove("beta")
    assert bridge.count("remove") == 1
    store.undo_remove("alpha")
    store.undo_remove("beta")
    bridge.answers["library"] = ModelList([info("beta")])
    bridge.run()
    assert bridge.calls.count(("remove", "alpha")) == 1
    assert ids(store) == ["beta"]


def test_a_removal_that_the_service_refuses_comes_back(bridge, store, qtbot) -> None:
    store._undo.setInterval(1)
    bridge.answers["remove"] = lambda name: OutOfMemory("It could not be removed.")
    store.remove("alpha")
    qtbot.waitUntil(lambda: bridge.count("remove") == 1)
    with qtbot.waitSignal(store.failed):
        bridge.run()
    assert ids(store) == ["alpha", "beta"]


def test_offline_keeps_what_is_known(bridge, store) -> None:
    bridge.answers["library"] = ServiceUnavailable("The service is gone.", hint="It restarts.")
    store.load("alpha")
    bridge.run(leave="load")
    assert store.phase == "offline"
    assert store.problem == "The service is gone. It restarts."
    assert ids(store) == ["alpha", "beta"]
    assert not store._poll.isActive()
    bridge.answers["library"] = ModelList([info("alpha")])
    store.notify()
    bridge.run()
    assert (store.phase, store.problem) == ("ready", "")


def test_starter_is_asked_for_only_by_an_empty_library(bridge, store) -> None:
    assert bridge.count("starter") == 0
    bridge.answers["library"] = ModelList([])
    store.notify()
    bridge.run()
    assert store.starter.info == STARTER


def starter_at(fraction: float) -> StarterInfo:
    return StarterInfo(state="fetching", fraction=fraction, name="S", license="MIT")


def test_starter_is_followed_until_it_arrived(bridge, store, qtbot) -> None:
    starter = store.starter
    bridge.answers |= {"start_starter": starter_at(0.0), "starter": starter_at(0.5)}
    starter.fetch()
    bridge.run()
    qtbot.waitUntil(lambda: bridge.count("starter") == 1)
    bridge.run()
    assert starter.info.fraction == 0.5
    bridge.answers["starter"] = StarterInfo(state="installed")
    asked = bridge.count("library")
    with qtbot.waitSignal(starter.arrived):
        starter.refresh()
        bridge.run()
    assert not starter._poll.isActive()
    assert bridge.count("library") == asked + 1


def test_starter_can_be_cancelled_and_can_fail(bridge, store) -> None:
    starter = store.starter
    bridge.answers |= {"start_starter": starter_at(0.1), "cancel_starter": STARTER}
    starter.fetch()
    bridge.run(leave="starter")
    starter.cancel()
    bridge.run(leave="starter")
    assert starter.info == STARTER
    assert not starter._poll.isActive()
    bridge.answers["starter"] = StarterInfo(state="failed", error="No connection.")
    starter.refresh()
    bridge.run()
    assert starter.problem == "No connection."
    bridge.answers["starter"] = ServiceUnavailable("The service is gone.")
    starter.refresh()
    bridge.run()
    assert starter.problem == "The service is gone."


# --- the item model ---------------------------------------------------------------------------------


def take(bridge: FakeBridge, store: ModelsStore, models: list[ModelInfo]) -> None:
    bridge.answers["library"] = ModelList(models)
    store.notify()
    bridge.run()


def test_items_follow_the_store_row_by_row(bridge, store, qtbot) -> None:
    items = LibraryItems(store)
    QAbstractItemModelTester(items, QAbstractItemModelTester.FailureReportingMode.Warning)
    kept = []
    items.rowsRemoved.connect(lambda *_: kept.append("removed"))
    items.modelReset.connect(lambda: kept.append("reset"))
    take(bridge, store, [info(name) for name in ("alpha", "beta", "gamma", "a")])
    take(bridge, store, [info("beta"), info("zeta"), info("gamma", state="ready")])
    assert [items.index(row).data() for row in range(items.rowCount())] == ["beta", "gamma", "zeta"]
    assert items.row_of("gamma").data(Role.STATE_WORDS) == "In memory"
    assert kept == ["removed", "removed"]
    take(bridge, store, [])
    assert items.rowCount() == 0
    assert not items.row_of("beta").isValid()


def test_item_values(bridge, store) -> None:
    items = LibraryItems(store)
    loading = info("alpha", state="loading", progress=0.42)
    broken = info("beta", problem="It is cut off. Fetch it again.", quantization="")
    take(bridge, store, [loading, broken])
    alpha, beta = items.index(0), items.index(1)
    assert alpha.data(Role.PROGRESS) == 0.42
    assert alpha.data(Role.STATE_WORDS) == "Loading, 42 %"
    assert alpha.data(Role.SUMMARY) == "94 MB · Q4_1"
    assert beta.data(Role.STATE) == "unusable"
    assert beta.data(Role.SUMMARY) == "94 MB"
    assert beta.data(Role.PROBLEM) == "It is cut off. Fetch it again."
    assert set(items.roleNames()) >= set(Role)
    assert items.data(items.index(7)) is None


def test_sizes_read_as_the_engine_writes_them() -> None:
    assert size_text(94 << 20) == "94 MB"
    assert size_text(int(7.84 * GIB)) == "7.8 GB"
