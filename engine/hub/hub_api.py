"""Questions to the hub through its library, answered in our types and with our errors.

Zone: service; blocking, for threads. The library is imported at the first question (a third of a second).
Neighbours: `hub_session` (the client under it), `search` and `card` (who ask).
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar
from urllib.parse import parse_qs, quote, urlsplit

from engine.api.hub import HubFile, HubModel
from engine.errors import HubDenied, HubError, InvalidRequest
from engine.hub.cache_layout import checked_path, checked_repo
from engine.hub.network import WHOLE_S, Network, connection_errors, headers
from engine.hub.token import TokenStore

if TYPE_CHECKING:
    import urllib3

T = TypeVar("T")
Token = str | Literal[False]

_SILENCE_S: Final = 10.0
_MOST_NAME: Final = 100
_MOST_COUNT: Final = 1 << 53
_TOKEN: Final = re.compile(r"[!-~]+")
COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_STRANGE: Final = (
    *(ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError, OSError),
    *(RecursionError, InvalidRequest),
)
"""What the library raises at an answer that is no answer."""


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository as the hub describes it."""

    model: HubModel
    commit: str
    """40 hexadecimal digits."""
    files: tuple[HubFile, ...]
    """As listed: paths and sizes of strangers."""


class HubApi:
    """Questions to the hub, each answered or refused within half a minute."""

    def __init__(self, network: Network, tokens: TokenStore) -> None:
        """Ask nothing yet."""
        self._network = network
        self._tokens = tokens
        self.token_refused = False
        """The hub did not take the token at the last call, which then did without it."""

    def models(self, params: Mapping[str, str | list[str]]) -> tuple[list[HubModel], str]:
        """One page of the hub's list.

        The library's own `list_models` can be told the size of a page or go on to the next one, not both.

        Args:
            params: of `GET /api/models`.

        Returns:
            The models, and the cursor of the next page, empty where there is none.

        Raises:
            Offline: nothing may be asked.
            HubError: the hub failed, or the way to it.
        """

        def ask(token: Token) -> tuple[list[HubModel], str]:
            from huggingface_hub import ModelInfo
            from huggingface_hub.utils import get_session  # type: ignore[attr-defined]  # documented

            response = get_session().get(
                f"{self._network.endpoint}/api/models",
                params=dict(params),
                headers=headers(token),
                timeout=_SILENCE_S,
            )
            models = []
            for item in _list(response.json()):
                try:
                    models.append(_model(ModelInfo(**item)))  # type: ignore[no-untyped-call]
                except _STRANGE:
                    continue  # one odd entry does not hide the others
            following = response.links.get("next", {}).get("url", "")
            return models, parse_qs(urlsplit(following).query).get("cursor", [""])[0]

        return self._ask("search", ask)

    def repository(self, repo: str, revision: str) -> Repository:
        """One repository with its files.

        Raises:
            InvalidRequest: no name of a repository or a revision.
            Offline: nothing may be asked.
            HubNotFound: there is none of that name, or none for this token.
            HubDenied: the hub wants something first.
            HubError: the hub failed, or the way to it.
        """
        _check(repo, revision)

        def ask(token: Token) -> Repository:
            from huggingface_hub import HfApi

            info = HfApi(endpoint=self._network.endpoint, headers=headers()).model_info(
                repo, revision=revision, files_metadata=True, timeout=_SILENCE_S, token=token
            )
            if not COMMIT.fullmatch(info.sha or ""):
                raise ValueError("no commit")
            return Repository(_model(info), info.sha or "", tuple(_files(info)))

        return self._ask("card", ask)

    def check_access(self, repo: str, commit: str, path: str) -> None:
        """May this file be read?

        Raises:
            HubDenied: the hub wants something first, such as that a licence is accepted.
            Offline, HubNotFound, HubError: as `repository`.
        """

        def ask(token: Token) -> None:
            from huggingface_hub import get_hf_file_metadata

            get_hf_file_metadata(
                self._url(repo, commit, path), token=token, timeout=_SILENCE_S, headers=headers()
            )

        self._ask("card", ask)

    def user(self) -> str:
        """Whose token it is; empty: nobody's.

        Raises:
            Offline: nothing may be asked.
            HubError: the hub failed, or the way to it.
        """

        def ask(token: Token) -> str:
            from huggingface_hub import HfApi

            if not token:
                return ""
            api = HfApi(endpoint=self._network.endpoint, headers=headers())
            return plain(api.whoami(token).get("name"), _MOST_NAME)

        return self._ask("account", ask)

    def text(self, repo: str, commit: str, path: str, most: int) -> str:
        """The beginning of a text file; empty where it cannot be had.

        Args:
            repo: owner/name.
            commit: 40 hexadecimal digits.
            path: of the file.
            most: bytes.

        Raises:
            Offline: nothing may be asked.
        """
        token = "" if self.token_refused else self._tokens.read()[0]
        with self._network.purpose("card"):
            try:
                response, url = self._network.get(self._url(repo, commit, path), headers(token))
                try:
                    body = _beginning(response, most) if response.status == 200 else b""
                finally:
                    response.close()
            except HubError:
                return ""
            except connection_errors():
                return ""
            self._network.received(url, len(body))
        return body.decode("utf-8", "replace")

    def _url(self, repo: str, commit: str, path: str) -> str:
        return f"{self._network.endpoint}/{repo}/resolve/{commit}/{quote(path)}"

    def _ask(self, purpose: str, call: Callable[[Token], T]) -> T:
        """With the token; once more without it where the hub does not know it, as public models need none."""
        from engine.hub.hub_session import connect

        token, _ = self._tokens.read()
        sent: Token = token if _TOKEN.fullmatch(token) else False
        with self._network.purpose(purpose), self._understood():
            connect(self._network)
            try:
                answer = call(sent)
            except HubDenied as refused:
                if not sent or refused.details.get("reason") != "token":
                    raise
                sent = False
                try:
                    answer = call(False)
                except HubError:
                    raise refused from None
            self.token_refused = bool(token) and not sent
            return answer

    @contextmanager
    def _understood(self) -> Iterator[None]:
        import httpx2

        try:
            yield
        except httpx2.TransportError as error:
            failed = self._network.unreachable(self._network.endpoint, error)
            failed.details["unreachable"] = True
            raise failed from error
        except (httpx2.HTTPError, *_STRANGE) as error:
            host = urlsplit(self._network.endpoint).hostname or ""
            raise HubError(
                f"{host} gave an answer that the app does not understand.",
                hint="Try again later; see network.endpoint in the settings.",
                host=host,
                native=type(error).__name__,
            ) from error


def plain(value: object, most: int) -> str:
    """A stranger's text as one line of plain text; anything but text is empty."""
    if not isinstance(value, str):
        return ""
    shown = "".join(" " if c.isspace() else c for c in value[: 4 * most])
    return " ".join("".join(c for c in shown if c.isprintable()).split())[:most]


def _check(repo: str, revision: str) -> None:
    try:
        checked_repo(repo)
    except InvalidRequest:
        raise InvalidRequest(
            f"“{plain(repo, 100)}” is not the name of a repository.",
            hint="It looks like owner/name, as on the hub's page.",
            param="repo",
        ) from None
    try:
        checked_path(revision)
    except InvalidRequest:
        raise InvalidRequest(
            f"“{plain(revision, 100)}” is not a revision.",
            hint="Leave it out, or give a branch, a tag or a commit.",
            param="revision",
        ) from None


def _model(info: Any) -> HubModel:
    checked_repo(info.id)
    gguf = info.gguf if isinstance(info.gguf, dict) else {}
    tags = [tag for tag in info.tags or [] if isinstance(tag, str)]
    license_ = next((tag[8:] for tag in tags if tag.startswith("license:")), "")
    return HubModel(
        repo=info.id,
        downloads=_count(info.downloads),
        likes=_count(info.likes),
        updated=_count(int(info.last_modified.timestamp())) if info.last_modified else 0,
        gated=bool(info.gated),
        architecture=plain(gguf.get("architecture"), 40),
        parameters=_count(gguf.get("total")) or None,
        context_length=_count(gguf.get("context_length")) or None,
        license=plain(license_, 60),
    )


def _files(info: Any) -> Iterator[HubFile]:
    for sibling in info.siblings or []:
        if isinstance(sibling.rfilename, str):
            lfs = sibling.lfs
            size = _count(sibling.size) or _count(lfs.size if lfs else 0)
            sha256 = lfs.sha256 if lfs and isinstance(lfs.sha256, str) else ""
            yield HubFile(sibling.rfilename, size, sha256)


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return value


def _count(value: object) -> int:
    return value if type(value) is int and 0 <= value <= _MOST_COUNT else 0


def _beginning(response: "urllib3.BaseHTTPResponse", most: int) -> bytes:
    until = time.monotonic() + WHOLE_S
    body = bytearray()
    while len(body) < most and (chunk := response.read(min(1 << 16, most - len(body)))):
        body += chunk
        if time.monotonic() > until:
            break
    return bytes(body)


def is_unreachable(error: HubError) -> bool:
    """There was no answer at all, as opposed to one that says no."""
    return bool(error.details.get("unreachable"))
