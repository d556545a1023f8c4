"""The service hears of what is typed, and it is the beginning of what is sent."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from app.history import History
from app.stores.chat import ChatStore
from app.stores.hinting import Hinting
from app.stores.models import ModelsStore
from app.widgets.chat.composer import GOING_ON_MS, PAUSE_MS, Composer
from engine.api.models import ModelList
from engine.api.requests import ChatRequest
from engine.errors import EngineError, ServiceUnavailable
from tests.helpers.fake_bridge import FakeBridge
from tests.helpers.fake_streams import FakeStreams
from tests.helpers.library_values import info

pytestmark = pytest.mark.gui


class Typing:
    """Stores without widgets; the model `m` is loaded."""

    def __init__(self, folder: Path) -> None:
        self.history = History(folder / "history.sqlite3")
        self.streams = FakeStreams()
        self.bridge = FakeBridge(prefill=True)
        self.store = ChatStore(self.history, self.streams)
        self.models = ModelsStore(self.bridge)
        self.hinting = Hinting(self.history, self.store, self.models, self.bridge)
        self.store.set_model("m")
        self.list_model()

    def list_model(self, **fields: Any) -> None:
        loaded: dict[str, Any] = {"state": "ready", "n_ctx": 4096}
        self.bridge.answers["library"] = ModelList([info("m", **{**loaded, **fields})])
        self.models.refresh()
        self.bridge.run()

    @property
    def hints(self) -> list[ChatRequest]:
        return [call[1] for call in self.bridge.calls if call[0] == "prefill"]

    def answered(self, question: str, answer: str) -> None:
        self.store.send(question)
        self.streams.says(answer)
        self.streams.ends()


@pytest.fixture
def typing(tmp_path: Path, qtbot: QtBot) -> Iterator[Typing]:
    typing = Typing(tmp_path)
    yield typing
    typing.store.close()
    typing.history.close()


def test_a_draft_is_the_beginning_of_the_request_that_sends_it(typing: Typing) -> None:
    typing.store.set_options(system_prompt="Be brief.", parameters={"temperature": 0.5})
    typing.answered("One?", "Two.")
    conversation = typing.store.ensure_conversation()
    typing.history.attach(conversation.id, "a.txt", "Attached text.")
    draft = "And then \ud83d\ude42"  # halves of an emoji, as a paste may hold
    typing.hinting.tell(draft)
    typing.store.send(draft)
    hint, sent = typing.hints[-1], typing.streams.requests[-1]
    assert hint == sent
    assert [message.role for message in hint.messages] == ["system", "user", "assistant", "user"]
    assert "Attached text." in str(hint.messages[-1].content)
    assert hint.prompt_cache_key
    typing.bridge.run()


def test_every_conversation_has_a_name_of_its_own_that_stays(
    typing: Typing, tmp_path: Path
) -> None:
    keys = []
    for _ in range(2):
        typing.store.open(None)
        typing.answered("Q", "A")
        typing.answered("Q", "A")
        keys.append([request.prompt_cache_key for request in typing.streams.requests[-2:]])
    (first, again), (other, _) = keys
    assert first == again != other
    typing.store.close()
    typing.history.close()
    typing.history = History(tmp_path / "history.sqlite3")
    typing.store = ChatStore(typing.history, typing.streams)
    typing.store.open(typing.history.conversations()[-1].id)
    typing.answered("Q", "A")
    assert typing.streams.requests[-1].prompt_cache_key == first


def test_a_first_message_is_read_along_too(typing: Typing) -> None:
    typing.hinting.tell("What is the")
    (hint,) = typing.hints
    assert [(m.role, m.content) for m in hint.messages] == [("user", "What is the")]
    assert typing.store.conversation is None


def test_only_more_text_is_told_and_one_hint_at_a_time(typing: Typing) -> None:
    typing.hinting.tell("What is")
    typing.hinting.tell("What is the capital")
    assert len(typing.hints) == 1
    typing.bridge.run()
    assert [hint.messages[-1].content for hint in typing.hints] == [
        "What is",
        "What is the capital",
    ]
    for nothing_new in ("What is the capital", "What is the capital o", "What is", "", "  "):
        typing.hinting.tell(nothing_new)
    assert len(typing.hints) == 2
    typing.hinting.tell("What else")
    assert len(typing.hints) == 3


def test_what_lies_beside_the_draft_is_worth_a_hint(typing: Typing) -> None:
    conversation = typing.store.ensure_conversation()
    typing.hinting.tell("")
    assert not typing.hints
    typing.history.attach(conversation.id, "a.txt", "Attached text.")
    typing.hinting.tell("")
    typing.bridge.run()
    typing.history.attach(conversation.id, "b.txt", "More.")
    typing.hinting.tell("")
    assert len(typing.hints) == 2


def test_nothing_is_told_when_it_is_of_no_use(typing: Typing) -> None:
    typing.hinting.enabled = False
    typing.hinting.tell("Hello there")
    typing.hinting.enabled = True
    for fields in ({"state": "unloaded"}, {"state": "loading"}, {"n_ctx": 1}):
        typing.list_model(**fields)
        typing.hinting.tell("Hello there")
    assert not typing.hints
    typing.list_model()
    assert len(typing.hints) == 1  # it has just become ready
    typing.store.send("Question")
    typing.hinting.tell("Hello there")
    assert len(typing.hints) == 1  # an answer is being written
    typing.streams.says("Answer")
    typing.streams.ends()
    hint = typing.hints[1]  # now it is useful
    assert [m.content for m in hint.messages] == ["Question", "Answer", "Hello there"]


def test_what_was_sent_is_not_told_again(typing: Typing) -> None:
    typing.hinting.tell("Hello there")
    typing.bridge.run()
    typing.answered("Hello there", "Hi.")
    assert len(typing.hints) == 1
    typing.hinting.tell("Hello there")  # the same words once more are another message
    assert len(typing.hints) == 2


@pytest.mark.parametrize("reply", [False, ServiceUnavailable("Gone.")])
def test_a_service_that_will_not_or_cannot_is_asked_again_only_when_more_is_typed(
    typing: Typing, qtbot: QtBot, reply: bool | EngineError
) -> None:
    said: list[str] = []
    typing.store.failed.connect(said.append)
    typing.bridge.answers["prefill"] = reply
    typing.hinting.tell("Hello there")
    typing.bridge.run()
    assert len(typing.hints) == 1
    typing.hinting.tell("Hello there")
    typing.bridge.run()
    assert len(typing.hints) == 2
    assert not said


def test_the_composer_tells_at_a_pause_and_while_typing_goes_on(qtbot: QtBot) -> None:
    composer = Composer()
    qtbot.addWidget(composer)
    told: list[str] = []
    composer.paused.connect(told.append)
    for letter in "abc":
        qtbot.keyClicks(composer.editor, letter)
        assert not told
    qtbot.waitUntil(lambda: told == ["abc"], timeout=10 * PAUSE_MS)
    assert not composer._going_on.isActive()

    def typing_on() -> None:
        qtbot.keyClicks(composer.editor, "x")
        assert len(told) == 2

    qtbot.waitUntil(typing_on, timeout=10 * GOING_ON_MS)
    assert told[1].startswith("abcx")
