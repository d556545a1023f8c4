"""Who may ask, over every route of the app itself (C35)."""

from collections.abc import Iterator

import httpx2
import pytest
from starlette.routing import Route

from engine.server.access import Access
from engine.server.application import create_app
from tests.helpers.in_process import with_app
from tests.helpers.scripted_engine import ScriptedEngine

KEY = "s3cret-Ä"
RIGHT = f"Bearer {KEY}".encode()
WRONG: list[dict[str, bytes]] = [
    {},
    {"authorization": b"Bearer wrong"},
    {"authorization": b"Bearer"},
    {"authorization": b"Bearer "},
    {"authorization": KEY.encode()},
    {"authorization": b"Basic " + KEY.encode()},
    {"authorization": b"bearer wrong"},
    {"authorization": RIGHT + b"x"},
    {"authorization": RIGHT[:-1]},
    {"authorization": b"Bearer " + KEY.upper().encode()},
    {"x-api-key": b""},
    {"x-api-key": b"wrong"},
    {"x-api-key": RIGHT},
    {"cookie": b"key=" + KEY.encode()},
]
METHODS = ("GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE")
ODD_PATHS = (
    "//v1/models",
    "/v1/models/",
    "/V1/Models",
    "/v1/../v1/models",
    "/health/",
    "//health",
    "/health/../v1/models",
    "/HEALTH",
    "/nope",
    "/",
)


def paths() -> Iterator[str]:
    for route in create_app(ScriptedEngine()).routes:
        assert isinstance(route, Route)
        if route.path != "/health":
            yield route.path.replace("{id:path}", "tiny")
    yield from ODD_PATHS


def test_nothing_but_health_answers_without_the_key() -> None:
    async def test(http: httpx2.AsyncClient, engine: ScriptedEngine) -> None:
        for path in paths():
            for query in ("", f"?key={KEY}&api_key={KEY}&model=tiny"):
                for headers in WRONG:
                    for method in METHODS:
                        response = await http.request(method, path + query, headers=headers)
                        assert response.status_code == 401, (method, path, headers)
                        if method != "HEAD":
                            error = response.json()["error"]
                            assert error["type"] == "authentication_error"
                            assert KEY not in response.text
        assert engine.requests == []
        for method in ("GET", "HEAD"):
            assert (await http.request(method, "/health")).status_code == 200

    with_app(test, api_keys=("other", KEY))


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": RIGHT},
        {"authorization": b"bearer " + KEY.encode()},  # schemes have no case (RFC 9110, 11.1)
        {"authorization": RIGHT + b" "},  # servers strip header values anyway
        {"x-api-key": KEY.encode()},
        {"authorization": b"Bearer other"},
    ],
)
def test_any_right_key_opens(headers: dict[str, bytes]) -> None:
    async def test(http: httpx2.AsyncClient, _: ScriptedEngine) -> int:
        return (await http.get("/v1/models", headers=headers)).status_code

    assert with_app(test, api_keys=("other", KEY)) == 200


@pytest.mark.parametrize("key", ["", " ", "a ", "\tb"])
def test_keys_that_would_open_to_everybody_are_refused(key: str) -> None:
    with pytest.raises(ValueError, match="API key"):
        create_app(ScriptedEngine(), api_keys=(key,))


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1:8080", "[::1]:80", "a.localhost:1", "mine"]
)
def test_local_host_names_pass(host: str) -> None:
    assert ask({"host": host}, allowed_hosts=("Mine",)) == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "192.168.1.7",
        "",
        "localhost@evil.example",
        "[::1",
        "127.0.0.1.evil.example:80",
    ],
)
@pytest.mark.parametrize("path", ["/v1/models", "/health"])
def test_rebound_names_are_refused(host: str, path: str) -> None:
    assert ask({"host": host}, path) == 403


@pytest.mark.parametrize(
    "origin",
    ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:8", "https://app.example"],
)
def test_local_and_allowed_pages_pass(origin: str) -> None:
    assert ask({"origin": origin}, allowed_origins=("https://app.example",)) == 200


def test_a_slash_or_case_in_the_setting_does_not_matter() -> None:
    access = Access(allowed_origins=("HTTPS://App.Example/",))
    assert access.allows_origin("https://app.example")


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "http://evil.example",
        "https://app.example.evil",
        "http://app.example",
        "http://localhost.evil.example",
        "http://[",
        "https://app.example:444",
    ],
)
@pytest.mark.parametrize("path", ["/v1/models", "/health"])
def test_foreign_pages_are_refused(origin: str, path: str) -> None:
    assert ask({"origin": origin}, path, allowed_origins=("https://app.example",)) == 403


def ask(headers: dict[str, str], path: str = "/v1/models", **settings: tuple[str, ...]) -> int:
    async def test(http: httpx2.AsyncClient, _: ScriptedEngine) -> int:
        response = await http.get(path, headers=headers)
        if response.status_code == 403:
            assert response.json()["error"]["type"] == "permission_error"
        if headers.get("origin") not in settings.get("allowed_origins", ()):
            assert not [name for name in response.headers if name.startswith("access-control")]
        return response.status_code

    return with_app(test, **settings)


PREFLIGHT = {
    "origin": "https://app.example",
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization,content-type",
}


def test_preflights_of_allowed_pages_are_answered_without_a_key() -> None:
    async def test(http: httpx2.AsyncClient, _: ScriptedEngine) -> None:
        response = await http.options("/v1/chat/completions", headers=PREFLIGHT)
        assert response.status_code == 204
        assert response.headers["access-control-allow-origin"] == "https://app.example"
        assert "authorization" in response.headers["access-control-allow-headers"]
        assert "origin" in response.headers["vary"].lower()
        foreign = {**PREFLIGHT, "origin": "https://evil.example"}
        response = await http.options("/v1/chat/completions", headers=foreign)
        assert response.status_code == 403
        origin = {"origin": "https://app.example"}
        response = await http.get("/v1/models", headers=origin)
        assert response.status_code == 401
        assert response.headers["access-control-allow-origin"] == "https://app.example"

    with_app(test, api_keys=("k",), allowed_origins=("https://app.example",))
