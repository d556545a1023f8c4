"""The store of downloads: when it asks, what it tells, how a cancelled one comes back."""

import pytest

from app.item_models.download_words import duration_text, percent_text, progress_text, state_text
from app.stores.downloads import MOVING_MS, WATCHED_MS, DownloadsStore
from engine.api.hub import DownloadChange, DownloadList, DownloadRequest
from engine.errors import DiskFull, ServiceUnavailable
from tests.helpers.fake_bridge import FakeBridge
from tests.helpers.hub_values import GIB, download

pytestmark = pytest.mark.gui


@pytest.fixture
def bridge(qapp) -> FakeBridge:
    return FakeBridge(
        downloads=DownloadList([]), change=lambda name, change: DownloadList([]), download=download
    )


@pytest.fixture
def store(bridge) -> DownloadsStore:
    return DownloadsStore(bridge)


def take(bridge: FakeBridge, store: DownloadsStore, *downloads) -> None:
    bridge.answers["downloads"] = DownloadList(list(downloads))
    store.refresh()
    bridge.run()


def changes(bridge: FakeBridge) -> list[tuple[str, str]]:
    return [(call[1], call[2].action) for call in bridge.calls if call[0] == "change"]


def test_it_asks_only_while_something_moves_or_somebody_looks(bridge, store) -> None:
    assert not store._poll.isActive()
    take(bridge, store, download("a"))
    assert (store._poll.isActive(), store._poll.interval()) == (True, MOVING_MS)
    take(bridge, store, download("a", "paused"))
    assert not store._poll.isActive()
    store.watch(True)
    bridge.run()
    assert (store._poll.isActive(), store._poll.interval()) == (True, WATCHED_MS)
    store.watch(False)
    assert not store._poll.isActive()


def test_without_a_service_it_does_not_go_on_asking(bridge, store) -> None:
    take(bridge, store, download("a"))
    bridge.answers["downloads"] = ServiceUnavailable("It is gone.")
    store.refresh()
    bridge.run()
    assert not store._poll.isActive()
    assert len(store.downloads) == 1


def test_an_arrival_is_told_once_and_old_ones_are_not(bridge, store, qtbot) -> None:
    with qtbot.assertNotEmitted(store.arrived):
        take(bridge, store, download("old", "done", model="old-model"), download("a"))
    with qtbot.waitSignal(store.arrived) as arrived:
        take(bridge, store, download("a", "done", model="new-model"))
    assert arrived.args == ["new-model"]
    with qtbot.assertNotEmitted(store.arrived):
        take(bridge, store, download("a", "done", model="new-model"))


def test_one_that_is_begun_here_is_followed(bridge, store, qtbot) -> None:
    bridge.answers["download"] = download("a", "queued")
    bridge.answers["downloads"] = DownloadList([download("a", "queued")])
    request = DownloadRequest("o/r", "x.gguf")
    store.start(request)
    bridge.run()
    assert ("download", request) in bridge.calls
    assert store._poll.isActive()
    info = store.downloads[0]
    assert store.find(info.repo, info.name) == info
    assert store.find(info.repo, "other") is None


def test_one_that_cannot_be_begun_is_a_sentence(bridge, store, qtbot) -> None:
    bridge.answers["download"] = DiskFull("There is not enough space.", hint="Delete something.")
    with qtbot.waitSignal(store.failed) as failed:
        store.start(DownloadRequest("o/r"))
        bridge.run()
    assert failed.args == ["There is not enough space. Delete something."]


def test_pause_resume_and_move(bridge, store) -> None:
    take(bridge, store, download("a"), download("b", "queued", position=1))
    assert store.num_queued == 2
    store.pause("a")
    store.resume("a")
    store.move("b", 0)
    assert [call[1:] for call in bridge.calls if call[0] == "change"] == [
        ("a", DownloadChange(action="pause")),
        ("a", DownloadChange(action="resume")),
        ("b", DownloadChange(action="move", position=0)),
    ]


def test_one_with_little_in_it_is_cancelled_at_once(bridge, store, qtbot) -> None:
    take(bridge, store, download("a", done_bytes=100))
    with qtbot.assertNotEmitted(store.cancelled):
        store.cancel("a")
    assert changes(bridge) == [("a", "cancel")]


def test_one_with_much_in_it_waits_paused_and_comes_back(bridge, store, qtbot) -> None:
    take(bridge, store, download("a"))
    with qtbot.waitSignal(store.cancelled) as cancelled:
        store.cancel("a")
    assert cancelled.args[0] == "a"
    assert store.downloads == ()
    assert changes(bridge) == [("a", "pause")]
    store.undo_cancel("a")
    assert [info.id for info in store.downloads] == ["a"]
    assert changes(bridge) == [("a", "pause"), ("a", "resume")]


def test_one_that_is_not_taken_back_goes(bridge, store, qtbot) -> None:
    store._undo.setInterval(1)
    take(bridge, store, download("a", "paused"))
    store.cancel("a")
    qtbot.waitUntil(lambda: changes(bridge) == [("a", "cancel")])
    store.undo_cancel("a")
    assert changes(bridge) == [("a", "cancel")]
    assert store.downloads == ()


def test_the_next_one_ends_the_chance_of_the_last(bridge, store) -> None:
    take(bridge, store, download("a"), download("b"))
    store.cancel("a")
    store.cancel("b")
    assert changes(bridge) == [("a", "pause"), ("a", "cancel"), ("b", "pause")]
    store.finish_cancel()
    assert changes(bridge)[-1] == ("b", "cancel")


def test_a_change_that_fails_is_a_sentence_and_shows_what_is(bridge, store, qtbot) -> None:
    take(bridge, store, download("a"))
    bridge.answers["change"] = ServiceUnavailable("It is gone.")
    with qtbot.waitSignal(store.failed):
        store.pause("a")
        bridge.run()
    assert bridge.count("downloads") == 2


# --- words ------------------------------------------------------------------------------------------


def test_progress_in_words() -> None:
    assert progress_text(download("a")) == "1.2 of 4.9 GB · 23.4 MB/s · 2:41 left"
    assert progress_text(download("a", "paused")) == "1.2 of 4.9 GB"
    assert progress_text(download("a", "done")) == "4.9 GB"
    small = download("a", total_bytes=94 << 20, done_bytes=12 << 20, bytes_per_s=0.0, left_s=None)
    assert progress_text(small) == "12 of 94 MB"
    assert duration_text(3761) == "1:02:41"
    assert duration_text(0.2) == "0:00"


def test_nothing_is_whole_before_it_is_done() -> None:
    almost = download("a", "checking", done_bytes=round(4.9 * GIB))
    assert percent_text(almost) == "99 %"
    assert percent_text(download("a", total_bytes=0)) == "0 %"
    states = ("queued", "running", "waiting", "paused", "checking", "done", "failed")
    assert len({state_text(download("a", state)) for state in states}) == len(states)
