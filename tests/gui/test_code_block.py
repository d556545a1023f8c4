"""Code cards: exact copies, colours that can be read, and no size that stops the window."""

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPlainTextEdit

from app.theme import DARK, LIGHT
from app.widgets.chat.code_block import CodeBlock
from app.widgets.chat.highlight import LIMIT, LINE_LIMIT, spans
from app.widgets.chat.message import MessageView
from tests.gui.test_message import answer, button

pytestmark = pytest.mark.gui
__all__ = ["answer"]
CODES = [
    "\tx \n y\t",
    "a\r\nb",
    "&lt;&amp;\u00a0\u200d",
    "",
    "😀 = '灯'\n# x",
    "```\ny\n```",
    "\x0b\u2028\x00",
]


@pytest.mark.parametrize("code", CODES)
def test_copy_returns_the_source(qtbot, answer, code: str) -> None:
    source = f"a\n\n````py\n{code}\n````\nb"
    answer.set_message(MessageView(1, "assistant", source))
    card = answer.findChild(CodeBlock)
    button(card, "copy_code").click()
    assert QGuiApplication.clipboard().text().encode() == code.encode()
    button(answer, "copy_answer").click()
    assert QGuiApplication.clipboard().text().encode() == source.encode()


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_code_is_coloured_and_readable(qtbot, theme) -> None:
    card = CodeBlock()
    qtbot.addWidget(card)
    code = "# note\nx = '😀' + f(42)\nfor i in x: pass"
    card.finish(code, "python")
    document = card.findChild(QPlainTextEdit).document()
    assert not card._timer.isActive()  # until it is seen
    card.show()
    qtbot.waitUntil(lambda: bool(document.findBlockByNumber(2).layout().formats()))
    second = document.findBlockByNumber(1).layout().formats()
    line = document.findBlockByNumber(1).text().encode("utf-16-le")
    coloured = [line[2 * f.start : 2 * (f.start + f.length)].decode("utf-16-le") for f in second]
    assert "42" in coloured
    assert "".join(c for c in coloured if c != "42") == "'😀'"
    for role in ("ember", "good", "warn", "soft", "ink"):
        assert contrast(getattr(theme, role), theme.code) >= 4.5, role


def contrast(one: str, other: str) -> float:
    def light(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(
    ("code", "language"),
    [("x = 1", ""), ("x = 1", "no-such-language"), ("1 " * LIMIT, "python"), ("1," * 9000, "json")],
)
def test_nothing_is_guessed_or_too_big(code: str, language: str) -> None:
    assert list(spans(code, language)) == []


def test_long_code_scrolls_in_its_card(qtbot) -> None:
    card = CodeBlock()
    qtbot.addWidget(card)
    card.show()
    card.finish("line of code\n" * 8000, "")
    assert card.sizeHint().height() < 10_000


def test_a_long_line_is_cut_only_for_display(qtbot) -> None:
    card = CodeBlock()
    qtbot.addWidget(card)
    lines = ["first", "[1, 2] \u00a0" * 3000, "😀" * LINE_LIMIT, "", "last"]
    code = "\n".join(lines)
    for end in (20, 15_000, 21_000, len(code)):
        card.show_live(code[:end], "")
    card.finish(code, "")
    text = card.findChild(QPlainTextEdit)
    assert text.document().blockCount() == len(lines) + 2
    text.selectAll()
    text.copy()
    assert QGuiApplication.clipboard().text() == code
    button(card, "copy_code").click()
    assert QGuiApplication.clipboard().text() == code


def test_growing_code_is_one_card(answer) -> None:
    answer.set_message(MessageView(1, "assistant", "", state="streaming"))
    for piece in ("```p", "y\nx =", " 1\n", "y = 2", "\n``", "`\n", "after"):
        answer.append(piece, "")
        answer.flush()
    (card,) = answer.findChildren(CodeBlock)
    assert card.code == "x = 1\ny = 2"
    assert card.findChild(QPlainTextEdit).toPlainText() == card.code
