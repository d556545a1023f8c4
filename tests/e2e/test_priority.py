"""Who may wait, waits: behind a slot that is taken, the request that somebody waits for goes first."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import httpx2
import pytest

from tests.helpers.fake_service import fake_service


@contextmanager
def asked(http: httpx2.Client, **fields: Any) -> Iterator[Iterator[str]]:
    """The texts of an answer as they come; the first one, empty, says that the request stands in line."""
    messages = [{"role": "user", "content": "x"}]
    body = {"messages": messages, "ignore_eos": True, "stream": True, **fields}
    with http.stream("POST", "/v1/chat/completions", json=body) as reply:
        chunks = (json.loads(line[6:]) for line in reply.iter_lines() if line.startswith("data: {"))
        yield (chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks)


class Line:
    """Who asked, in the order in which they are answered."""

    def __init__(self, http: httpx2.Client) -> None:
        self._http = http
        self.order: list[str] = []

    def ask(self, name: str, stands: Event, fields: dict[str, Any]) -> None:
        with asked(self._http, max_tokens=3, **fields) as texts:
            assert next(texts) == ""
            stands.set()
            next(text for text in texts if text)
            self.order.append(name)


@pytest.mark.parametrize("later", [{"priority": 1}, {"service_tier": "flex"}], ids=str)
def test_who_is_waited_for_goes_before_who_may_wait(tmp_path: Path, later: dict[str, Any]) -> None:
    with (
        fake_service(tmp_path, num_sequences=1, seconds_per_step=0.005) as service,
        httpx2.Client(base_url=service.url, timeout=60) as http,
        ThreadPoolExecutor(2) as pool,
    ):
        line = Line(http)
        answers = []
        with asked(http, max_tokens=4000) as busy:
            next(text for text in busy if text)
            for name, fields in {"batch": later, "person": {}}.items():
                stands = Event()
                answers.append(pool.submit(line.ask, name, stands, fields))
                assert stands.wait(60)
            assert line.order == []
        for answer in answers:
            answer.result(60)
        assert line.order == ["person", "batch"]
