"""Keeping models as the window sees it: defaults, verification, disk use, deleting; no widgets."""

import pytest

from app.history import History
from app.stores.asking import chat_request, draft_request
from app.stores.models import ModelsStore
from engine.api.keeping import Defaults, DiskUse, Verified
from engine.api.models import ModelList, Removed
from engine.api.requests import Message
from engine.errors import InvalidRequest, ServiceUnavailable
from tests.helpers.fake_bridge import FakeBridge
from tests.helpers.library_values import HARDWARE, details, info

pytestmark = pytest.mark.gui

GONE = ServiceUnavailable("The service is gone.", hint="It restarts.")


@pytest.fixture
def bridge(qapp) -> FakeBridge:
    return FakeBridge(
        library=ModelList([info("alpha"), info("beta", origin="Hugging Face")]),
        details=details,
        hardware=HARDWARE,
        defaults=lambda model: Defaults(model=model, chosen={"stop": ["x"]}),
        choose=lambda model, chosen: Defaults(model=model, chosen=chosen),
        disk=DiskUse({"alpha": 1, "beta": 2}, {}, 3, 40),
        remove=lambda model, delete_file=False: Removed("trashed" if delete_file else "forgotten"),
    )


@pytest.fixture
def store(bridge) -> ModelsStore:
    store = ModelsStore(bridge)
    store.refresh()
    bridge.run()
    store.select("alpha")
    bridge.run()
    return store


def test_what_is_kept_is_asked_for_with_the_model(bridge, store) -> None:
    keeping = store.keeping
    assert keeping.model == "alpha"
    assert keeping.chosen == {"stop": ["x"]}
    assert keeping.verified is not None
    assert keeping.verified.state == "unknown"
    assert keeping.disk is not None
    assert keeping.disk.free == 40
    store.select("beta")
    assert (keeping.chosen, keeping.verified, keeping.known) == ({}, None, False)


def test_a_default_is_saved_once_after_the_last_change(bridge, store, qtbot) -> None:
    store.keeping.set_default("temperature", 0.5)
    store.keeping.set_default("temperature", 0.7)
    assert bridge.count("choose") == 0
    qtbot.waitUntil(lambda: bridge.count("choose") == 1)
    # what has no field is kept
    assert bridge.calls[-1] == ("choose", "alpha", {"stop": ["x"], "temperature": 0.7})
    bridge.run()
    store.keeping.set_default("temperature", None)
    store.keeping.save_now()
    assert bridge.calls[-1] == ("choose", "alpha", {"stop": ["x"]})


def test_what_was_changed_is_saved_before_another_model_is_shown(bridge, store) -> None:
    store.keeping.set_default("top_k", 20)
    store.select("beta")
    assert ("choose", "alpha", {"stop": ["x"], "top_k": 20}) in bridge.calls
    bridge.run()
    assert store.keeping.chosen == {"stop": ["x"]}


def test_an_older_answer_does_not_undo_a_newer_change(bridge, store) -> None:
    store.refresh_details()  # its answer is on the way
    store.keeping.set_default("top_k", 20)
    bridge.run()
    assert store.keeping.chosen["top_k"] == 20
    store.keeping.save_now()
    store.keeping.set_default("top_k", 30)
    bridge.run()
    assert store.keeping.chosen["top_k"] == 30


def test_a_default_that_is_refused_is_told_and_taken_back(bridge, store, qtbot) -> None:
    bridge.answers["choose"] = InvalidRequest("That is not possible.", hint="Correct it.")
    store.keeping.set_default("temperature", 99.0)
    store.keeping.save_now()
    with qtbot.waitSignal(store.failed) as told:
        bridge.run()
    assert told.args == ["That is not possible. Correct it."]
    assert store.keeping.chosen == {"stop": ["x"]}


def test_what_was_chosen_waits_for_a_service_that_is_away(bridge, store) -> None:
    answer, bridge.answers["choose"] = bridge.answers["choose"], GONE
    store.keeping.set_default("top_k", 20)
    store.keeping.save_now()
    bridge.run()
    assert store.keeping.chosen["top_k"] == 20
    bridge.answers["choose"] = answer
    store.refresh_details()  # as when it is back
    bridge.run()
    assert bridge.count("choose") == 2
    assert store.keeping.chosen == {"stop": ["x"], "top_k": 20}


def test_answers_in_another_order_show_the_newest(bridge, store) -> None:
    store.refresh_details()
    asked = [reply for reply in bridge.waiting if reply.__name__ == "defaults"]
    store.keeping.set_default("top_k", 20)
    store.keeping.save_now()
    store.refresh_details()
    asked += [reply for reply in bridge.waiting if reply.__name__ == "defaults"][1:]
    bridge.run(leave="defaults")
    for reply in asked:  # asked before the choice was kept, answered after it
        reply()
    assert store.keeping.chosen == {"stop": ["x"], "top_k": 20}


def test_a_save_on_its_way_does_not_hide_the_next_models_defaults(bridge, store) -> None:
    store.keeping.set_default("top_k", 20)
    store.select("beta")
    bridge.run(leave="choose")
    assert store.keeping.known
    bridge.run()
    assert store.keeping.chosen == {"stop": ["x"]}


def test_nothing_can_be_chosen_before_the_defaults_are_known(bridge, store) -> None:
    bridge.answers["defaults"] = GONE
    store.select("beta")
    bridge.run()
    store.keeping.set_default("top_k", 20)
    store.keeping.save_now()
    assert bridge.count("choose") == 0


@pytest.mark.parametrize(("name", "value", "plans"), [("context", 512, 1), ("top_k", 5, 0)])
def test_only_what_changes_the_load_is_planned_anew(bridge, store, name, value, plans) -> None:
    asked = bridge.count("details")
    store.keeping.set_default(name, value)
    store.keeping.save_now()
    bridge.run()
    assert bridge.count("details") - asked == plans


def test_suggestions_are_used_and_everything_is_reset(bridge, store) -> None:
    suggested = {"temperature": 0.6, "system": "Be kind."}
    bridge.answers["defaults"] = lambda model: Defaults(model=model, suggested=suggested)
    store.refresh_details()
    bridge.run()
    store.keeping.use_suggested()
    assert store.keeping.chosen == suggested
    store.keeping.reset()
    store.keeping.save_now()
    assert bridge.calls[-1] == ("choose", "alpha", {})


def test_reading_is_followed_until_it_is_over(bridge, store, qtbot) -> None:
    running = Verified(model="alpha", state="running", fraction=0.43)
    bridge.answers |= {"verify": running, "verification": running}
    store.keeping.verify()
    bridge.run()
    asked = bridge.count("verification")
    qtbot.waitUntil(lambda: bridge.count("verification") == asked + 1)
    bridge.answers["verification"] = Verified(model="alpha", state="ok", sha256=("a" * 64,))
    bridge.run()
    assert store.keeping.verified.state == "ok"
    assert not store.keeping._poll.isActive()


def test_reading_can_be_stopped_and_is_not_followed_elsewhere(bridge, store) -> None:
    running = Verified(model="alpha", state="running", fraction=0.43)
    bridge.answers |= {
        "verify": running,
        "stop_verifying": Verified(model="alpha", state="unknown"),
    }
    store.keeping.verify()
    bridge.run()
    assert store.keeping._poll.isActive()
    store.keeping.stop_verifying()
    bridge.run()
    assert not store.keeping._poll.isActive()
    store.keeping.verify()
    bridge.run()
    store.select("beta")
    assert not store.keeping._poll.isActive()


def test_a_late_answer_about_another_model_is_passed_over(bridge, store) -> None:
    bridge.answers["verify"] = Verified(model="alpha", state="running")
    store.keeping.verify()
    store.select("beta")
    bridge.run()
    assert store.keeping.verified.model == "beta"
    assert not store.keeping._poll.isActive()


def test_deleting_the_file_is_not_hiding(bridge, store, qtbot) -> None:
    store.select("beta")
    bridge.run()
    asked = bridge.count("disk")
    store.delete_file("beta")
    assert store.get("beta") is None
    assert store.selected == ""
    bridge.answers["library"] = ModelList([info("alpha")])
    with qtbot.waitSignal(store.deleted) as told:
        bridge.run()
    assert told.args == ["beta", True]
    assert ("remove", "beta", True) in bridge.calls
    assert bridge.count("disk") > asked


def test_a_file_that_cannot_be_deleted_stays_in_the_list(bridge, store, qtbot) -> None:
    bridge.answers["remove"] = GONE
    store.delete_file("beta")
    with qtbot.waitSignal(store.failed):
        bridge.run()
    assert store.get("beta") is not None


def test_the_system_prompt_of_the_model_that_answers_is_followed(bridge, store, qtbot) -> None:
    keeping = store.keeping
    bridge.answers["defaults"] = lambda model: Defaults(model=model, chosen={"system": model})
    keeping.follow("beta")
    with qtbot.waitSignal(keeping.system_changed):
        bridge.run()
    assert keeping.system == "beta"
    asked = bridge.count("defaults")
    keeping.follow("beta")
    assert bridge.count("defaults") == asked
    keeping.follow("alpha")
    assert keeping.system == ""  # not the other model's while this one's is asked for
    bridge.run()
    assert keeping.system == "alpha"


def test_a_models_system_prompt_is_asked_with_where_a_chat_has_none(tmp_path) -> None:
    history = History(tmp_path / "history.sqlite3")
    defaults = {"system": "Be brief.", "max_tokens": 9}
    for own, expected in (("", "Be brief."), ("  \n", "Be brief."), ("Be long.", "Be long.")):
        conversation = history.create(system_prompt=own)
        user = history.add_user(conversation.id, "Hello", None)
        answer = history.begin_answer(user.id, model="alpha")
        sent = chat_request(history, answer, model="alpha", defaults=defaults, goes_on=False)
        assert sent.messages == [Message("system", expected), Message("user", "Hello")]
        assert sent.max_tokens == 9
    # what is read ahead is what will be sent
    draft = draft_request(history, None, "Hello", model="alpha", defaults=defaults)
    assert draft.messages == [Message("system", "Be brief."), Message("user", "Hello")]
    assert defaults["system"] == "Be brief."
    history.close()
