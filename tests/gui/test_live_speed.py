"""The speed is shown while an answer is written, not only at its end."""

import pytest

from app.history import History
from app.stores.chat import ChatStore
from engine.api.events import TextDelta
from tests.helpers.fake_streams import FakeStreams

pytestmark = pytest.mark.gui


def test_tokens_per_second_while_writing(tmp_path, qtbot) -> None:
    history, streams = History(tmp_path / "history.sqlite3"), FakeStreams()
    store = ChatStore(history, streams)
    store.set_model("m")
    store.send("Hello")
    streams.event.emit(1, TextDelta(0, "a", "", 1))
    with qtbot.waitSignal(store.speed_changed) as told:
        streams.event.emit(1, TextDelta(0, "b", "", 2))
    speed, first_ms = told.args
    assert speed > 0
    assert first_ms >= 0
    store.close()
    history.close()
