"""The model hub as the fronts see it: search, cards with what each file would cost here, downloads, access.

Zone: service process, event loop; everything that waits for the network runs in threads (`engine.hub`). What it costs here is
asked of the supervisor, which knows the machine and who would leave memory. Neighbours: `engine.hub`, `ghosts`.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Final

import msgspec

from engine.api.hub import (
    Access,
    ConnectionList,
    DownloadChange,
    DownloadInfo,
    DownloadList,
    DownloadRequest,
    Fit,
    HubCard,
    HubChoice,
    HubPage,
    Sort,
)
from engine.errors import EngineError, HubDenied, InvalidRequest
from engine.formats.ghost_file import GhostPart
from engine.hub.cache_layout import RepoFolder
from engine.hub.card import HubCards
from engine.hub.download_queue import DownloadQueue
from engine.hub.network import Network
from engine.hub.remote_header import RemoteHeaders
from engine.hub.search import HubSearch
from engine.hub.token import TokenStore
from engine.hub.wanted import Wanted
from engine.supervisor.answer import Changes
from engine.supervisor.appraisal import Appraisal

_CLOSE_S: Final = 3.0


class Hub:
    """One service's way to the hub."""

    def __init__(
        self,
        network: Network,
        tokens: TokenStore,
        search: HubSearch,
        cards: HubCards,
        headers: RemoteHeaders,
        appraisal: Appraisal,
        root: Path,
        *,
        downloads: Callable[[Callable[[], None]], DownloadQueue],
    ) -> None:
        """Start what was left in the queue.

        Args:
            network: the way out.
            tokens: of the hub.
            search: finds repositories.
            cards: tells what is in one.
            headers: reads the beginning of files.
            appraisal: tells what they would cost here.
            root: where downloads go.
            downloads: makes the queue, given what it calls, from any thread, when something changed.
        """
        self._network = network
        self._tokens = tokens
        self._search = search
        self._cards = cards
        self._headers = headers
        self._appraisal = appraisal
        self._root = root
        self._loop = asyncio.get_running_loop()
        self._changes = Changes()
        self._queue = downloads(self._changed)

    # --- finding -------------------------------------------------------------------------------

    async def search(self, text: str, sort: Sort, cursor: str) -> HubPage:
        """A page of repositories with GGUF files.

        Raises:
            EngineError: the hub says no, or cannot be reached and the catalog does not answer.
        """
        return await asyncio.to_thread(self._search.page, text, sort, cursor)

    async def card(self, repo: str, revision: str = "main") -> HubCard:
        """A repository with what its files would cost here, by formula; as far as one header can be read.

        Raises:
            EngineError: there is none, or the hub says no.
        """
        card = await asyncio.to_thread(self._cards.card, repo, revision)
        choices = await asyncio.to_thread(self._with_downloaded, card)
        if any(choice.kind == "model" for choice in choices) and not (
            card.problem or self._network.offline
        ):
            choices = await self._with_fits(card, choices)
        return msgspec.structs.replace(card, choices=tuple(choices))

    async def fit(self, repo: str, name: str, revision: str = "main") -> Fit:
        """What one choice would cost here, exactly.

        Raises:
            EngineError: there is none, or its header cannot be read.
        """
        card = await asyncio.to_thread(self._cards.card, repo, revision)
        if card.problem:
            raise HubDenied(card.problem, url=card.url)
        choice = next((choice for choice in card.choices if choice.name == name), None)
        if choice is None or not card.revision:
            raise InvalidRequest(
                f"{repo} has no {name}.", hint="Choose one of the card's files.", param="name"
            )
        headers = [
            await asyncio.to_thread(
                self._headers.read, repo, card.revision, file.path, file.size_bytes
            )
            for file in choice.files
        ]
        parts = [
            GhostPart(data, file.size_bytes)
            for (data, _), file in zip(headers, choice.files, strict=True)
        ]
        return await self._appraisal.exactly(choice.name, parts, headers[0][1], choice)

    async def _with_fits(self, card: HubCard, choices: list[HubChoice]) -> list[HubChoice]:
        models = sorted(
            (choice for choice in choices if choice.kind == "model"), key=lambda c: c.size_bytes
        )
        file = models[0].files[0]  # one header speaks for all quantizations of a model
        try:
            _, header = await asyncio.to_thread(
                self._headers.read, card.model.repo, card.revision, file.path, file.size_bytes
            )
        except EngineError as error:  # a card without figures is still one
            fits = [Fit(verdict="unknown", reasons=(str(error),))] * len(models)
        else:
            fits = await self._appraisal.by_formula(header, models)
        by_name = {model.name: fit for model, fit in zip(models, fits, strict=True)}
        return await self._appraisal.recommended(
            [msgspec.structs.replace(choice, fit=by_name.get(choice.name)) for choice in choices]
        )

    def _with_downloaded(self, card: HubCard) -> list[HubChoice]:
        if not card.revision:  # of the catalog
            return list(card.choices)
        folder = RepoFolder(self._root, card.model.repo)
        return [
            msgspec.structs.replace(
                choice,
                downloaded=all(
                    folder.snapshot(card.revision, file.path).exists() for file in choice.files
                ),
            )
            for choice in card.choices
        ]

    # --- downloads -----------------------------------------------------------------------------

    async def download(self, request: DownloadRequest) -> DownloadInfo:
        """Queue a choice of a card, with what belongs to it; one that is on its way is just returned.

        Raises:
            EngineError: there is no such choice, or the hub says no.
        """
        name = request.name or await self._recommended(request.repo, request.revision)
        found = await asyncio.to_thread(
            self._cards.wanted, request.repo, name, request.revision, request.also
        )
        wanted = Wanted(found.repo, found.commit, found.ref, found.name, found.files)
        return await asyncio.to_thread(self._queue.add, wanted)

    async def _recommended(self, repo: str, revision: str) -> str:
        card = await self.card(repo, revision)
        return next((choice.name for choice in card.choices if choice.recommended), "")

    async def downloads(self) -> DownloadList:
        """All of them, as they are now."""
        return self._queue.list()

    async def change(self, download: str, change: DownloadChange) -> DownloadList:
        """Pause, resume, cancel or move one.

        Raises:
            InvalidRequest: there is none of that id.
        """
        if change.action == "move":
            await asyncio.to_thread(self._queue.move, download, change.position)
        else:
            await asyncio.to_thread(getattr(self._queue, change.action), download)
        return self._queue.list()

    async def set_limit(self, bytes_per_s: int) -> DownloadList:
        """Of all downloads together; 0: none."""
        self._queue.set_limit(bytes_per_s)
        return self._queue.list()

    async def download_changes(self) -> AsyncGenerator[DownloadList, None]:
        """The list at once, then after each change, until it is closed."""
        async for _ in self._changes.listen():
            yield self._queue.list()

    @property
    def num_downloading(self) -> int:
        """Downloads that the end of the service would stop."""
        return self._queue.active

    def _changed(self) -> None:
        """From any thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._changes.note)

    # --- access --------------------------------------------------------------------------------

    async def access(self) -> Access:
        """How the hub is reached, and as whom."""
        token, source = self._tokens.read()
        user = ""
        if token and not self._network.offline:
            user = await asyncio.to_thread(self._search.user)
        return Access(
            endpoint=self._network.endpoint,
            offline=self._network.offline,
            token=source,
            user=user,
            token_refused=bool(token) and self._search.token_refused,
            proxy=self._network.proxy,
        )

    async def set_token(self, token: str) -> Access:
        """Keep a token of our own; empty: forget it.

        Raises:
            SetupError: it cannot be written.
        """
        await asyncio.to_thread(self._tokens.write, token)
        return await self.access()

    async def set_offline(self, offline: bool) -> Access:
        """At once, for everything; running downloads pause, and go on when it ends."""
        self._network.offline = offline
        await asyncio.to_thread(self._queue.go_on)
        return await self.access()

    async def connections(self) -> ConnectionList:
        """The ledger."""
        return ConnectionList(self._network.ledger.connections)

    async def close(self) -> None:
        """Stop the downloads, which go on at the next start."""
        await asyncio.to_thread(self._queue.close, _CLOSE_S)
        self._network.ledger.save()
