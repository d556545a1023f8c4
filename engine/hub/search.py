"""Search of the hub's GGUF models, page by page; without a connection, of the catalog. Neighbours: `hub_api`, `catalog`.

Zone: service; blocking, for threads. A search that a newer one made useless is let run out: it is short, and its answer is kept.
"""

import time
from collections.abc import Callable
from typing import Final

from engine.api.hub import HubModel, HubPage, Sort
from engine.errors import HubError, Offline
from engine.hub.catalog import Catalog
from engine.hub.hub_api import HubApi, is_unreachable, plain
from engine.hub.kept import Kept
from engine.hub.network import Network
from engine.hub.token import TokenStore

_PAGE: Final = 30
_MOST_SEARCH: Final = 200
_MOST_CURSOR: Final = 2000
_SORTS: Final = {
    "trending": "trendingScore",
    "downloads": "downloads",
    "likes": "likes",
    "updated": "lastModified",
}
_EXPAND: Final = ["gguf", "downloads", "likes", "gated", "lastModified", "tags"]


class HubSearch:
    """Pages of models; answers are kept for five minutes."""

    def __init__(
        self,
        network: Network,
        tokens: TokenStore,
        catalog: Catalog,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Ask nothing yet.

        Args:
            network: the way out.
            tokens: private models are found with one.
            catalog: for lines without a connection, and what it says of models that are found.
            clock: seconds.
        """
        self._network = network
        self._catalog = catalog
        self._tokens = tokens
        self._api = HubApi(network, tokens)
        self._users = Kept[str, str](clock)
        self._kept = Kept[tuple[str, Sort, str], HubPage](clock)

    def page(self, search: str = "", sort: Sort = "trending", cursor: str = "") -> HubPage:
        """One page of the models that hold all words of a search in their name.

        Args:
            search: empty: all there are.
            sort: largest or latest first.
            cursor: `HubPage.cursor` of the page before; empty: the first page.

        Returns:
            Models. The catalog's are among the first that an empty search finds; they are all, and `offline`, where the app is
            offline or an empty search finds no hub.

        Raises:
            HubError: the hub, or the way to it, failed.
        """
        search = plain(search, _MOST_SEARCH)
        cursor = cursor[:_MOST_CURSOR]
        if self._network.offline:
            return self._of_catalog(search)
        key = (search, sort, cursor)
        if (kept := self._kept.get(key)) is not None:
            return kept
        params: dict[str, str | list[str]] = {
            "filter": "gguf",
            "sort": _SORTS[sort],
            "limit": str(_PAGE),
            "expand": _EXPAND,
        }
        if search:
            params["search"] = search
        if cursor:
            params["cursor"] = cursor
        try:
            models, following = self._api.models(params)
        except HubError as error:
            if search or cursor or not is_unreachable(error):
                raise
            return self._of_catalog(search)
        models = [self._catalog.described(model) for model in models]
        if not search and sort == "trending":
            models = self._with_catalog(models, first=not cursor)
        page = HubPage(models, following)
        self._kept.put(key, page)
        return page

    def user(self) -> str:
        """Whose token it is; empty: nobody's, or the hub did not say."""
        token, _ = self._tokens.read()
        if (kept := self._users.get(token)) is not None:
            return kept
        try:
            user = self._api.user()
        except (Offline, HubError):
            return ""
        self._users.put(token, user)
        return user

    @property
    def token_refused(self) -> bool:
        """The hub does not take the token, and was last asked without it."""
        return self._api.token_refused

    def _of_catalog(self, search: str) -> HubPage:
        return HubPage([entry.model for entry in self._catalog.matching(search)], offline=True)

    def _with_catalog(self, models: list[HubModel], *, first: bool) -> list[HubModel]:
        """A page with the catalog's models behind the first one's, and not once more on a later one."""
        if not first:
            return [model for model in models if self._catalog.find(model.repo) is None]
        found = {model.repo.lower() for model in models}
        return models + [
            entry.model for entry in self._catalog.entries if entry.repo.lower() not in found
        ]
