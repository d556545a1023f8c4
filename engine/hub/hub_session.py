"""The hub library's HTTP client, as we need it: bounded, without telemetry, and with failures told at once.

By itself the library sleeps and tries again for minutes (429), reads answers of any size, and tells versions of other packages.
Zone: service; any thread. Neighbours: `network` (proxy, certificates, switch, ledger), `hub_answers` (status → error), `hub_api`.
"""

import functools
import os
import re
import threading
import time
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

import httpx2

from engine.errors import HubError, SetupError
from engine.hub.hub_answers import hub_failure
from engine.hub.network import WHOLE_S, Network

_MOST_BYTES: Final = 16 << 20
_NAMED: Final = re.compile(r"/api/models/([^/]+/[^/]+)|/([^/]+/[^/]+)/resolve/")
"""The repository in the path of an address."""
_LIBRARY: Final = threading.Lock()


def connect(network: Network) -> None:
    """Make the library use our client from now on; it has one for the whole process, so another network's ends."""
    with _LIBRARY:
        _connect(network)


@functools.lru_cache(maxsize=1)
def _connect(network: Network) -> None:
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("HF_HUB_DISABLE_XET", "1")
    from huggingface_hub import set_client_factory

    def client() -> httpx2.Client:
        try:
            made = network.hub_client()
        except (ImportError, ValueError) as error:
            raise SetupError(
                f"The proxy {network.proxy} is of a kind that searches cannot use.",
                hint="Give one that begins with http://, in the settings or in https_proxy.",
            ) from error
        made.headers["Accept-Encoding"] = "identity"  # what is bounded is what arrives
        made.event_hooks = {
            "request": made.event_hooks["request"],
            "response": [functools.partial(_check_response, network)],
        }
        return made

    set_client_factory(client)


def _check_response(network: Network, response: httpx2.Response) -> None:
    """Turn failures into our errors before the library sees them: it would sleep and try again, minutes long."""
    url = response.request.url
    if response.status_code >= 400:
        raise _failure(network, response)
    if response.headers.get("content-encoding", "identity") != "identity":
        raise HubError(
            f"{url.host} sends its answer packed.", hint="Try again later.", host=url.host
        )
    if isinstance(response.stream, httpx2.SyncByteStream):
        response.stream = _Bounded(response.stream, network, str(url))


class _Bounded(httpx2.SyncByteStream):
    """A body that is neither endless nor dripping."""

    def __init__(self, stream: httpx2.SyncByteStream, network: Network, url: str) -> None:
        self._stream = stream
        self._network = network
        self._url = url
        self._until = time.monotonic() + WHOLE_S

    def __iter__(self) -> Iterator[bytes]:
        total = 0
        for chunk in self._stream:
            total += len(chunk)
            self._network.received(self._url, len(chunk))
            if total > _MOST_BYTES or time.monotonic() > self._until:
                host = urlsplit(self._url).hostname or ""
                raise HubError(
                    f"{host} gave an answer that is too {'large' if total > _MOST_BYTES else 'slow'}.",
                    hint="Try again later.",
                    host=host,
                )
            yield chunk

    def close(self) -> None:
        self._stream.close()


def _failure(network: Network, response: httpx2.Response) -> HubError:
    request = response.request
    named = _NAMED.search(request.url.path)
    return hub_failure(
        response.status_code,
        response.headers,
        endpoint=network.endpoint,
        host=request.url.host,
        repo=(named[1] or named[2]) if named else "",
        with_token="authorization" in request.headers,
    )
