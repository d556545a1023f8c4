"""Finding and hiding control texts."""

from engine.text.conversation import ToolArguments
from engine.text.markers import ControlTexts, Hiding

CONTROLS = ControlTexts(["<|im_start|>", "<|im_end|>", "<|im_end|>>", "</s>", "sop"])


def found(text: str) -> list[str]:
    return [text[start:end] for start, end in CONTROLS.spans(text)]


def test_spans_from_left_to_right_the_longest_first() -> None:
    assert found("a<|im_end|>>b<|im_end|></s> philosophy <|im_en") == [
        "<|im_end|>>",
        "<|im_end|>",
        "</s>",
        "sop",
    ]
    assert found("<<|im_start|>") == ["<|im_start|>"]
    assert found("") == []
    assert list(ControlTexts([]).spans("</s>")) == []


def test_unfinished_controls_at_the_end() -> None:
    for text, beginning in (
        ("a <", "<"),
        ("a <|im_", "<|im_"),
        ("a </", "</"),
        ("a <|im_start|  \n", "<|im_start|  \n"),
        ("a <<|im", "<|im"),
        ("so", ""),  # beginnings of bare words are everywhere
        ("a <b", ""),
        ("a </s> ", ""),  # complete
        ("", ""),
    ):
        assert text[CONTROLS.unfinished(text) :] == beginning


def test_hiding_reaches_every_string_and_can_be_undone() -> None:
    value = {
        "a": ["x</s>y", {"k</s>": 1.5, "n": None}],
        "b": ToolArguments({"q": "</s>"}, '{"q": "</s>"}'),
        "c": ("<|im_start|>", True),
    }
    hiding = Hiding(CONTROLS, value)
    hidden = hiding.hide(value)
    assert "</s>" not in repr(hidden)
    assert "im_start" not in repr(hidden)
    assert "</s>" not in str(hidden["b"])
    assert hiding.reveal(hidden["a"][0]) == "x</s>y"
    assert hiding.reveal(str(hidden["b"])) == '{"q": "</s>"}'
    assert sorted(hiding.texts.values()) == ["</s>", "<|im_start|>"]
    assert value["a"][0] == "x</s>y"


def test_what_needs_no_hiding_stays_the_same_object() -> None:
    text = "an ordinary <b>text</b> with <think>tags</think>"
    hiding = Hiding(CONTROLS, text)
    assert hiding.hide(text) is text
    assert hiding.texts == {}


def test_private_characters_that_somebody_uses_are_not_taken() -> None:
    taken = "".join(map(chr, range(0xF0000, 0xF0100)))
    value = {taken[:128]: [taken[128:], "</s>"]}
    hiding = Hiding(CONTROLS, value)
    hiding.hide(value)
    assert set(hiding.texts).isdisjoint(taken)
