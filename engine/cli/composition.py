"""Puts a service together: the engine, the way to the model hub, what is kept of each model. `--serve`, chat and pull use the same."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.cli.setup import Context, hub_root, may_connect
from engine.config import VERSION
from engine.hardware.probe import probe
from engine.hub.card import HubCards
from engine.hub.catalog import Catalog
from engine.hub.download_queue import DownloadQueue
from engine.hub.ledger import Ledger
from engine.hub.model_defaults import DefaultsStore
from engine.hub.network import Network
from engine.hub.remote_header import RemoteHeaders
from engine.hub.search import HubSearch
from engine.hub.token import TokenStore
from engine.hub.verify import Verifier
from engine.supervisor.hub import Hub
from engine.supervisor.keeping import Keeping
from engine.supervisor.supervisor import Supervisor

_ADD_S = 60.0


@dataclass(frozen=True, slots=True)
class Parts:
    """A service without its HTTP front."""

    supervisor: Supervisor
    hub: Hub
    keeping: Keeping

    @property
    def for_app(self) -> dict[str, Any]:
        """What `create_app` takes."""
        return {
            "engine": self.supervisor,
            "hub": self.hub,
            "keeping": self.keeping,
            "version": VERSION,
        }

    async def close(self) -> None:
        """Stop everything; downloads go on at the next start."""
        await self.keeping.close()
        await self.hub.close()
        await self.supervisor.close()


def compose(context: Context, *, default_model: str | None = None) -> Parts:
    """On the running event loop; the caller closes it.

    Raises:
        SetupError: a setting of the network is none.
    """
    paths, settings = context.paths, context.settings
    network = Network(settings.network, Ledger(paths.connections))
    defaults = DefaultsStore(paths.model_defaults)
    supervisor = Supervisor(
        context.library,
        settings.models,
        probe,
        default_model=default_model,
        cache_folder=paths.cache,
        defaults=defaults,
        before_connecting=lambda: may_connect(network),
    )
    keeping = Keeping(
        supervisor.find,
        supervisor.entries,
        context.library.folder,
        defaults=defaults,
        verifier=Verifier(paths.checksums),
        on_change=supervisor.note_change,
    )
    return Parts(supervisor, _hub(context, network, supervisor), keeping)


def _hub(context: Context, network: Network, supervisor: Supervisor) -> Hub:
    paths, settings = context.paths, context.settings
    tokens, catalog = TokenStore(paths.token), Catalog.load()
    root = hub_root(paths, settings)
    loop = asyncio.get_running_loop()

    def added(path: Path) -> str:
        """From a download's thread: the library takes it on."""
        adding = asyncio.run_coroutine_threadsafe(supervisor.add(str(path)), loop)
        return adding.result(_ADD_S).id

    def downloads(changed: Callable[[], None]) -> DownloadQueue:
        return DownloadQueue(
            network,
            tokens,
            root,
            paths.downloads,
            on_change=changed,
            on_done=added,
            limit_bytes_per_s=settings.network.download_limit_kib_s << 10,
        )

    return Hub(
        network,
        tokens,
        HubSearch(network, tokens, catalog),
        HubCards(network, tokens, catalog),
        RemoteHeaders(network, tokens),
        supervisor.appraisal,
        root,
        downloads=downloads,
    )
