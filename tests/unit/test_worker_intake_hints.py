"""Hints on their way to the loop: they read no more than is sure, and take nothing from the real request."""

import pytest

from engine.backends.fake import FakeBackend, FakeOptions, FakeTokenizer
from engine.errors import ContextOverflow
from engine.ipc.messages import ChatPrompt, Generate
from engine.text.template import ChatTemplate
from engine.types import SamplingParams
from engine.worker.intake import Intake


def generate(text: str, *, reads_only: bool) -> Generate:
    prompt = ChatPrompt([{"role": "user", "content": text}])
    priority = 2 if reads_only else 0
    return Generate(
        "r", prompt, SamplingParams(), 1, reads_only=reads_only, priority=priority, cache_key="k"
    )


def intake(context: int = 256) -> Intake:
    tokenizer = FakeTokenizer()
    template = ChatTemplate(tokenizer.chat_template or "")
    caps = FakeBackend(context, 2, FakeOptions()).caps
    return Intake(tokenizer, template, caps, "The template is a fallback.")


def test_a_hint_is_the_beginning_of_the_request() -> None:
    taking = intake()
    hint = taking.take(generate("Hello wor", reads_only=True))
    sent = taking.take(generate("Hello world, my", reads_only=False))
    ((sequence, _),) = hint.sequences
    assert (sequence.reads_only, sequence.priority, sequence.cache_key) == (True, 2, "k")
    tokens = hint.accepted.prompt
    assert tokens[-5:] == list(b"Hello")
    assert sent.accepted.prompt[: len(tokens)] == tokens


def test_a_hint_tells_no_notice_and_does_not_use_it_up() -> None:
    taking = intake()
    assert taking.take(generate("Hello wor", reads_only=True)).accepted.notice == ""
    assert taking.take(generate("Hello", reads_only=False)).accepted.notice


def test_a_hint_that_has_no_room_is_refused() -> None:
    with pytest.raises(ContextOverflow):
        intake(context=16).take(generate("word " * 20, reads_only=True))
