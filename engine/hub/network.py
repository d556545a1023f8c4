"""The only way out: every connection to another machine is made here, counted, and stopped where the user wants none.

Zone: service; any thread. Bodies of files go through urllib3 (reads straight into our buffer, half the CPU of an h11 client); the
hub library's own calls go through its httpx2 client, which `hub_client` makes with the same proxy, certificates and switch.
"""

import contextvars
import os
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies_environment

from engine.api.loopback import is_loopback
from engine.config import VERSION, NetworkSettings
from engine.errors import HubError, Offline, SetupError
from engine.hub.ledger import Ledger

if TYPE_CHECKING:  # at the first connection: 50 ms and 5 MB that a service without one does not pay
    import httpx2
    import urllib3

HUB: Final = "https://huggingface.co"
CONNECT_S: Final = 10.0
SILENCE_S: Final = 20.0
"""Without a byte for so long a connection counts as stalled."""
WHOLE_S: Final = 30.0
"""Of one answer that is no file, however slowly it drips."""
_MOST_REDIRECTS: Final = 8
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})

_purpose: contextvars.ContextVar[str] = contextvars.ContextVar("purpose", default="hub")


class Network:
    """Connections, as the settings allow them."""

    def __init__(
        self,
        settings: NetworkSettings,
        ledger: Ledger,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """Connect to nobody yet.

        Args:
            settings: what the user chose.
            ledger: is told of every request.
            environment: proxies and certificates where the settings are silent.
        """
        self.offline = settings.offline
        self.endpoint = (settings.endpoint or environment.get("HF_ENDPOINT") or HUB).rstrip("/")
        self.ledger = ledger
        self._settings = settings
        self._environment = environment
        self._pools: dict[str, urllib3.PoolManager] = {}
        self._lock = threading.Lock()
        if urlsplit(self.endpoint).scheme not in ("http", "https"):
            raise SetupError(
                f"The hub's address “{self.endpoint}” is none.",
                hint="It begins with https://; see network.endpoint in the settings.",
            )

    @contextmanager
    def purpose(self, text: str) -> Iterator[None]:
        """What the requests inside are for, in the ledger."""
        token = _purpose.set(text)
        try:
            yield
        finally:
            _purpose.reset(token)

    def check(self, host: str) -> None:
        """Count a request that is about to be made.

        Raises:
            Offline: none may be made.
        """
        if self.offline:
            self.ledger.note(host, _purpose.get(), refused=1)
            raise Offline(
                "This needs a connection, and the app is offline.",
                hint="Switch “Offline” off in the settings.",
            )
        self.ledger.note(host, _purpose.get(), requests=1)

    def received(self, url: str, num_bytes: int) -> None:
        """Count bytes of a body."""
        self.ledger.note(urlsplit(url).hostname or "", _purpose.get(), received=num_bytes)

    def get(self, url: str, headers: Mapping[str, str]) -> "tuple[urllib3.BaseHTTPResponse, str]":
        """Open a GET whose body is read by the caller, who also releases it.

        Redirects are followed; what proves who we are goes to the first host only.

        Args:
            url: http or https.
            headers: of the request.

        Returns:
            The response, of any status but a redirect, and the address it came from.

        Raises:
            Offline: none may be made.
            HubError: the host or the proxy cannot be reached, or sends us round in circles.
        """
        import urllib3

        sent = {"Accept-Encoding": "identity", **headers}
        first = _origin(url)
        for _ in range(_MOST_REDIRECTS):
            if _origin(url) != first:
                sent = {k: v for k, v in sent.items() if k.lower() != "authorization"}
            host = urlsplit(url).hostname or ""
            self.check(host)
            try:
                response = self._pool(url).request(
                    "GET", url, headers=sent, redirect=False, retries=False, preload_content=False
                )
            except urllib3.exceptions.HTTPError as error:
                raise self.unreachable(url, error) from error
            if response.status not in _REDIRECTS or not (to := response.headers.get("location")):
                return response, url
            response.drain_conn()
            response.release_conn()
            url = urljoin(url, to)
            if urlsplit(url).scheme not in ("http", "https"):
                break
        raise HubError(
            f"{urlsplit(url).hostname} sends us from address to address.",
            hint="Try again later.",
            host=urlsplit(url).hostname or "",
        )

    def hub_client(self) -> "httpx2.Client":
        """For the hub library (`set_client_factory`): the same rules for its own requests."""
        import httpx2

        def before(request: httpx2.Request) -> None:
            self.check(request.url.host)

        proxy = self._proxy(self.endpoint)
        return httpx2.Client(
            event_hooks={"request": [before]},
            follow_redirects=True,
            timeout=httpx2.Timeout(SILENCE_S, connect=CONNECT_S),
            proxy=proxy,
            trust_env=False,
            verify=self._certificates() if self.endpoint.startswith("https") else False,
        )

    def unreachable(self, url: str, error: Exception) -> HubError:
        """The sentence for a connection that could not be made."""
        proxy = self._proxy(url)
        host = urlsplit(url).hostname or url
        if proxy is not None:
            return HubError(
                f"{host} could not be reached through the proxy {without_password(proxy)}.",
                hint="Check the proxy in the settings, or in https_proxy.",
                host=host,
                native=type(error).__name__,
            )
        return HubError(
            f"{host} could not be reached.",
            hint="Check the connection and try again.",
            host=host,
            native=type(error).__name__,
        )

    @property
    def proxy(self) -> str:
        """What the hub is reached through, without its password; empty: directly."""
        proxy = self._proxy(self.endpoint)
        return without_password(proxy) if proxy else ""

    def _proxy(self, url: str) -> str | None:
        parts = urlsplit(url)
        if self._settings.proxy:
            return self._settings.proxy
        found = _proxies(self._environment)
        host = parts.hostname or ""
        if is_loopback(host) or _bypasses(host, parts.port, found.get("no", "")):
            return None
        return found.get(parts.scheme) or found.get("all")

    def _pool(self, url: str) -> "urllib3.PoolManager":
        proxy = self._proxy(url) or ""
        with self._lock:
            if proxy not in self._pools:
                self._pools[proxy] = self._new_pool(proxy)
            return self._pools[proxy]

    def _new_pool(self, proxy: str) -> "urllib3.PoolManager":
        import urllib3

        options: dict[str, Any] = {
            "maxsize": 16,
            "timeout": urllib3.Timeout(connect=CONNECT_S, read=SILENCE_S),
            "ssl_context": self._certificates(),
        }
        if not proxy:
            return urllib3.PoolManager(**options)
        if proxy.startswith("socks"):
            from urllib3.contrib.socks import SOCKSProxyManager

            return SOCKSProxyManager(proxy, **options)
        auth = urllib3.util.parse_url(proxy).auth
        headers = urllib3.make_headers(proxy_basic_auth=auth) if auth else None
        return urllib3.ProxyManager(proxy, proxy_headers=headers, **options)

    def _certificates(self) -> ssl.SSLContext:
        file = (
            self._settings.ca_file
            or self._environment.get("SSL_CERT_FILE")
            or self._environment.get("REQUESTS_CA_BUNDLE")
        )
        if not file:
            import truststore

            return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # the system's
        try:
            return ssl.create_default_context(cafile=file)
        except (OSError, ssl.SSLError) as error:
            raise SetupError(
                f"The certificates in {file} cannot be read.",
                hint="See network.ca_file in the settings.",
            ) from error


def without_password(url: str) -> str:
    """A proxy's address for people and logs."""
    from urllib3.util import parse_url

    parts = parse_url(url)
    return parts._replace(auth=None).url


def _proxies(environment: Mapping[str, str]) -> dict[str, str]:
    """Scheme → proxy, `no` included; lower case goes first, as in curl."""
    if environment is os.environ:
        return getproxies_environment()
    found: dict[str, str] = {}
    for name in sorted(environment, key=str.islower):
        if name.lower().endswith("_proxy") and environment[name]:
            found[name.lower().removesuffix("_proxy")] = environment[name]
    return found


def _bypasses(host: str, port: int | None, names: str) -> bool:
    """Does `no_proxy` name the host, a domain above it, or all?"""
    for name in (part.strip().lower().lstrip(".") for part in names.split(",")):
        bare, _, at = name.partition(":")
        if name == "*" or (
            bare and (not at or at == str(port)) and f".{host.lower()}".endswith(f".{bare}")
        ):
            return True
    return False


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


def headers(token: str | Literal[False] = False) -> dict[str, str]:
    """Of a request; without ours the hub library would tell the versions of Python and torch."""
    own = {"user-agent": f"inglenook/{VERSION}"}
    return own | {"authorization": f"Bearer {token}"} if token else own


def connection_errors() -> tuple[type[Exception], ...]:
    """What reading a body raises when the line fails, for `except`."""
    import urllib3

    return (urllib3.exceptions.HTTPError, OSError)
