"""A request stops what is read for nobody yet, unless that is the beginning of its own conversation."""

from typing import Any

import pytest

from engine.ipc.messages import ChatPrompt, Generate, TextPrompt
from engine.scheduler.sequence import HINT
from engine.types import SamplingParams
from engine.worker.inbox import Inbox

Talk = list[tuple[str, Any]]
HISTORY: Talk = [("user", "What is tea?"), ("assistant", "A drink.")]


def generate(request: str, talk: Talk, *, key: str = "", hint: bool = False) -> Generate:
    return Generate(
        request,
        ChatPrompt([{"role": role, "content": content} for role, content in talk]),
        SamplingParams(),
        reads_only=hint,
        priority=HINT if hint else 0,
        cache_key=key,
    )


def gives_way(hint: Generate, request: Generate) -> bool:
    inbox = Inbox(channel=None)  # type: ignore[arg-type]  # no thread is started
    inbox._note_hint(hint)
    inbox.spare = hint.request
    return inbox._must_give_way(request)


@pytest.mark.parametrize(
    ("hinted", "sent", "goes_on"),
    [
        ([*HISTORY, ("user", "And cof")], [*HISTORY, ("user", "And coffee?")], True),
        ([*HISTORY, ("user", "And cof")], [*HISTORY, ("user", "Thanks.")], True),  # all but a word
        ([*HISTORY, ("user", "")], [*HISTORY, ("user", "And coffee?")], True),
        ([("user", "What is")], [("user", "What is tea?")], True),
        ([("user", "What is")], [("user", "Who are you?")], False),
        ([*HISTORY, ("user", "And")], [("user", "What is tea?")], False),
        ([*HISTORY, ("user", "And")], [("user", "Hello"), *HISTORY[1:], ("user", "And")], False),
        ([("user", [{"type": "text"}])], [("user", [{"type": "text"}])], False),
        ([*HISTORY, ("user", [])], [*HISTORY, ("user", "And coffee?")], True),
    ],
)
def test_without_a_key_the_messages_tell(hinted: Talk, sent: Talk, goes_on: bool) -> None:
    hint, request = generate("1", hinted, hint=True), generate("2", sent)
    assert gives_way(hint, request) is not goes_on


@pytest.mark.parametrize(("ours", "theirs"), [("a", "b"), ("a", ""), ("", "b")])
def test_keys_tell_apart_what_looks_alike(ours: str, theirs: str) -> None:
    talk: Talk = [*HISTORY, ("user", "And coffee?")]
    assert gives_way(generate("1", talk, key=ours, hint=True), generate("2", talk, key=theirs))
    assert not gives_way(generate("1", talk, key="a", hint=True), generate("2", talk, key="a"))


def test_measuring_gives_way_to_all_but_hints() -> None:
    inbox = Inbox(channel=None)  # type: ignore[arg-type]
    talk: Talk = [("user", "Hello")]
    assert not inbox._must_give_way(generate("1", talk))  # nothing runs that could
    inbox.spare = ""
    assert inbox._must_give_way(generate("1", talk))
    assert not inbox._must_give_way(generate("2", talk, hint=True))


def test_only_the_latest_hints_are_known() -> None:
    inbox = Inbox(channel=None)  # type: ignore[arg-type]
    for number in range(100):
        inbox._note_hint(generate(str(number), [("user", "Hello")], hint=True))
    assert len(inbox._hints) <= 16
    inbox.spare = "99"
    assert not inbox._must_give_way(generate("x", [("user", "Hello you")]))
    raw = Generate("y", TextPrompt("Hello"), SamplingParams())
    assert inbox._must_give_way(raw)
