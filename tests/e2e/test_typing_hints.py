"""What is typed, and what the next turn begins with, has been read when the request comes."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from engine.backends.llamacpp.native import NativeLog
from engine.backends.llamacpp.vocab import LlamaVocab, open_vocab
from engine.text.prompt import encode_beginning
from engine.text.template import ChatTemplate
from tests.helpers.service_process import ServiceProcess

pytestmark = pytest.mark.model
MODEL = "SmolLM2-135M-Instruct.Q4_1"
PAUSES_S = (0.2, 0.5, 1.0, 2.0, 5.0)
"""So long a user takes for the next key, until the machine was quick enough; each time with another text."""

Messages = list[dict[str, str]]


@pytest.fixture
def http(real_service: ServiceProcess) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=real_service.base_url, timeout=60) as http:
        http.post("/api/models/load", json={"model": MODEL}).raise_for_status()
        yield http


@pytest.fixture(scope="module")
def vocab(starter_model: Path) -> Iterator[LlamaVocab]:
    with open_vocab(str(starter_model).encode(), NativeLog()) as vocab:
        yield vocab


def read_ahead(vocab: LlamaVocab, messages: Messages) -> int:
    """How many tokens of an unfinished conversation are sure."""
    return len(encode_beginning(vocab, ChatTemplate(vocab.chat_template or ""), messages))


def ask(http: httpx2.Client, messages: Messages, **fields: Any) -> dict[str, Any]:
    body = {"model": MODEL, "messages": messages, "max_tokens": 1, "temperature": 0, **fields}
    reply = http.post("/v1/chat/completions", json=body)
    reply.raise_for_status()
    answer: dict[str, Any] = reply.json()
    return answer


def test_what_is_typed_has_been_read_when_it_is_sent(
    http: httpx2.Client, vocab: LlamaVocab
) -> None:
    found = {}
    for pause in PAUSES_S:
        text = f"{pause} seconds. " + "The quick brown fox jumps over the lazy dog, again and "
        typed = [{"role": "user", "content": text * 3 + "aga"}]
        hint = {"model": MODEL, "messages": typed, "prompt_cache_key": "typing"}
        reply = http.post("/api/prefill", json=hint)
        assert (reply.status_code, reply.json()) == (202, {})
        assert http.get("/api/activity").json() == {"running_answers": 0, "running_downloads": 0}
        time.sleep(
            pause
        )  # the user thinks; longer pauses are tried only where a short one is not enough
        sent = [{"role": "user", "content": text * 3 + "again. What did it do?"}]
        answer = ask(http, sent, prompt_cache_key="typing")
        sure = read_ahead(vocab, typed)
        assert sure > 50
        found[pause] = (answer["timings"]["cache_n"], sure)
        if found[pause][0] >= sure:
            break
    else:
        pytest.fail(f"never read in time: {found}")


def test_the_next_turn_has_been_begun_when_it_comes(http: httpx2.Client, vocab: LlamaVocab) -> None:
    found = {}
    for pause in PAUSES_S:
        turn = [{"role": "user", "content": f"Name {pause} colours, and say nothing else."}]
        first = ask(http, turn, max_tokens=200)
        choice = first["choices"][0]
        assert choice["finish_reason"] == "stop"
        time.sleep(pause)  # the user reads the answer
        turn += [choice["message"], {"role": "user", "content": ""}]
        sure = read_ahead(vocab, turn)
        assert sure > first["usage"]["total_tokens"]
        turn[-1]["content"] = "And animals?"
        found[pause] = (ask(http, turn)["timings"]["cache_n"], sure)
        if found[pause][0] >= sure:
            break
    else:
        pytest.fail(f"never read in time: {found}")


def test_a_hint_for_a_model_that_was_unloaded_loads_nothing(http: httpx2.Client) -> None:
    http.post("/api/models/unload", json={"model": MODEL}).raise_for_status()
    hint = {"model": MODEL, "messages": [{"role": "user", "content": "Hello"}]}
    reply = http.post("/api/prefill", json=hint)
    assert (reply.status_code, reply.json()) == (202, {"accepted": False})
    (model,) = (m for m in http.get("/api/models").json()["models"] if m["id"] == MODEL)
    assert model["state"] == "unloaded"
