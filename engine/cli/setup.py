"""What the commands share: settings with the command line on top, the library, the starter model."""

import argparse
import dataclasses
import logging
import sys
from pathlib import Path

from engine import logs
from engine.config import Settings
from engine.config import load as load_settings
from engine.hub.library import Library
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
    return Context(paths, settings, Library(folder))


def ensure_a_model(context: Context) -> None:
    """With an empty library: fetch the starter model, with progress on stderr.

    Raises:
        SetupError: it cannot be had, and what to do.
    """
    if context.library.models():
        return
    progress = _Progress()
    install_starter(context.library.folder, progress.show)
    progress.end()


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
