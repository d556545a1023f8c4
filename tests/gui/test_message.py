"""Messages: Markdown without loading anything, exact copies, buffered streaming, states and their buttons."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication, QTextDocument, QTextTable
from PySide6.QtNetwork import QHostAddress, QTcpServer
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QPlainTextEdit

from app.theme import DARK, Theme
from app.widgets.chat.markdown_view import LIVE_LIMIT, MarkdownView
from app.widgets.chat.message import AssistantMessage, MessageView
from app.widgets.chat.message_body import MessageBody
from app.widgets.chat.user_message import CUT_CHARACTERS, UserMessage

pytestmark = pytest.mark.gui


@pytest.fixture
def answer(qtbot):
    widget = AssistantMessage()
    widget.resize(700, 400)
    qtbot.addWidget(widget)
    widget.show()
    return widget


@pytest.fixture
def view(qtbot):
    widget = MarkdownView()
    widget.resize(400, 100)
    qtbot.addWidget(widget)
    widget.show()
    return widget


def button(widget, name: str) -> QAbstractButton:
    found = [b for b in widget.findChildren(QAbstractButton, name) if not b.isHidden()]
    assert len(found) == 1, (name, found)
    return found[0]


def has(widget, name: str) -> bool:
    return any(not b.isHidden() for b in widget.findChildren(QAbstractButton, name))


def formats(document: QTextDocument):
    block = document.begin()
    while block.isValid():
        it = block.begin()
        while not it.atEnd():
            yield it.fragment().text(), it.fragment().charFormat()
            it += 1
        block = block.next()


# --- text ---------------------------------------------------------------------------------------


def test_nothing_is_loaded_and_everything_is_visible(qtbot, view, tmp_path) -> None:
    server = QTcpServer()
    assert server.listen(QHostAddress(QHostAddress.SpecialAddress.LocalHost))
    hits = []
    server.newConnection.connect(lambda: hits.append(1))
    web = f"http://127.0.0.1:{server.serverPort()}/p.png"
    picture = tmp_path / "p.png"
    view.grab().save(str(picture))
    view.show_markdown(
        f"<img src='{web}'> ![alt words]({web}) ![local]({picture}) ![]({web}) "
        f"![data](data:image/png;base64,AAAA) [bad]({picture.as_uri()}) "
        f"<style>@import '{web}'</style>\n\n<link href='{web}'>\n\n[ok]({web})\n"
    )
    view.grab()
    QApplication.processEvents()
    assert not hits
    assert not server.hasPendingConnections()
    text = view.toPlainText()
    for words in ("<img src=", "alt words", "local", "data", "bad", "<style>@import", "<link"):
        assert words in text
    links = {f.anchorHref() for _, f in formats(view.document()) if f.isAnchor()}
    assert links == {web}
    assert not any(f.isImageFormat() for _, f in formats(view.document()))


def test_links_only_report_themselves(qtbot, view) -> None:
    view.show_markdown("[words](https://example.org/a?b=1)")
    cursor = view.cursorRect(view.textCursor())
    at = QPoint(cursor.x() + 8, cursor.center().y())
    assert view.anchorAt(at) == "https://example.org/a?b=1"
    with qtbot.waitSignal(view.link_clicked) as clicked:
        qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert clicked.args == ["https://example.org/a?b=1"]
    assert "words" in view.toPlainText()


def test_height_follows_text_and_width(qtbot, view) -> None:
    view.show_markdown("word " * 100)
    narrow = view.height()
    assert view.verticalScrollBar().maximum() == 0
    view.resize(800, view.height())
    qtbot.waitUntil(lambda: view.height() < narrow)
    view.show_markdown("word")
    assert view.height() < 40


def test_the_look_of_markdown(view) -> None:
    view.show_markdown("# Head\n\n`code` **bold**\n\n| a |\n|---|\n| b |\n")
    found = dict(formats(view.document()))
    assert found["code"].fontFamilies()[0] == "JetBrains Mono"
    assert found["bold"].fontWeight() == 600
    assert found["Head"].font().pixelSize() == 18
    (table,) = view.document().rootFrame().childFrames()
    assert isinstance(table, QTextTable)
    assert table.format().border() == 1


def test_big_tables_are_plain_text(view) -> None:
    source = "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 2000
    view.show_live(source)
    document = view.document()
    view.show_markdown(source)
    assert view.document() is document
    assert not document.rootFrame().childFrames()
    assert document.toPlainText() == source.rstrip()


def test_long_growing_text_is_appended(view) -> None:
    text = "word " * LIVE_LIMIT
    view.show_live(text)
    document = view.document()
    view.show_live(text + "more")
    assert view.document() is document
    assert view.toPlainText().endswith("more")


# --- answers ------------------------------------------------------------------------------------


def shown(answer: AssistantMessage) -> list[str]:
    views = answer.findChildren(MarkdownView) + answer.findChildren(QPlainTextEdit)
    return sorted(v.toPlainText() for v in views if not v.isHidden() and v.toPlainText())


def test_streamed_and_stored_answers_look_alike(qtbot, answer) -> None:
    source = "One **two**\n\n- a\n- b\n\n```py\nx\n```\nlast [t][1]\n\n[1]: https://x.org/\n"
    answer.set_message(MessageView(1, "assistant", "", state="streaming"))
    for at in range(0, len(source), 3):
        answer.append(source[at : at + 3], "")
        answer.flush()
    answer.set_message(MessageView(1, "assistant", source))
    stored = AssistantMessage()
    qtbot.addWidget(stored)
    stored.set_message(MessageView(1, "assistant", source))
    assert "".join("".join(shown(answer)).split()) == "".join("".join(shown(stored)).split())
    assert answer.content == source
    last = next(v for v in answer.findChildren(MarkdownView) if "last" in v.toPlainText())
    assert any(f.anchorHref() == "https://x.org/" for _, f in formats(last.document()))


def test_links_defined_below_what_is_built_later(answer) -> None:
    source = "".join(f"see [t][1] in {i}\n\n```py\n```\n\n" for i in range(30))
    answer.set_message(MessageView(1, "assistant", f"{source}[1]: https://x.org/\n"))
    body = answer.findChild(MessageBody)
    assert not body.is_built
    for _ in range(30):
        body.build()
    assert body.is_built
    views = [v for v in answer.findChildren(MarkdownView) if "see" in v.toPlainText()]
    assert len(views) == 30
    for view in views:
        assert any(f.anchorHref() == "https://x.org/" for _, f in formats(view.document()))


def test_text_is_shown_by_a_timer_that_rests(qtbot, answer) -> None:
    answer.set_message(MessageView(1, "assistant", "", state="streaming"))
    answer.append("hello", "")
    assert shown(answer) == []
    qtbot.waitUntil(lambda: shown(answer) == ["hello"])
    assert not answer._timer.isActive()


def test_hidden_answers_wait(qtbot, answer) -> None:
    answer.set_message(MessageView(1, "assistant", "", state="streaming"))
    answer.hide()
    answer.append("hello", "")
    assert not answer._timer.isActive()
    answer.show()
    assert shown(answer) == ["hello"]


def test_committed_blocks_are_rendered_once(answer) -> None:
    answer.set_message(MessageView(1, "assistant", "", state="streaming"))
    answer.append("one\n\ntwo", "")
    answer.flush()
    first, _ = (v.document() for v in answer.findChildren(MarkdownView))
    answer.append(" more\n\nthree", "")
    answer.flush()
    views = answer.findChildren(MarkdownView)
    assert views[0].document() is first
    assert [v.toPlainText() for v in views] == ["one", "two more", "three"]


def test_a_stopped_answer_goes_on(qtbot, answer) -> None:
    answer.set_message(MessageView(1, "assistant", "The lamp", state="stopped"))
    with qtbot.waitSignal(answer.continue_requested):
        button(answer, "continue").click()
    answer.set_message(MessageView(1, "assistant", "The lamp", state="streaming"))
    assert not has(answer, "continue")
    answer.append(" turned", "")
    answer.flush()
    assert shown(answer) == ["The lamp turned"]
    answer.set_message(MessageView(1, "assistant", "The lamp turned"))
    assert shown(answer) == ["The lamp turned"]


def test_reasoning_is_folded(qtbot, answer) -> None:
    answer.set_message(MessageView(1, "assistant", "", state="streaming"))
    answer.append("", "<b>I think</b>")
    answer.flush()
    header = button(answer, "reasoning")
    assert header.text() == "Thinking…"
    assert shown(answer) == []
    header.click()
    assert shown(answer) == ["<b>I think</b>"]
    answer.append("So", " more")
    answer.flush()
    assert header.text() == "Thought for 0.0 s"
    assert shown(answer) == ["<b>I think</b> more", "So"]


def test_the_footer(qtbot, answer) -> None:
    figures = {"tokens": 1143, "seconds": 0.84, "reused": 64, "prompt_tokens": 96}
    answer.set_message(MessageView(1, "assistant", "x", figures=figures, sibling=1, num_siblings=3))
    words = " ".join(
        label.text() for label in answer._footer.findChildren(type(answer._footer._cost))
    )
    assert "1,143 tokens · 0.8 s · 64 of 96 prompt tokens reused" in words
    assert "2/3" in words
    with qtbot.waitSignal(answer.sibling_requested) as before:
        button(answer, "previous_version").click()
    with qtbot.waitSignal(answer.sibling_requested) as after:
        button(answer, "next_version").click()
    assert (before.args, after.args) == ([-1], [1])
    with qtbot.waitSignal(answer.regenerate_requested):
        button(answer, "regenerate").click()
    assert not has(answer, "continue")


@pytest.mark.parametrize(
    ("state", "content", "signal"),
    [("failed", "", "regenerate_requested"), ("interrupted", "text", "continue_requested")],
)
def test_errors_are_a_sentence_with_a_button(qtbot, answer, state, content, signal) -> None:
    answer.set_message(
        MessageView(1, "assistant", content, state=state, error="<i>It</i> broke. Try again.")
    )
    assert "<i>It</i> broke. Try again." in [
        w.text() for w in answer._problem.findChildren(type(answer._footer._cost))
    ]
    with qtbot.waitSignal(getattr(answer, signal)):
        button(answer, "error_action").click()
    assert not has(answer, "continue")
    answer.set_message(MessageView(1, "assistant", "done"))
    assert answer._problem.isHidden()


def test_another_theme_renders_again(qtbot, qapp, answer) -> None:
    theme = Theme()
    theme.set_mode("light")
    theme.apply(qapp)
    try:
        answer.set_message(MessageView(1, "assistant", "[a](https://x.org/)"))
        view = answer.findChild(MarkdownView)
        theme.set_mode("dark")
        (colour,) = (
            f.foreground().color().name() for _, f in formats(view.document()) if f.isAnchor()
        )
        assert colour == DARK.ember.lower()
    finally:
        theme.set_mode("light")


def test_everything_has_a_name(qtbot, answer) -> None:
    answer.set_message(
        MessageView(
            1, "assistant", "x\n\n```py\ny\n```\n", reasoning="r", state="stopped", num_siblings=2
        )
    )
    question = UserMessage()
    qtbot.addWidget(question)
    question.set_message(MessageView(2, "user", "x" * 9000, num_siblings=2))
    for widget in (answer, question):
        assert widget.accessibleName()
        for one in (*widget.findChildren(QAbstractButton), *widget.findChildren(MarkdownView)):
            assert one.accessibleName(), one.objectName()
            assert one.objectName()
        assert all(b.toolTip() for b in widget.findChildren(QAbstractButton))


def test_what_was_restored_is_told_beside_the_figures(qtbot, answer) -> None:
    figures = {"tokens": 9, "reused": 1800, "restored": 1500, "restore_ms": 12}
    answer.set_message(MessageView(1, "assistant", "x", figures={**figures, "prompt_tokens": 2000}))
    (cost,) = (one for one in answer.findChildren(QLabel) if "reused" in one.text())
    assert "1,800 of 2,000 prompt tokens reused" in cost.text()
    assert "1,500 of the reused tokens" in cost.toolTip()
    assert "12 ms" in cost.toolTip()
    answer.set_message(MessageView(1, "assistant", "x", figures={"tokens": 9, "reused": 1800}))
    assert cost.toolTip() == ""


# --- questions ----------------------------------------------------------------------------------


@pytest.fixture
def question(qtbot):
    widget = UserMessage()
    widget.set_width(700)
    qtbot.addWidget(widget)
    widget.set_message(MessageView(1, "user", "first <b>line</b>\n# second"))
    widget.show()
    return widget


def test_the_users_words_stay_as_they_are(question) -> None:
    assert question.findChild(MarkdownView).toPlainText() == "first <b>line</b>\n# second"
    button(question, "copy_question").click()
    assert QGuiApplication.clipboard().text() == "first <b>line</b>\n# second"
    assert question._bubble.sizeHint().width() <= 520


def test_editing_in_place(qtbot, question) -> None:
    button(question, "edit").click()
    editor = question.findChild(QPlainTextEdit, "edit_question")
    assert editor.toPlainText() == "first <b>line</b>\n# second"
    editor.setPlainText("other")
    with qtbot.waitSignal(question.edited) as edited:
        button(question, "send_edited").click()
    assert edited.args == ["other", ()]
    assert question._shown.isHidden()  # until it is saved, and the conversation shown anew


def test_escape_leaves_the_message_alone(qtbot, question) -> None:
    question.start_editing()
    editor = question.findChild(QPlainTextEdit, "edit_question")
    editor.setPlainText("other")
    with qtbot.assertNotEmitted(question.edited):
        qtbot.keyClick(editor, Qt.Key.Key_Escape)
    assert question.content == "first <b>line</b>\n# second"
    assert not question._shown.isHidden()


def test_long_questions_are_cut_until_asked_for(question) -> None:
    text = "word " * CUT_CHARACTERS
    question.set_message(MessageView(1, "user", text))
    view = question.findChild(MarkdownView)
    assert len(view.toPlainText()) == CUT_CHARACTERS
    button(question, "show_all").click()
    assert view.toPlainText() == text
    assert not has(question, "show_all")
