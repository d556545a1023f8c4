"""Where one file's bytes come from: the hub's address, the signed link behind it, and whether an answer is really the file.

The hub answers with a link to its storage that runs out after a while; it is kept for all requests of the file, and a new one is
fetched when it is refused. The token goes to the hub's own origin only. Neighbours: `engine.hub.network`, `transfer`.
"""

import re
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlsplit

from engine.errors import HubDenied, HubError, HubNotFound
from engine.hub.hub_answers import hub_failure
from engine.hub.network import Network

if TYPE_CHECKING:
    import urllib3

_RANGE: Final = re.compile(r"bytes (\d+)-(\d+)/(\d+)")
_WHOLE: Final = re.compile(r"bytes \*/(\d+)")
_RUN_OUT: Final = frozenset({400, 401, 403, 404, 410})
"""How storages answer to a signature that is too old."""
_SHA256: Final = re.compile(r"[0-9a-f]{64}")


class Source:
    """One file at one commit. Any thread."""

    def __init__(
        self,
        network: Network,
        token: str,
        *,
        repo: str,
        commit: str,
        path: str,
        size: int,
        sha256: str,
    ) -> None:
        """Ask nobody yet.

        Args:
            network: the way out.
            token: of the hub; may be empty.
            repo: `owner/name`.
            commit: 40 hexadecimal digits.
            path: inside the repository.
            size: what the hub said of it, bytes.
            sha256: what the hub said of it; may be empty.
        """
        self.ranges = False
        """A part of the file was asked for, and came."""
        self._network = network
        self._token = token
        self._repo = repo
        self._commit = commit
        self._size = size
        self._sha256 = sha256
        self._url = f"{network.endpoint}/{quote(repo)}/resolve/{commit}/{quote(path)}"
        self._link = ""
        self._etags: dict[str, str] = {}
        self._guard = threading.Lock()

    @property
    def address(self) -> str:
        """Where the bytes come from at the moment."""
        return self._link or self._url

    @property
    def host(self) -> str:
        """Of it."""
        return urlsplit(self.address).hostname or ""

    def open(self, start: int, end: int) -> "urllib3.BaseHTTPResponse":
        """Ask for bytes start … end; the caller reads and closes.

        Returns:
            Status 206: bytes from `start` on, perhaps fewer. 200: the whole file, from its beginning.

        Raises:
            Offline: no connection may be made.
            HubDenied: token, login or licence is wanted.
            HubNotFound: it is not there, or no longer the file that was chosen.
            HubError: anything else; the same may work later.
        """
        try:
            return self._open(start, end)
        except HubDenied as denied:
            if denied.details.get("reason") != "token":
                raise
            self._token = ""  # public models need none
            try:
                return self._open(start, end)
            except (HubDenied, HubNotFound):
                raise denied from None

    def _open(self, start: int, end: int) -> "urllib3.BaseHTTPResponse":
        link = self._link
        if link:
            response, came_from = self._get(link, start, end)
            if response.status not in _RUN_OUT:
                return self._checked(response, came_from, start)
            response.close()
            with self._guard:
                if self._link == link:
                    self._link = ""
        response, came_from = self._get(self._url, start, end)
        checked = self._checked(response, came_from, start)
        if came_from != self._url:
            self._link = came_from
        return checked

    def _get(self, url: str, start: int, end: int) -> "tuple[urllib3.BaseHTTPResponse, str]":
        headers = {"Range": f"bytes={start}-{end - 1}"}
        if self._token and self._is_hub(url):
            headers["Authorization"] = f"Bearer {self._token}"
        return self._network.get(url, headers)

    def _checked(
        self, response: "urllib3.BaseHTTPResponse", url: str, start: int
    ) -> "urllib3.BaseHTTPResponse":
        try:
            if response.status not in (200, 206):
                raise self._refusal(response, url)  # noqa: TRY301 - closed on every way out
            self._check_file(response.headers, urlsplit(url).hostname or "")
            self._check_span(response, urlsplit(url).hostname or "", start)
        except BaseException:
            response.close()
            raise
        return response

    def _check_file(self, headers: Mapping[str, str], host: str) -> None:
        """Is it the file at all?"""
        if headers.get("Content-Type", "").lower().startswith("text/html"):
            raise HubError(
                f"{host} answered with a web page instead of the file.",
                hint="Does this network want a login? Open a web page in the browser, then try again.",
                host=host,
            )
        if headers.get("Content-Encoding", "identity").lower() != "identity":
            raise HubError(
                f"{host} packed the file, which was not asked for.",
                hint="Try again later.",
                host=host,
            )
        etag = headers.get("ETag", "")
        if etag and not etag.startswith("W/"):
            etag = etag.strip('"')
            with self._guard:
                known = self._etags.setdefault(host, etag)
            named = self._sha256 and _SHA256.fullmatch(etag)
            if etag != known or (named and etag != self._sha256):
                raise self._changed(host)
        if headers.get("X-Repo-Commit", self._commit) != self._commit:
            raise self._changed(host)

    def _check_span(self, response: "urllib3.BaseHTTPResponse", host: str, start: int) -> None:
        """Is it the part that was asked for?"""
        if response.status == 200:
            said = response.headers.get("Content-Length")
            if said is not None and said != str(self._size):
                raise self._changed(host)
            return
        span = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
        if span is not None and int(span[3]) != self._size:
            raise self._changed(host)
        if span is None or int(span[1]) != start:
            raise HubError(
                f"{host} sent another part of the file than was asked for.",
                hint="Try again later.",
                host=host,
            )
        self.ranges = True

    def _refusal(self, response: "urllib3.BaseHTTPResponse", url: str) -> HubError:
        host = urlsplit(url).hostname or ""
        if response.status == 416:
            whole = _WHOLE.fullmatch(response.headers.get("Content-Range", ""))
            if whole is not None and int(whole[1]) != self._size:
                return self._changed(host)
        if response.status in _RUN_OUT and not self._is_hub(url):
            return HubError(
                f"{host} does not give out the file (status {response.status}).",
                hint="Try again later.",
                host=host,
            )
        return hub_failure(
            response.status,
            response.headers,
            endpoint=self._network.endpoint,
            host=host,
            repo=self._repo,
            with_token=bool(self._token),
        )

    def _changed(self, host: str) -> HubNotFound:
        return HubNotFound(
            "The file on the hub is no longer the one that was chosen.",
            hint="Look at the model's page again and download what is there now.",
            host=host,
        )

    def _is_hub(self, url: str) -> bool:
        ours, theirs = urlsplit(self._network.endpoint), urlsplit(url)
        return (ours.scheme, ours.netloc) == (theirs.scheme, theirs.netloc)
