"""One repository's card: what it is, its quantizations, its text, and which files a download needs. Neighbours: `hub_api`, `choices`.

Zone: service; blocking, for threads.
"""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from engine.api.hub import HubCard, HubChoice, HubFile
from engine.errors import HubDenied, HubError, InvalidRequest, Offline
from engine.hub.catalog import Catalog
from engine.hub.choices import choices_of, choose
from engine.hub.hub_api import COMMIT, HubApi, Repository, is_unreachable
from engine.hub.kept import Kept
from engine.hub.network import Network
from engine.hub.token import TokenStore

_MOST_README: Final = 200_000
_README: Final = "README.md"
_FRONT_MATTER: Final = re.compile(r"\A---[ \t]*\n.*?^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class WantedFiles:
    """What a download is to fetch."""

    repo: str
    commit: str
    """40 hexadecimal digits."""
    ref: str
    """Branch or tag that was asked for; empty: the commit itself."""
    name: str
    """`HubChoice.name` of the model."""
    files: tuple[HubFile, ...]
    """Of the model first, then of what belongs to it."""


class HubCards:
    """Cards, kept for five minutes."""

    def __init__(
        self,
        network: Network,
        tokens: TokenStore,
        catalog: Catalog | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Ask nothing yet.

        Args:
            network: the way out.
            tokens: private and gated models need one.
            catalog: what is known without a connection; None: what the app brings along.
            clock: seconds.
        """
        self._network = network
        self._catalog = catalog or Catalog.load()
        self._api = HubApi(network, tokens)
        self._kept = Kept[tuple[str, str], HubCard](clock)

    def card(self, repo: str, revision: str = "main") -> HubCard:
        """The card of a repository; where the hub cannot be asked, what the catalog knows of it.

        Args:
            repo: `owner/name`.
            revision: branch, tag or commit.

        Raises:
            InvalidRequest: that is no repository's name.
            Offline: the app is offline, and the catalog does not know it.
            HubNotFound: there is none, or none that this token may see.
            HubDenied: the hub wants something first.
            HubError: the hub, or the way to it, failed.
        """
        try:
            return self._asked(repo, revision)
        except (Offline, HubError) as error:
            entry = self._catalog.find(repo)
            if entry is None or not (isinstance(error, Offline) or is_unreachable(error)):
                raise
            return HubCard(
                model=entry.model,
                revision="",
                url=f"{self._network.endpoint}/{entry.repo}",
                choices=(msgspec.structs.replace(entry.choice, recommended="a good default"),),
                problem=str(error),
            )

    @property
    def token_refused(self) -> bool:
        """The hub does not take the token, and was last asked without it."""
        return self._api.token_refused

    def wanted(
        self, repo: str, name: str = "", revision: str = "main", also: Sequence[str] = ()
    ) -> WantedFiles:
        """The files that a download of one choice needs.

        Args:
            repo: `owner/name`.
            name: `HubChoice.name`, a quantization, or empty: a usual one.
            revision: branch, tag or commit.
            also: names of other choices of the repository that belong to it.

        Raises:
            InvalidRequest: there is no such choice, or the hub lacks a part of it.
            Offline: the app is offline.
            HubNotFound, HubDenied, HubError: as `card`; also where the files, unlike the card, may not be read.
        """
        card = self._asked(repo, revision)
        chosen = [choose(card.choices, wanted, repo) for wanted in (name, *filter(None, also))]
        for choice in chosen:
            if choice.missing_parts:
                parts = (
                    "1 part is"
                    if choice.missing_parts == 1
                    else f"{choice.missing_parts} parts are"
                )
                raise InvalidRequest(
                    f"{choice.name} is not complete on the hub: {parts} missing.",
                    hint="Choose another quantization.",
                    param="name",
                )
        if card.problem:
            self._api.check_access(repo, card.revision, chosen[0].files[0].path)
        files = {file.path: file for choice in chosen for file in choice.files}
        ref = "" if COMMIT.fullmatch(revision) else revision
        return WantedFiles(repo, card.revision, ref, chosen[0].name, tuple(files.values()))

    def _asked(self, repo: str, revision: str) -> HubCard:
        key = (repo, revision)
        if (kept := self._kept.get(key)) is not None:
            return kept
        card = self._card_of(self._api.repository(repo, revision))
        if not card.problem:  # what is missing may be mended at any moment
            self._kept.put(key, card)
        return card

    def _card_of(self, found: Repository) -> HubCard:
        repo = found.model.repo
        choices = choices_of(found.files)
        listed = any(file.path == _README for file in found.files)
        text = self._api.text(repo, found.commit, _README, _MOST_README) if listed else ""
        return HubCard(
            model=self._catalog.described(found.model),
            revision=found.commit,
            url=f"{self._network.endpoint}/{repo}",
            choices=choices,
            readme=readable(text),
            problem=self._problem(found, choices),
        )

    def _problem(self, found: Repository, choices: Sequence[HubChoice]) -> str:
        """Why its files may not be read: asked for one of them, as the list of them is public."""
        if not choices:
            return "It has no GGUF files."
        if not found.model.gated:
            return ""
        try:
            self._api.check_access(found.model.repo, found.commit, choices[0].files[0].path)
        except HubDenied as error:
            return str(error)
        except HubError:
            return ""  # the download will say it
        return ""


def readable(text: str) -> str:
    """A README without front matter and without characters that would not show; still Markdown, at most 200,000 characters."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    text = _FRONT_MATTER.sub("", text, count=1)
    shown = "".join(c for c in text if c in "\n\t" or c.isprintable() or c.isspace())
    return shown[:_MOST_README].strip()
