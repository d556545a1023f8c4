"""What is kept of a conversation comes back after a restart, and is deleted with the conversation."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from engine.formats.kv_file import KEPT, measure, read_head
from tests.helpers.service_process import ServiceProcess
from tests.helpers.tiny_llama import write_tiny_llama

FOX = "The quick brown fox jumps over the lazy dog. " * 6
SEA = "Whenever it is a damp, drizzly November, I go to sea. " * 6


class Chats:
    """A service on the tiny model, whose files the test can see."""

    def __init__(self, service: ServiceProcess) -> None:
        self.service = service
        self.folder = service.data_folder / "cache" / KEPT

    def __call__(self, method: str, path: str, **body: Any) -> httpx2.Response:
        with httpx2.Client(base_url=self.service.base_url, timeout=60) as http:
            reply = http.request(method, path, json=body or None)
        reply.raise_for_status()
        return reply

    def ask(self, key: str, text: str) -> dict[str, Any]:
        """The timings of a short answer."""
        messages = [{"role": "user", "content": text}]
        fields = {"messages": messages, "prompt_cache_key": key, "max_tokens": 3}
        reply = self("POST", "/v1/chat/completions", ignore_eos=True, **fields)
        timings: dict[str, Any] = reply.json()["timings"]
        return timings

    def owners(self) -> set[str]:
        """Whose files there are."""
        heads = [read_head(path) for path in self.folder.rglob("*.kv")]
        return {key for head in heads if head is not None for key in head.keys}

    def restart(self) -> None:
        assert self.service.stop() == 0
        self.service.start()


def until(condition: Callable[[], bool]) -> None:
    """Look again and again: the disk is written behind the answers."""
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.01)
    pytest.fail("it never came")


@pytest.fixture
def chats(tmp_path: Path) -> Iterator[Chats]:
    model = write_tiny_llama(tmp_path / "tiny.gguf", n_ctx=4096)
    with ServiceProcess(model, arguments=("--threads", "1")) as service:
        yield Chats(service)


def test_one_conversation_is_deleted_and_the_other_comes_back(chats: Chats) -> None:
    chats.ask("fox", FOX)
    chats.ask("sea/1", SEA)
    until(lambda: chats.owners() == {"fox", "sea/1"})
    usage = chats("GET", "/api/prefix-cache").json()
    assert (usage["disk_bytes"], usage["files"]) == measure(chats.folder)
    assert usage["folder"] == str(chats.folder)
    assert chats("DELETE", "/api/prefix-cache/sea%2F1").status_code == 204
    until(lambda: chats.owners() == {"fox"})
    chats.restart()
    assert chats.owners() == {"fox"}
    assert chats.ask("sea/1", SEA)["restored_n"] == 0
    assert chats.ask("fox", FOX)["restored_n"] > 200


def test_what_no_loaded_model_holds_is_deleted_too(chats: Chats) -> None:
    chats.ask("fox", FOX)
    chats.ask("sea", SEA)
    chats.restart()
    assert chats.owners() == {"fox", "sea"}
    chats("DELETE", "/api/prefix-cache/sea")
    assert chats.owners() == {"fox"}
    chats("DELETE", "/api/prefix-cache")
    assert measure(chats.folder) == (0, 0)
    for key, text in {"fox": FOX, "sea": SEA}.items():
        assert chats.ask(key, text)["restored_n"] == 0


def test_a_conversation_that_is_deleted_while_it_is_answered_leaves_nothing(chats: Chats) -> None:
    chats.ask("warm", SEA)
    fields = {"prompt_cache_key": "fox", "max_tokens": 3000, "ignore_eos": True, "stream": True}
    body = {"messages": [{"role": "user", "content": FOX}], **fields}
    with (
        httpx2.Client(base_url=chats.service.base_url, timeout=60) as http,
        http.stream("POST", "/v1/chat/completions", json=body) as reply,
    ):
        pieces = reply.iter_bytes()
        while b"content" not in next(pieces):
            pass
        chats("DELETE", "/api/prefix-cache/fox")
    until(
        lambda: (
            chats("GET", "/api/activity").json() == {"running_answers": 0, "running_downloads": 0}
        )
    )
    chats.restart()
    assert chats.owners() == {"warm"}
    assert chats.ask("fox", FOX)["restored_n"] == 0


def test_whoever_came_first_may_go_first(chats: Chats) -> None:
    """Both begin with the same words of the template."""
    chats.ask("fox", FOX)
    chats.ask("sea", SEA)
    until(lambda: chats.owners() == {"fox", "sea"})
    chats("DELETE", "/api/prefix-cache/fox")
    until(lambda: chats.owners() == {"sea"})
    chats.restart()
    assert chats.owners() == {"sea"}
    assert chats.ask("fox", FOX)["restored_n"] == 0
    assert chats.ask("sea", SEA)["restored_n"] > 200
