"""Whatever is typed, only the template's own markers become control tokens, and no text is lost."""

from hypothesis import given
from hypothesis import strategies as st

from engine.backends.fake import FakeTokenizer
from engine.text.markers import ControlTexts, Hiding
from engine.text.prompt import encode_chat
from engine.text.template import ChatTemplate

TOKENIZER = FakeTokenizer()
PARTS = sorted(
    {
        part
        for text in TOKENIZER.control_texts
        for part in (text, text[:3], text[3:], text[:-1], text[-1])
    }
)
TYPED = st.lists(
    st.sampled_from([*PARTS, "<", "|", ">", " ", "\n", "a", "🦙", "\U000f0000"]), max_size=8
).map("".join)
# The nastiest template: it puts contents next to each other without anything in between.
TEMPLATE = ChatTemplate(
    "{% for m in messages %}{{ m.content }}{% endfor %}<|im_end|>{{ messages|map(attribute='content')|join }}"
    "{{ tools|tojson }}<|im_start|>"
)
CONTROLS = ControlTexts(TOKENIZER.control_texts)


def shown(tokens: list[int]) -> str:
    return b"".join(
        TOKENIZER.pieces[t] or TOKENIZER.token_text(t).encode() for t in tokens
    ).decode()


@given(st.lists(TYPED, min_size=1, max_size=4), TYPED)
def test_only_the_templates_markers_are_special(contents: list[str], tool: str) -> None:
    messages = [{"role": "user", "content": content} for content in contents]
    tools = [{"name": tool}]
    tokens = encode_chat(TOKENIZER, TEMPLATE, messages, tools=tools).tokens
    controls = [TOKENIZER.token_text(t) for t in tokens if not TOKENIZER.pieces[t]]
    assert controls == ["<|im_end|>", "<|im_start|>"]
    assert shown(tokens) == TEMPLATE.render(messages, tools=tools).text


@given(TYPED)
def test_spans_are_what_a_tokenizer_finds(text: str) -> None:
    found = [text[start:end] for start, end in CONTROLS.spans(text)]
    tokens = TOKENIZER.encode(text, add_special=False, parse_special=True)
    assert found == [TOKENIZER.token_text(t) for t in tokens if not TOKENIZER.pieces[t]]


@given(TYPED)
def test_hiding_can_be_undone(text: str) -> None:
    hiding = Hiding(CONTROLS, text)
    hidden = hiding.hide(text)
    assert list(CONTROLS.spans(hidden)) == []
    assert hiding.reveal(hidden) == text
