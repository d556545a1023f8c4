"""Entry of the `inglenook` command: the window without a command, everything else is the engine's.

The engine's command line is imported when it is needed and loads no Qt; the window is imported only
when there is a display to show it on.
"""

import os
import sys
from collections.abc import Sequence

_NO_DISPLAY = (
    "There is no display for the window. Talk in the terminal with `inglenook chat`, "
    "or start the service with `inglenook --serve`."
)
_NO_QT = (
    "The window's libraries cannot be loaded ({}). Run the installer again, "
    "or talk in the terminal with `inglenook chat`."
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the app; returns the exit code."""
    from engine.cli import build_parser
    from engine.cli import main as headless

    args = build_parser().parse_args(argv)
    if args.serve and argv is None:  # a caller's own process is not ours to start anew
        from engine.heap import restart_tuned

        restart_tuned()
    if args.serve or args.command or args.version:
        return headless(argv)
    if not has_display():
        sys.stderr.write(_NO_DISPLAY + "\n")
        return 2
    try:
        from app.application import run
    except ImportError as error:
        sys.stderr.write(_NO_QT.format(error) + "\n")
        return 1
    return run(args.data_dir)


def has_display() -> bool:
    """Can a window be shown? On Linux the environment tells; elsewhere there is always a desktop."""
    if sys.platform != "linux" or os.environ.get("QT_QPA_PLATFORM"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
