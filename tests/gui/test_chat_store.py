"""Sending, streaming, stopping, branching: and nothing typed or generated is lost or mixed up."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.history import History
from app.stores.chat import ChatStore
from engine.errors import (
    ContextOverflow,
    InvalidRequest,
    ModelNotFound,
    OutOfMemory,
    ServiceUnavailable,
    WorkerCrashed,
)
from tests.helpers.fake_streams import FakeStreams

pytestmark = pytest.mark.gui


class Chat:
    """A store over a real history and played streams."""

    def __init__(self, folder: Path) -> None:
        self.history = History(folder / "history.sqlite3")
        self.streams = FakeStreams()
        self.store = ChatStore(self.history, self.streams)
        self.store.set_model("m")

    @property
    def texts(self) -> list[tuple[str, str, str]]:
        return [(m.role, m.content, m.state) for m in self.store.messages()]


@pytest.fixture
def chat(tmp_path: Path, qapp) -> Iterator[Chat]:
    chat = Chat(tmp_path)
    yield chat
    chat.store.close()
    chat.history.close()


def test_a_sent_message_is_saved_before_its_request_goes_out(chat: Chat, qtbot, tmp_path) -> None:
    seen: list[list[str]] = []
    original = chat.streams.stream

    def stream(request):
        other = History(tmp_path / "history.sqlite3")
        seen.append([m.content for c in other.conversations() for m in other.path(c.id)])
        other.close()
        return original(request)

    chat.streams.stream = stream
    assert chat.store.send("Hello there")
    assert seen[0][0] == "Hello there"
    assert chat.store.busy
    assert chat.store.conversation is not None
    assert chat.store.conversation.title == "Hello there"


def test_an_answer_streams_and_is_saved_at_least_every_100_ms(chat: Chat, qtbot) -> None:
    chat.store.send("Hello")
    with qtbot.waitSignal(chat.store.streamed):
        chat.streams.says("Hi ", reasoning="thinking")
    qtbot.waitUntil(lambda: chat.texts[-1] == ("assistant", "Hi ", "streaming"), timeout=1000)
    chat.streams.says("there")
    with qtbot.waitSignal(chat.store.message_changed):
        chat.streams.ends()
    assert chat.texts == [("user", "Hello", "complete"), ("assistant", "Hi there", "complete")]
    assert chat.store.messages()[-1].reasoning == "thinking"
    assert not chat.store.busy


def test_the_conversation_so_far_is_sent(chat: Chat, qtbot) -> None:
    chat.store.set_options(system_prompt="Be brief.", parameters={"temperature": 0.2})
    chat.store.send("one")
    chat.streams.says("first")
    with qtbot.waitSignal(chat.store.message_changed):
        chat.streams.ends()
    chat.store.send("two")
    request = chat.streams.requests[-1]
    assert [(m.role, m.content) for m in request.messages] == [
        ("system", "Be brief."),
        ("user", "one"),
        ("assistant", "first"),
        ("user", "two"),
    ]
    assert request.temperature == 0.2


def test_stop_keeps_what_came_and_late_text_is_ignored(chat: Chat, qtbot) -> None:
    chat.store.send("Hello")
    with qtbot.waitSignal(chat.store.streamed):
        chat.streams.says("Half")
    chat.store.stop()
    assert chat.streams.cancelled == [1]
    assert chat.texts[-1] == ("assistant", "Half", "stopped")
    chat.streams.says(" late")
    chat.streams.ends()
    qtbot.wait(20)
    assert chat.texts[-1] == ("assistant", "Half", "stopped")


def test_regenerate_keeps_the_earlier_answer(chat: Chat, qtbot) -> None:
    chat.store.send("Hello")
    for text in ("first", "second"):
        chat.streams.says(text)
        with qtbot.waitSignal(chat.store.message_changed):
            chat.streams.ends()
        if text == "first":
            chat.store.regenerate(chat.store.messages()[-1].id)
    answer = chat.store.messages()[-1]
    assert (answer.content, answer.sibling, answer.num_siblings) == ("second", 1, 2)
    chat.store.select_sibling(answer.id, -1)
    assert chat.store.messages()[-1].content == "first"


def test_edit_makes_a_branch(chat: Chat, qtbot) -> None:
    chat.store.send("Helo")
    chat.streams.says("What?")
    with qtbot.waitSignal(chat.store.message_changed):
        chat.streams.ends()
    chat.store.edit(chat.store.messages()[0].id, "Hello")
    assert [m.content for m in chat.streams.requests[-1].messages] == ["Hello"]
    assert chat.store.messages()[0].num_siblings == 2


def test_an_answer_belongs_where_it_began(chat: Chat, qtbot) -> None:
    chat.store.send("in A")
    first = chat.store.conversation
    assert first is not None
    chat.streams.says("answer ")
    chat.store.open(None)
    chat.store.send("in B")
    chat.streams.says("for B", stream=2)
    chat.streams.says("for A", stream=1)
    chat.streams.ends(stream=1)
    with qtbot.waitSignal(chat.store.message_changed):
        chat.streams.ends(stream=2)
    assert chat.texts[-1][1] == "for B"
    chat.store.open(first.id)
    assert chat.texts[-1][1] == "answer for A"


def test_a_deleted_conversation_is_not_written_to_and_can_be_restored(chat: Chat, qtbot) -> None:
    chat.store.send("doomed")
    doomed = chat.store.conversation
    assert doomed is not None
    chat.streams.says("half")
    qtbot.waitUntil(lambda: chat.store.messages()[-1].content == "half", timeout=1000)
    chat.store.delete(doomed.id)
    assert chat.streams.cancelled == [1]
    assert chat.store.conversations() == []
    chat.streams.says("late")
    qtbot.wait(20)
    chat.store.restore(doomed.id)
    chat.store.open(doomed.id)
    assert chat.texts[-1] == ("assistant", "half", "stopped")


def test_a_lost_service_leaves_the_part_and_continue_goes_on(chat: Chat, qtbot) -> None:
    chat.store.send("Tell")
    chat.streams.says("Once upon")
    with qtbot.waitSignal(chat.store.message_changed):
        chat.streams.ends(ServiceUnavailable("The service ended.", hint="Try again."))
    answer = chat.store.messages()[-1]
    assert (answer.content, answer.state) == ("Once upon", "interrupted")
    assert "Try again" in answer.error
    chat.store.continue_answer(answer.id)
    request = chat.streams.requests[-1]
    assert request.continue_final_message
    assert request.messages[-1].content == "Once upon"
    chat.streams.says(" a time")
    with qtbot.waitSignal(chat.store.message_changed):
        chat.streams.ends()
    assert chat.texts[-1] == ("assistant", "Once upon a time", "complete")


def test_a_full_context_is_said_with_both_numbers(chat: Chat, qtbot) -> None:
    chat.store.send("long")
    with qtbot.waitSignal(chat.store.message_changed):
        chat.streams.ends(ContextOverflow("too long", prompt_tokens=9000, limit=8192))
    answer = chat.store.messages()[-1]
    assert answer.state == "failed"
    assert "9,000" in answer.error
    assert "8,192" in answer.error


def test_drafts_are_kept_for_each_conversation(chat: Chat) -> None:
    chat.store.set_draft("half a thought", 0.5)
    first = chat.store.conversation
    assert first is not None
    chat.store.open(None)
    chat.store.set_draft("   ")
    assert chat.store.conversation is None
    chat.store.open(first.id)
    assert chat.store.conversation is not None
    assert chat.store.conversation.draft == "half a thought"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            ModelNotFound("x", hint="Add one with `inglenook models add FILE`."),
            ("m", "models page"),
        ),
        (
            OutOfMemory("x", needed_bytes=3 * 2**30, free_bytes=2**29),
            ("m needs 3.0 GiB", "0.5 GiB are free"),
        ),
        (OutOfMemory("Not enough."), ("Not enough.",)),
        (WorkerCrashed("x", exit_code=-9), ("Try again",)),
        (
            InvalidRequest("The field seed is wrong.", hint="Correct it."),
            ("The field seed is wrong.",),
        ),
    ],
)
def test_an_error_says_what_can_be_done_in_the_window(chat: Chat, qtbot, error, words) -> None:
    chat.store.send("Hello")
    with qtbot.waitSignal(chat.store.message_changed):
        chat.streams.ends(error)
    answer = chat.store.messages()[-1]
    assert answer.state == "failed"
    assert all(word in answer.error for word in words)
    assert "`" not in answer.error
