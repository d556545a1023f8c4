"""Entry of the `inglenook` command. Until the window exists, every command is the engine's.

The engine's command line is imported when it is needed and loads no Qt.
"""

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the app; returns the exit code."""
    from engine.cli import main as headless

    return headless(argv)
