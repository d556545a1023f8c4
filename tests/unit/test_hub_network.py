"""The only way out: the switch, proxies, redirects and the ledger."""

import socket
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from engine.config import NetworkSettings
from engine.errors import HubError, Offline, SetupError
from engine.hub.ledger import Ledger
from engine.hub.network import Network, without_password
from tests.helpers.mock_hub import COMMIT, MockFile, MockHub, MockRepo
from tests.helpers.socks_proxy import SocksProxy

REPO = "org/model"
NAME = "model.gguf"
PATH = f"/{REPO}/resolve/{COMMIT}/{NAME}"


@pytest.fixture
def hub():
    with MockHub({REPO: MockRepo({NAME: MockFile(b"GGUF" * 100)})}) as running:
        yield running


class Proxy:
    """Records what goes through it, and answers everything itself."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, str]]] = []
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                proxy.seen.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                with suppress(OSError):
                    self.wfile.write(b"ok")

            def do_CONNECT(self) -> None:
                proxy.seen.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
                self.send_error(502)

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]

    def __enter__(self) -> "Proxy":
        threading.Thread(target=self._server.serve_forever, args=(0.005,), daemon=True).start()
        return self

    def __exit__(self, *args: object) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def proxy():
    with Proxy() as running:
        yield running


def network(url: str = "", environment: dict[str, str] | None = None, **settings) -> Network:
    return Network(NetworkSettings(endpoint=url, **settings), Ledger(None), environment or {})


def read(way: Network, url: str, **headers: str) -> bytes:
    response, _ = way.get(url, headers)
    try:
        return response.read()
    finally:
        response.close()


def test_offline_nothing_goes_out_and_the_attempt_is_counted(hub) -> None:
    way = network(hub.url, offline=True)
    with way.purpose("card"), pytest.raises(Offline):
        way.get(hub.url + PATH, {})
    with way.hub_client() as client, way.purpose("search"), pytest.raises(Offline):
        client.get(f"{hub.url}/api/models")
    assert hub.log == []
    lines = {line.purpose: line for line in way.ledger.connections}
    assert (lines["card"].refused, lines["card"].requests) == (1, 0)
    assert lines["search"].refused == 1


def test_each_host_of_a_redirect_is_in_the_ledger(hub) -> None:
    way = network(hub.url)
    with way.purpose("download"):
        assert read(way, hub.url + PATH) == b"GGUF" * 100
        way.received(hub.cdn_url, 400)
    lines = {line.host: line for line in way.ledger.connections}
    assert set(lines) == {"127.0.0.1", "localhost"}
    assert lines["localhost"].received_bytes == 400
    assert all(line.purpose == "download" and line.requests == 1 for line in lines.values())


def test_who_we_are_is_told_to_the_first_host_only(hub) -> None:
    hub.fault("third_host", NAME, 1)
    read(network(hub.url), hub.url + PATH, Authorization="Bearer hf_good")
    assert "authorization" in hub.requests("hub")[0].headers
    assert "authorization" not in hub.requests("third")[0].headers
    assert hub.requests("third")[0].headers["accept-encoding"] == "identity"


def test_being_sent_round_in_circles_ends(hub) -> None:
    hub.fault("redirect_loop", NAME, 100)
    with pytest.raises(HubError, match="address to address"):
        network(hub.url).get(hub.url + PATH, {})
    assert len(hub.log) < 20


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])
def test_the_usual_variables_are_obeyed(proxy, name) -> None:
    way = network(environment={name: f"http://me:geheim@127.0.0.1:{proxy.port}"})
    assert read(way, "http://hub.example/x") == b"ok"
    path, headers = proxy.seen[0]
    assert path == "http://hub.example/x"
    assert headers["proxy-authorization"].startswith("Basic ")


def test_https_goes_through_the_proxy_for_https(proxy) -> None:
    way = network(environment={"https_proxy": f"http://127.0.0.1:{proxy.port}"})
    with pytest.raises(HubError, match="through the proxy"):
        way.get("https://hub.example/x", {})
    assert proxy.seen[0][0] == "hub.example:443"


@pytest.mark.parametrize("names", ["hub.example", ".example", "*", "other, hub.example:80"])
def test_no_proxy_is_obeyed(proxy, names) -> None:
    environment = {"http_proxy": f"http://127.0.0.1:{proxy.port}", "NO_PROXY": names}
    way = network("http://hub.example:80", environment)
    assert way.proxy == ""


def test_loopback_never_goes_through_a_proxy_of_the_environment(hub, proxy) -> None:
    address = f"http://127.0.0.1:{proxy.port}"
    way = network(hub.url, {"http_proxy": address, "all_proxy": address})
    assert read(way, hub.url + PATH) == b"GGUF" * 100
    assert proxy.seen == []


def test_a_proxy_of_the_settings_goes_first(proxy) -> None:
    way = network(
        environment={"http_proxy": "http://127.0.0.1:9"}, proxy=f"http://127.0.0.1:{proxy.port}"
    )
    assert read(way, "http://hub.example/x") == b"ok"


@pytest.mark.parametrize("scheme", ["http", "socks5h"])
def test_a_proxy_that_is_down_is_named_without_its_password(scheme) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    way = network("http://hub.example", proxy=f"{scheme}://me:geheim@127.0.0.1:{port}")
    with pytest.raises(HubError) as failed:
        way.get("http://hub.example/x", {})
    assert f"{scheme}://127.0.0.1:{port}" in str(failed.value)
    assert "geheim" not in str(failed.value)
    assert "geheim" not in way.proxy


def test_everything_goes_through_a_socks_proxy_that_looks_names_up(hub) -> None:
    with SocksProxy(int(hub.url.rpartition(":")[2])) as socks:
        way = network("http://hub.example", proxy=f"socks5h://127.0.0.1:{socks.port}")
        response = way._pool("http://hub.example").request("GET", "http://hub.example/api/models")
        assert response.status == 200
        with way.hub_client() as client:
            assert client.get("http://hub.example/api/models").status_code == 200
    assert socks.asked == [("hub.example", 80)] * 2


def test_a_host_that_is_not_there_is_named(hub) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(HubError, match=r"127\.0\.0\.1 could not be reached"):
        network().get(f"http://127.0.0.1:{port}/", {})


def test_settings_that_make_no_sense_are_refused(tmp_path) -> None:
    with pytest.raises(SetupError):
        network("ftp://hub.example")
    broken = tmp_path / "ca.pem"
    broken.write_text("no certificate")
    with pytest.raises(SetupError, match="certificates"):
        network("https://hub.example", ca_file=str(broken)).get("https://127.0.0.1:1/", {})


def test_the_mirror_of_the_environment_is_taken() -> None:
    assert (
        network("", {"HF_ENDPOINT": "https://mirror.example/"}).endpoint == "https://mirror.example"
    )
    assert without_password("http://a:b@c:1") == "http://c:1"
