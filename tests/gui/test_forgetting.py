"""A deleted conversation is deleted where the service keeps what it read of it, now or later."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.history import History
from app.stores.asking import cache_key
from app.stores.chat import ChatStore
from app.stores.forgetting import Forgetting
from engine.errors import ServiceUnavailable
from tests.helpers.fake_bridge import FakeBridge
from tests.helpers.fake_streams import FakeStreams

pytestmark = pytest.mark.gui
AWAY = ServiceUnavailable("Gone.")


class Window:
    """The stores of one window; it can be opened again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.bridge = FakeBridge(forget=None)
        self.open()

    def open(self) -> None:
        self.history = History(self._folder / "history.sqlite3")
        self.streams = FakeStreams()
        self.chat = ChatStore(self.history, self.streams)
        self.forgetting = Forgetting(self.history, self.chat, self.bridge)

    def close(self) -> None:
        self.chat.close()
        self.history.close()

    def reopen(self) -> None:
        self.close()
        self.bridge.waiting.clear()  # nobody hears the replies any more
        self.bridge.calls.clear()
        self.open()

    @property
    def told(self) -> list[str]:
        return [call[1] for call in self.bridge.calls if call[0] == "forget"]

    def chat_with(self, text: str) -> tuple[int, str]:
        """A new conversation; its number and its name at the service."""
        self.chat.open(None)
        self.chat.send(text)
        conversation = self.chat.ensure_conversation().id
        key = self.streams.requests[-1].prompt_cache_key
        assert key == cache_key(self.history, conversation)
        return conversation, key


@pytest.fixture
def window(tmp_path: Path, qtbot: QtBot) -> Iterator[Window]:
    window = Window(tmp_path)
    yield window
    window.close()


def test_a_deleted_conversation_is_forgotten_once(window: Window) -> None:
    conversation, key = window.chat_with("Hello")
    other, _ = window.chat_with("Other")
    window.chat.delete(conversation)
    assert window.streams.cancelled == [1]
    assert window.told == [key]
    window.bridge.run()
    window.forgetting.tell()
    assert window.told == [key]
    window.reopen()
    window.forgetting.tell()
    assert not window.told
    assert window.history.conversation(other) is not None


def test_while_the_service_is_away_it_is_noted_and_told_later(window: Window) -> None:
    window.bridge.answers["forget"] = AWAY
    keys = []
    for text in ("One", "Two"):
        conversation, key = window.chat_with(text)
        window.chat.delete(conversation)
        keys.append(key)
    window.bridge.run()
    window.reopen()
    window.forgetting.tell()
    window.forgetting.tell()  # the first is still on its way
    assert window.told == keys
    window.bridge.run()
    window.bridge.answers["forget"] = None
    window.forgetting.tell()
    window.bridge.run()
    window.reopen()
    window.forgetting.tell()
    assert not window.told


def test_a_window_that_closes_before_the_reply_tells_it_again(window: Window) -> None:
    conversation, key = window.chat_with("Hello")
    window.chat.delete(conversation)
    window.reopen()
    window.forgetting.tell()
    assert window.told == [key]


def test_undo_is_no_trouble(window: Window) -> None:
    conversation, key = window.chat_with("Hello")
    window.chat.delete(conversation)
    window.chat.restore(conversation)
    window.bridge.run()
    window.chat.open(conversation)
    assert [m.content for m in window.chat.messages() if m.role == "user"] == ["Hello"]
    window.chat.delete(conversation)
    assert window.told == [key, key]


def test_a_note_that_is_nonsense_is_none(window: Window) -> None:
    for nonsense in ("{", '{"a": 1}', "[1]"):
        window.history.set_value("to be forgotten", nonsense)
        window.reopen()
        window.forgetting.tell()
        assert not window.told
    conversation, key = window.chat_with("Hello")
    window.chat.delete(conversation)
    assert window.told == [key]
