"""Reads the header of a GGUF file that lies on the hub, by ranges that grow, and not a byte of its weights more than that takes.

Zone: service; a thread that may wait. Neighbours: `network` (the way out), `engine.formats.gguf` (the bounded reader).
"""

import http
import tempfile
import time
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlsplit

from engine.errors import HubDenied, HubError, HubNotFound, ModelFormatError
from engine.formats.gguf import read_header
from engine.formats.gguf_header import GgufHeader
from engine.formats.ghost_file import MOST_BYTES
from engine.hub.network import Network, connection_errors
from engine.hub.token import TokenStore

if TYPE_CHECKING:
    import urllib3

FIRST_BYTES: Final = 1 << 20
MOST_HEADER: Final = 64 << 20
"""Bytes. Headers with 262,144 tokens and their merges stay below 20 MB."""
DEADLINE_S: Final = 60.0
"""For the whole header, however slowly it comes."""
_READ_BYTES: Final = 1 << 18
_KEPT: Final = 4


class RemoteHeaders:
    """Headers of files on the hub; the last few are kept."""

    def __init__(
        self, network: Network, tokens: TokenStore, *, deadline_s: float = DEADLINE_S
    ) -> None:
        """Read nothing yet.

        Args:
            network: the way out.
            tokens: of the hub.
            deadline_s: for one header.
        """
        self._network = network
        self._tokens = tokens
        self._deadline_s = deadline_s
        self._known: OrderedDict[tuple[str, str, str, int], tuple[bytes, GgufHeader]] = (
            OrderedDict()
        )

    def read(
        self, repo: str, revision: str, path: str, size_bytes: int
    ) -> tuple[bytes, GgufHeader]:
        """The header's bytes, up to the tensor data, and what they say.

        Args:
            repo: `owner/name`.
            revision: a commit, so that what is kept stays true.
            path: of the file.
            size_bytes: of the whole file, as the hub lists it.

        Raises:
            Offline: no connection may be made.
            HubError: the hub says no, cannot be reached, or answers what was not asked.
            ModelFormatError: the file is no whole GGUF file.
        """
        key = (repo, revision, path, size_bytes)
        found = self._known.pop(key, None)
        if found is None:
            url = f"{self._network.endpoint}/{quote(repo)}/resolve/{quote(revision)}/{quote(path)}"
            found = self.read_url(url, path.rpartition("/")[2], size_bytes)
        self._known[key] = found
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return found

    def read_url(self, url: str, name: str, size_bytes: int) -> tuple[bytes, GgufHeader]:
        """As `read`, from an address.

        Args:
            url: of the file.
            name: of the file, for messages.
            size_bytes: of the whole file.
        """
        if not 0 < size_bytes <= MOST_BYTES:
            raise ModelFormatError(
                f"{name} cannot have {size_bytes:,} bytes.",
                hint="Choose another file of the model.",
                file=name,
            )
        deadline = time.monotonic() + self._deadline_s
        data = bytearray()
        refused = ""
        with (
            self._network.purpose("header"),
            tempfile.TemporaryDirectory(prefix="header-") as folder,
        ):
            file = Path(folder, "header.gguf")
            while True:
                wanted = min(size_bytes, MOST_HEADER, max(FIRST_BYTES, 2 * len(data)))
                data += self._range(url, len(data), wanted, size_bytes, deadline)
                file.write_bytes(data)
                try:
                    header = _whole(file, size_bytes)
                except ModelFormatError as error:
                    # A header that goes on says so with the number of bytes there are; the same words twice are damage.
                    if error.message == refused or len(data) >= min(size_bytes, MOST_HEADER):
                        raise _about(error, file.name, name) from error
                    refused = error.message
                else:
                    return bytes(data[: header.data_offset]), header

    def _range(self, url: str, start: int, end: int, size: int, deadline: float) -> bytes:
        """Bytes [start, end) of the file."""
        headers = {"Range": f"bytes={start}-{end - 1}"}
        if token := self._tokens.read()[0]:
            headers["Authorization"] = f"Bearer {token}"
        response, came_from = self._network.get(url, headers)
        host = urlsplit(came_from).hostname or ""
        try:
            begins = _checked(response, host, start, end, size)
            parts: list[bytes] = []
            missing = end - begins
            while missing > 0:
                part = response.read1(min(missing, _READ_BYTES))
                if not part or time.monotonic() > deadline:
                    raise HubError(
                        f"{host} {'stopped in the middle' if not part else 'is too slow'}.",
                        hint="Try again later.",
                        host=host,
                    )
                parts.append(part)
                missing -= len(part)
        except connection_errors() as error:
            raise HubError(
                f"The connection to {host} was lost.", hint="Try again.", host=host
            ) from error
        finally:
            response.close()  # what follows in an answer without ranges are gigabytes
        body = b"".join(parts)
        self._network.received(came_from, len(body))
        return body[start - begins :]


def _whole(file: Path, size_bytes: int) -> GgufHeader:
    """The header of a file of which only the beginning is there.

    Raises:
        ModelFormatError: also where its header goes on.
    """
    try:
        header = read_header(file)
    except ModelFormatError as error:
        if "needed_bytes" not in error.details:
            raise
    else:
        if header.file_bytes == size_bytes:
            return header
    with file.open("r+b") as whole:  # only weights are missing: a hole stands for them
        whole.truncate(size_bytes)
    return read_header(file)


def _about(error: ModelFormatError, used: str, name: str) -> ModelFormatError:
    """The same with the file's real name."""
    details = {**error.details, "file": name}
    return ModelFormatError(error.message.replace(used, name), hint=error.hint, **details)


def _checked(
    response: "urllib3.BaseHTTPResponse", host: str, start: int, end: int, size: int
) -> int:
    """Where the answer's bytes begin."""
    status = response.status
    if status == http.HTTPStatus.PARTIAL_CONTENT:
        said = response.headers.get("content-range", "")
        if said != f"bytes {start}-{end - 1}/{size}":
            raise HubError(
                f"{host} sent another part of the file than it was asked for.",
                hint="Reload the card, then try again.",
                host=host,
            )
        return start
    if status == http.HTTPStatus.OK:
        length = response.headers.get("content-length", str(size))
        if length != str(size):
            raise HubError(
                f"{host} sent something else than the file.",
                hint="Reload the card, then try again.",
                host=host,
            )
        return 0
    raise _status_error(status, host)


def _status_error(status: int, host: str) -> HubError:
    if status in (http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.FORBIDDEN):
        return HubDenied(
            f"{host} does not let us read this file.",
            hint="Check the token, and accept the model's licence on its page.",
            host=host,
            reason="forbidden",
        )
    if status == http.HTTPStatus.NOT_FOUND:
        return HubNotFound(f"{host} does not have this file.", hint="Reload the card.", host=host)
    return HubError(f"{host} answered with status {status}.", hint="Try again later.", host=host)
