"""`engine.hub.search` against a hub on loopback: pages, failures in words, and what remains without a hub (case C31)."""

import gzip
import socket
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from engine.config import NetworkSettings
from engine.errors import EngineError, HubDenied, HubError, HubNotFound, SetupError
from engine.hub.catalog import Catalog
from engine.hub.ledger import Ledger
from engine.hub.network import Network
from engine.hub.search import HubSearch
from engine.hub.token import TokenStore
from tests.helpers.mock_hub import ALWAYS, MockHub, MockRepo

CATALOG = Catalog.load()


@pytest.fixture
def hub() -> Iterator[MockHub]:
    with MockHub() as running:
        yield running


def network(url: str, **settings: object) -> Network:
    return Network(NetworkSettings(endpoint=url, **settings), Ledger(None), environment={})


def tokens(folder: Path, token: str = "") -> TokenStore:
    store = TokenStore(folder / "token", environment={"HF_HOME": str(folder / "none")})
    store.write(token)
    return store


def search_of(hub: MockHub, folder: Path, token: str = "") -> HubSearch:
    return HubSearch(network(hub.url), tokens(folder, token), CATALOG)


def test_pages_bring_every_model_once_in_order(hub: MockHub, tmp_path: Path):
    for number in range(65):
        hub.repos[f"o/m{number:02}-GGUF"] = MockRepo(downloads=number, likes=100 - number)
    hub.repos["o/other"] = MockRepo(tags=("safetensors",))
    search = search_of(hub, tmp_path)
    for sort, order in (("downloads", True), ("likes", False)):
        names, cursor = [], ""
        for _ in range(3):
            page = search.page("", sort, cursor)
            names += [model.repo for model in page.models]
            cursor = page.cursor
            assert not page.offline
        assert cursor == ""
        assert names == sorted(hub.repos.keys() - {"o/other"}, reverse=order)


def test_an_empty_search_tells_each_model_of_the_catalog_once(hub: MockHub, tmp_path: Path):
    known = [entry.repo for entry in CATALOG.entries]
    for number in range(40):
        hub.repos[f"o/m{number:02}-GGUF"] = MockRepo(downloads=number + 1)
    hub.repos |= {known[0]: MockRepo(downloads=99), known[1]: MockRepo(downloads=0)}
    search = search_of(hub, tmp_path)
    first = search.page()
    last = search.page(cursor=first.cursor)
    names = [model.repo for model in (*first.models, *last.models)]
    assert names[0] == known[0]
    assert names[30 : 30 + len(known) - 1] == known[1:]
    assert len(names) == len(set(names)) == 40 + len(known)


def test_a_cursor_outlives_the_service(hub: MockHub, tmp_path: Path):
    for number in range(31):
        hub.repos[f"o/m{number:02}-GGUF"] = MockRepo(downloads=number)
    cursor = search_of(hub, tmp_path).page("", "downloads").cursor
    last = search_of(hub, tmp_path).page("", "downloads", cursor)
    assert [model.repo for model in last.models] == ["o/m00-GGUF"]


def test_a_model_tells_what_the_hub_and_the_catalog_know(hub: MockHub, tmp_path: Path):
    hub.repos["Qwen/Qwen3-4B-GGUF"] = MockRepo(
        gguf={"architecture": "qwen3", "total": 4_022_468_096, "context_length": 40960},
        tags=("gguf", "license:apache-2.0"),
        downloads=12,
        likes=3,
        gated=True,
        last_modified="2026-10-01T00:00:00.000Z",
    )
    hub.repos["o/else-GGUF"] = MockRepo()
    (model,) = search_of(hub, tmp_path).page("qwen3 4b").models
    assert (model.parameters, model.context_length) == (4_022_468_096, 40960)
    assert (model.license, model.gated, model.updated) == ("apache-2.0", True, 1_790_812_800)
    assert (model.downloads, model.likes, model.purpose) == (12, 3, "chat")
    assert model.about


def test_answers_are_kept_for_five_minutes(hub: MockHub, tmp_path: Path):
    now = [0.0]
    search = HubSearch(network(hub.url), tokens(tmp_path), CATALOG, clock=lambda: now[0])
    hub.repos["o/m-GGUF"] = MockRepo()
    first = search.page("m")
    assert search.page(" m ") == first
    assert len(hub.requests("hub")) == 1
    now[0] = 301.0
    search.page("m")
    assert len(hub.requests("hub")) == 2


def test_nothing_is_told_that_need_not_be(hub: MockHub, tmp_path: Path):
    search = search_of(hub, tmp_path)
    search.page("m")
    (request,) = hub.requests()
    assert request.path == "/api/models"
    assert request.headers["user-agent"].startswith("inglenook/")
    assert "python" not in request.headers["user-agent"].lower()
    assert "authorization" not in request.headers


def test_what_comes_from_the_hub_is_short_plain_text(hub: MockHub, tmp_path: Path):
    hub.repos["o/m-GGUF"] = MockRepo(
        gguf={"architecture": "a\x00\u202e\n" + "b" * 9999, "total": "many", "context_length": -5},
        tags=("gguf", "license:<img src=x>\x1b[31m" + "z" * 999),
    )
    hub.repos["evil/.."] = MockRepo()
    hub.repos["o/odd-GGUF"] = MockRepo(last_modified="yesterday")
    (model,) = search_of(hub, tmp_path).page(sort="likes").models
    assert model.architecture == "a " + "b" * 38
    assert (model.parameters, model.context_length) == (None, None)
    assert model.license.isprintable()
    assert len(model.license) == 60


@pytest.mark.parametrize(
    ("status", "headers", "error", "words"),
    [
        (403, {}, HubDenied, "refuses access"),
        (404, {}, HubNotFound, "no such model"),
        (429, {"RateLimit": '"api";r=0;t=55'}, HubError, "Try again in 55 s"),
        (500, {}, HubError, "trouble of its own"),
        (503, {"Retry-After": "120"}, HubError, "trouble of its own"),
    ],
)
def test_a_failure_is_told_at_once_in_words(hub, tmp_path, status, headers, error, words):
    hub.fault("status", "models", ALWAYS, status=status, where="api", headers=headers)
    with pytest.raises(error) as caught:
        search_of(hub, tmp_path).page()
    assert words in str(caught.value)
    assert len(hub.requests()) == 1


def test_a_token_that_is_not_valid_does_not_hide_public_models(hub: MockHub, tmp_path: Path):
    hub.repos["o/m-GGUF"] = MockRepo()
    search = search_of(hub, tmp_path, "hf_old")
    assert [model.repo for model in search.page("o/m").models] == ["o/m-GGUF"]
    assert search.token_refused
    sent = [request.headers.get("authorization") for request in hub.requests()]
    assert sent == ["Bearer hf_old", None]
    tokens(tmp_path, "hf_good")
    search.page("m")
    assert not search.token_refused
    tokens(tmp_path, "hf_\u00e9")  # cannot even be sent
    search.page("n")
    assert search.token_refused


def test_a_token_tells_whose_it_is(hub: MockHub, tmp_path: Path):
    assert search_of(hub, tmp_path).user() == ""
    assert hub.requests() == []
    search = search_of(hub, tmp_path, "hf_good")
    assert search.user() == search.user() == "me"
    assert len(hub.requests()) == 1
    assert search_of(hub, tmp_path, "hf_old").user() == ""
    hub.fault("status", "whoami-v2", status=429, where="api")
    assert search_of(hub, tmp_path, "hf_good").user() == ""


def test_offline_the_catalog_answers_and_nobody_is_asked(hub: MockHub, tmp_path: Path):
    search = HubSearch(network(hub.url, offline=True), tokens(tmp_path), CATALOG)
    everything = search.page()
    assert everything.offline
    assert len(everything.models) == len(CATALOG.entries)
    some = search.page("coder 7b")
    assert some.offline
    assert [model.repo for model in some.models] == ["bartowski/Qwen2.5-Coder-7B-Instruct-GGUF"]
    assert hub.requests() == []


def test_without_a_hub_the_catalog_answers_and_a_search_says_so(tmp_path: Path):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        search = HubSearch(
            network(f"http://127.0.0.1:{closed.getsockname()[1]}"), tokens(tmp_path), CATALOG
        )
        assert search.page().offline
        with pytest.raises(HubError, match="could not be reached"):
            search.page("qwen")


def test_a_proxy_that_searches_cannot_use_is_named(tmp_path: Path):
    settings = network("http://hub.invalid", proxy="gopher://me:secret@127.0.0.1:1")
    with pytest.raises(EngineError) as caught:
        HubSearch(settings, tokens(tmp_path), CATALOG).page("qwen")
    assert isinstance(caught.value, SetupError)
    assert "127.0.0.1" in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"<html>Please log in</html>", {}),
        (b'{"error": "no list"}', {}),
        (b"[" * 100_000, {}),
        (b"[\xff]", {}),
        (b"[" + b" " * (17 << 20) + b"]", {}),
        (gzip.compress(b"[]"), {"Content-Encoding": "gzip"}),
        (b"[]", {"Content-Length": "50"}),
        (b"[]", {"Link": '<http://[/>; rel="next"'}),
    ],
    ids=["page", "object", "nested", "bytes", "huge", "packed", "cut", "link"],
)
def test_an_answer_that_is_none_fails_its_own_request_only(tmp_path, body, headers):
    with _answering(body, headers) as url, pytest.raises(HubError):
        HubSearch(network(url), tokens(tmp_path), CATALOG).page("m")


class _answering:
    """A hub that says the same to everybody."""

    def __init__(self, body: bytes, headers: dict[str, str]) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                with suppress(OSError):  # the client has had enough
                    self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self) -> str:
        Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def __exit__(self, *args: object) -> None:
        self._server.shutdown()
        self._server.server_close()
