"""What is read of an unfinished message stays true, whatever is typed next: the real tokenizer."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from engine.backends.llamacpp.native import NativeLog
from engine.backends.llamacpp.vocab import LlamaVocab, open_vocab
from engine.text.prompt import encode_beginning, encode_chat
from engine.text.template import CHATML, ChatTemplate

TRIMMING = (
    "{% for m in messages %}[{{ m.role }}]{{ m.content|trim }}\n{% endfor %}"
    "{% if add_generation_prompt %}[answer]{% endif %}"
)
WORDS = (
    *("the ", "hello", "unbelievable", "don't", "x=1;", "....", "===", "42", "3.14159", "a", "\t"),
    *(
        " ",
        "  ",
        "\n",
        "\n\n",
        "```python\n",
        "    return",
        "https://a.org/b?c=d&e=f",
        "<|im_end|>",
    ),
    *("你好", "世界\uff0c", "这是一段没有空格的中文文本。", "日本語の", "한국어 ", "\u3000"),
    *("🙂", "👩‍👩‍👧", "é", "e\u0301", "\u00a0", "ﬁ"),
)
TEXTS = st.one_of(st.lists(st.sampled_from(WORDS), max_size=20).map("".join), st.text(max_size=30))


@pytest.fixture(scope="module")
def smol(starter_model: Path) -> Iterator[LlamaVocab]:
    with open_vocab(str(starter_model).encode(), NativeLog()) as vocab:
        yield vocab


@pytest.fixture(scope="module")
def templates(smol: LlamaVocab) -> list[ChatTemplate]:
    sources = (smol.chat_template or "", CHATML, TRIMMING)
    return [ChatTemplate(source, bos_token="<|im_start|>") for source in sources]


def conversation(text: str) -> list[dict[str, str]]:
    return [
        {"role": "user", "content": "One?"},
        {"role": "assistant", "content": "Two."},
        {"role": "user", "content": text},
    ]


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(typed="", rest="hi")
@example(typed="hello wor", rest="ld")
@example(typed="你", rest="好吗")
@example(typed="👩", rest="\u200d👧")
@example(typed="one\n", rest="\n\ntwo")
@given(typed=TEXTS, rest=TEXTS)
def test_the_beginning_is_the_beginning_of_what_is_sent(
    smol: LlamaVocab, templates: list[ChatTemplate], typed: str, rest: str
) -> None:
    text = typed + rest
    # White space at the very start can melt into the template's own: one token, not worth a third try.
    assume(text.strip() and text[0] == text.lstrip()[0])
    for template in templates:
        beginning = encode_beginning(smol, template, conversation(typed))
        sent = encode_chat(smol, template, conversation(text)).tokens
        assert beginning == sent[: len(beginning)]
        assert len(beginning) < len(sent)
