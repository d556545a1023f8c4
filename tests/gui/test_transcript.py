"""The conversation: what is loaded, following the end, places that survive, keys."""

import gc

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtWidgets import QApplication, QToolButton

from app.widgets.chat.markdown_view import MarkdownView
from app.widgets.chat.message import AssistantMessage, MessageView
from app.widgets.chat.message_column import MOST_LOADED
from app.widgets.chat.transcript import Transcript

pytestmark = pytest.mark.gui


def conversation(count: int) -> list[MessageView]:
    return [
        MessageView(i, "user" if i % 2 else "assistant", f"message {i}\n\n" + "word " * 60)
        for i in range(1, count + 1)
    ]


LONG = "".join(f"paragraph {i}\n\n```py\nx = {i}\n```\n\n" for i in range(60))


def settle(qtbot, transcript: Transcript) -> None:
    """Wait until all that is near the reader is loaded."""
    qtbot.waitUntil(lambda: transcript._missing() is None and not transcript._more.isActive())


def texts(transcript: Transcript, message: int) -> list[str]:
    answer = transcript.message(message)
    views = answer.findChildren(MarkdownView)
    return [v.toPlainText() for v in sorted(views, key=lambda v: v.mapTo(answer, QPoint()).y())]


def on_screen(transcript: Transcript) -> dict[str, int]:
    """What is shown, and how far below the upper edge."""
    views = transcript._column.findChildren(MarkdownView)
    found = {v.toPlainText(): v.mapTo(transcript, QPoint()).y() for v in views if v.isVisible()}
    return {text: y for text, y in found.items() if 0 <= y < transcript.height()}


@pytest.fixture
def transcript(qtbot):
    widget = Transcript()
    widget.resize(800, 500)
    qtbot.addWidget(widget)
    widget.show()
    qtbot.waitExposed(widget)
    return widget


def at_end(transcript: Transcript) -> bool:
    bar = transcript.verticalScrollBar()
    return bar.value() == bar.maximum()


def top_message(transcript: Transcript) -> int:
    top = transcript.verticalScrollBar().value()
    return min(
        (i for i, w in transcript._column._loaded.items() if transcript._y(w) + w.height() > top),
        default=0,
    )


def test_only_the_end_is_loaded(qtbot, transcript) -> None:
    transcript.show_messages(conversation(2000))
    assert at_end(transcript)
    settle(qtbot, transcript)
    assert len(transcript._column._loaded) < MOST_LOADED
    assert transcript.verticalScrollBar().value() > transcript.height()
    assert transcript.message(2000) is not None
    assert transcript.message(1) is None
    assert at_end(transcript)
    assert transcript.position() == 1.0


def test_long_answers_count_for_more(qtbot, transcript) -> None:
    transcript.show_messages([MessageView(i, "assistant", "x y\n\n" * 9000) for i in range(3)])
    settle(qtbot, transcript)
    assert list(transcript._column._loaded) == [2]


def test_scrolling_up_reaches_the_beginning(qtbot, transcript) -> None:
    transcript.show_messages(conversation(200))
    settle(qtbot, transcript)
    bar = transcript.verticalScrollBar()
    seen = [top_message(transcript)]
    for _ in range(1000):
        if bar.value() == 0:
            break
        bar.setValue(bar.value() - 400)
        settle(qtbot, transcript)
        assert len(transcript._column._loaded) <= MOST_LOADED
        seen.append(top_message(transcript))
    assert seen[-1] == 1
    assert seen == sorted(seen, reverse=True)
    for _ in range(1000):
        if transcript.is_following:
            break
        bar.setValue(bar.value() + 400)
        settle(qtbot, transcript)
    assert transcript.message(200) is not None


def test_the_end_is_followed_only_by_a_reader_who_is_there(qtbot, transcript) -> None:
    transcript.show_messages(conversation(20))
    transcript.add(MessageView(21, "assistant", "", state="streaming"))
    jump = transcript.findChild(QToolButton, "jump_to_end")
    for _ in range(20):
        transcript.stream_delta(21, "line\n\n", "")
        transcript.message(21).flush()
        QApplication.processEvents()
    assert at_end(transcript)
    assert not jump.isVisible()
    bar = transcript.verticalScrollBar()
    bar.setValue(bar.value() - 300)
    place = bar.value()
    assert jump.isVisible()
    for _ in range(20):
        transcript.stream_delta(21, "line\n\n", "")
        transcript.message(21).flush()
        QApplication.processEvents()
    assert bar.value() == place
    qtbot.mouseClick(jump, Qt.MouseButton.LeftButton)
    assert at_end(transcript)
    assert not jump.isVisible()


def test_text_for_an_answer_out_of_sight_is_kept(qtbot, transcript) -> None:
    transcript.show_messages(conversation(400))
    transcript.add(MessageView(401, "assistant", "", state="streaming"))
    transcript.stream_delta(401, "begin ", "")
    transcript.set_position(0.0)
    assert transcript.message(401) is None
    transcript.stream_delta(401, "middle ", "")
    transcript.scroll_to_end()
    transcript.stream_delta(401, "end", "")
    answer = transcript.message(401)
    assert answer.content == "begin middle end"
    transcript.set_position(0.0)
    transcript.update_message(MessageView(401, "assistant", "begin middle end."))
    transcript.scroll_to_end()
    assert transcript.message(401).content == "begin middle end."
    assert not transcript._column._kept


def test_the_end_of_an_answer(qtbot, transcript) -> None:
    transcript.show_messages(conversation(2))
    transcript.add(MessageView(3, "assistant", "", state="streaming"))
    transcript.stream_delta(3, "some **text**", "thought")
    transcript.update_message(MessageView(3, "assistant", "some **text**", reasoning="thought"))
    answer = transcript.message(3)
    assert isinstance(answer, AssistantMessage)
    assert not answer.is_live
    assert "some text" in [v.toPlainText() for v in answer.findChildren(MarkdownView)]


@pytest.mark.parametrize("place", [0.0, 0.3, 0.77, 0.98, 1.0])
def test_places_survive(qtbot, transcript, place) -> None:
    transcript.show_messages(conversation(300))
    transcript.set_position(place)
    settle(qtbot, transcript)
    kept = transcript.position()
    assert kept == pytest.approx(place, abs=0.01)
    top = top_message(transcript)
    transcript.show_messages(conversation(300))
    transcript.set_position(kept)
    settle(qtbot, transcript)
    assert transcript.position() == pytest.approx(kept, abs=0.001)
    assert top_message(transcript) == top


def test_a_long_answer_is_built_from_its_end(qtbot, transcript) -> None:
    transcript.show_messages([MessageView(1, "assistant", LONG)])
    assert texts(transcript, 1)[-1] == "paragraph 59"
    assert len(texts(transcript, 1)) < 60
    for _ in range(100):
        assert at_end(transcript)
        if transcript._missing() is None:
            break
        QApplication.processEvents()
    settle(qtbot, transcript)
    assert texts(transcript, 1) == [f"paragraph {i}" for i in range(60)]
    assert at_end(transcript)


def test_text_comes_while_what_is_above_is_built(qtbot, transcript) -> None:
    transcript.show_messages([MessageView(1, "assistant", LONG, state="streaming")])
    for i in range(60, 65):
        transcript.stream_delta(1, f"paragraph {i}\n\n", "")
        transcript.message(1).flush()
        QApplication.processEvents()
        assert at_end(transcript)
    transcript.update_message(MessageView(1, "assistant", transcript.message(1).content))
    settle(qtbot, transcript)
    assert texts(transcript, 1) == [f"paragraph {i}" for i in range(65)]


@pytest.mark.parametrize("place", [0.0, 0.34, 0.8])
def test_places_in_a_long_answer_survive(qtbot, transcript, place) -> None:
    messages = [*conversation(4), MessageView(5, "assistant", LONG), *conversation(40)[5:]]
    place = (4 + place) / len(messages)
    transcript.show_messages(messages)
    transcript.set_position(place)
    assert transcript.position() == place
    settle(qtbot, transcript)
    assert transcript.position() == pytest.approx(place, abs=0.001)
    seen = on_screen(transcript)
    transcript.show_messages(messages)
    transcript.set_position(place)
    settle(qtbot, transcript)
    assert on_screen(transcript) == seen
    assert len(texts(transcript, 5)) == 60


def test_the_reader_keeps_the_place_while_more_is_built(qtbot, transcript) -> None:
    transcript.show_messages([*conversation(9), MessageView(10, "assistant", LONG)])
    bar = transcript.verticalScrollBar()
    bar.setValue(bar.value() - 100)
    seen = on_screen(transcript)
    assert seen
    assert not transcript.is_following
    for _ in range(1000):
        if transcript._missing() is None:
            break
        QApplication.processEvents()
        assert seen.items() <= on_screen(transcript).items()
    assert len(texts(transcript, 10)) == 60


def test_a_place_set_while_hidden_is_gone_to_when_shown(qtbot, transcript) -> None:
    transcript.hide()
    transcript.show_messages(conversation(300))
    transcript.set_position(0.5)
    assert transcript.position() == 0.5
    transcript.show()
    settle(qtbot, transcript)
    assert transcript.position() == pytest.approx(0.5, abs=0.001)
    assert top_message(transcript) in (150, 151)


def test_the_reader_keeps_the_place_when_the_window_changes(qtbot, transcript) -> None:
    transcript.show_messages(conversation(60))
    transcript.set_position(0.7)
    for width in (500, 900, 420):
        transcript.resize(width, 500)
        settle(qtbot, transcript)
        assert transcript.position() == pytest.approx(0.7, abs=0.005)
    transcript.scroll_to_end()
    transcript.resize(800, 300)
    QApplication.processEvents()
    assert at_end(transcript)


def test_keys(qtbot, transcript) -> None:
    transcript.show_messages(conversation(100))
    settle(qtbot, transcript)
    bar = transcript.verticalScrollBar()
    end = bar.value()
    qtbot.keyClick(transcript, Qt.Key.Key_PageUp)
    assert bar.value() < end
    qtbot.keyClick(transcript, Qt.Key.Key_Home)
    assert transcript.position() == 0.0
    assert transcript.message(1) is not None
    qtbot.keyClick(transcript, Qt.Key.Key_PageDown)
    assert transcript.position() > 0.0
    qtbot.keyClick(transcript, Qt.Key.Key_End)
    assert at_end(transcript)


def test_paging_inside_a_text_scrolls_the_conversation(qtbot, transcript) -> None:
    transcript.show_messages(conversation(40))
    settle(qtbot, transcript)
    view = transcript.message(40).findChild(MarkdownView)
    view.setFocus()
    before = transcript.verticalScrollBar().value()
    qtbot.keyClick(view, Qt.Key.Key_PageUp)
    assert transcript.verticalScrollBar().value() < before


def test_messages_report_with_their_number(qtbot, transcript) -> None:
    transcript.show_messages(conversation(2))
    settle(qtbot, transcript)
    for signal, act, args in (
        (
            transcript.regenerate_requested,
            lambda: transcript.message(2).regenerate_requested.emit(),
            [2],
        ),
        (
            transcript.continue_requested,
            lambda: transcript.message(2).continue_requested.emit(),
            [2],
        ),
        (
            transcript.sibling_requested,
            lambda: transcript.message(2).sibling_requested.emit(-1),
            [2, -1],
        ),
        (transcript.edited, lambda: transcript.message(1).edited.emit("new", ()), [1, "new", ()]),
        (
            transcript.link_clicked,
            lambda: transcript.message(2).link_clicked.emit("https://x.org"),
            ["https://x.org"],
        ),
    ):
        with qtbot.waitSignal(signal) as got:
            act()
        assert got.args == args


def test_the_column_is_never_wider_than_760(qtbot, transcript) -> None:
    transcript.show_messages(conversation(3))
    settle(qtbot, transcript)
    transcript.resize(1400, 500)
    qtbot.waitUntil(lambda: transcript.message(2).width() == 760)
    left = transcript._column.x()
    assert abs(left - (transcript.viewport().width() - 760) / 2) <= 2
    transcript.resize(420, 500)
    qtbot.waitUntil(lambda: transcript.message(2).width() <= 420)
    assert transcript.horizontalScrollBar().maximum() == 0


def test_no_timer_runs_when_nothing_comes(qtbot, transcript) -> None:
    transcript.show_messages(conversation(4))
    transcript.add(MessageView(5, "assistant", "", state="streaming"))
    transcript.stream_delta(5, "text", "")
    answer = transcript.message(5)
    qtbot.waitUntil(lambda: not answer._timer.isActive())


def test_an_empty_conversation(transcript) -> None:
    transcript.show_messages(conversation(40))
    transcript.show_messages([])
    transcript.set_position(0.4)
    assert transcript.position() == 1.0
    assert not transcript._column._loaded
    transcript.update_message(MessageView(9, "assistant", "x"))
    transcript.stream_delta(9, "x", "")


def test_dropped_messages_leave_nothing_to_the_collector(transcript) -> None:
    """A collection in mid-scroll takes as long as there are circles."""
    transcript.show_messages(conversation(40))
    gc.collect()
    gc.disable()
    try:
        transcript.show_messages([])
        for widget in transcript.findChildren(AssistantMessage):
            widget.deleteLater()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left = {type(o).__name__ for o in gc.garbage}
        assert not left & {"AssistantMessage", "MessageFooter", "CopyButton", "UserMessage"}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
