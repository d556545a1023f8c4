"""Chooses the command, makes sure that what it needs is installed, and hands over. The fast path of every start.

`torch` is the optional CUDA part; `test`, `check` and `lock` are for developers; every other argument is the app's.
"""

import os
import sys
from pathlib import Path

from installer import layout, stamp

_STOPPED = 130
_HEADLESS = {"chat", "models", "doctor", "--serve", "--version", "--help", "-h"}


def main(argv: list[str]) -> int:
    """Run one command line; returns only where the system cannot replace the process."""
    command, rest = (argv[0], argv[1:]) if argv else ("", [])
    venv = layout.venv()
    try:
        if command == "lock":
            from installer import relock

            return relock.main(rest, venv)
        if command == "torch":
            from installer import torch_command

            return torch_command.main(rest, venv)
        if command == "check":
            from installer import checks

            return checks.main(rest, venv) if _ready([stamp.BASE, stamp.TEST], venv) else 1
        return _test(rest, venv) if command == "test" else _app(argv, venv)
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped. Start again to go on; what was finished is kept.\n")
        return _STOPPED


def _parts(argv: list[str]) -> list[str]:
    """Without a command, and with a display, the app opens its window: only then Qt's libraries are needed."""
    if _HEADLESS & set(argv):
        return [stamp.BASE]
    if os.environ.get("DISPLAY"):
        return [stamp.BASE, stamp.QT, stamp.X11]
    elsewhere = sys.platform != "linux"
    if elsewhere or os.environ.get("WAYLAND_DISPLAY") or os.environ.get("QT_QPA_PLATFORM"):
        return [stamp.BASE, stamp.QT]
    return [stamp.BASE]


def _ready(parts: list[str], venv: Path) -> bool:
    if stamp.current(parts, venv):
        return True
    from installer import steps

    return steps.prepare(parts, venv)


def _app(argv: list[str], venv: Path) -> int:
    parts = _parts(argv)
    if not stamp.current(parts, venv):
        if not _ready(parts, venv):
            return 1
        from installer import torch_command

        torch_command.offer(venv)
    return _run(venv, ["-P", "-m", "app", *argv])


def _test(arguments: list[str], venv: Path) -> int:
    if not _ready([stamp.BASE, stamp.TEST, stamp.QT], venv):
        return 1
    from installer import torch_command

    torch_command.for_tests(venv)
    if torch_command.missing_in_ci(venv):
        return 1
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    os.chdir(layout.ROOT)
    return _run(venv, ["-m", "pytest", *arguments])


def _run(venv: Path, arguments: list[str]) -> int:
    python = str(layout.python(venv))
    if os.name != "nt":
        sys.stdout.flush()
        sys.stderr.flush()
        os.execve(python, [python, *arguments], os.environ)
    import subprocess  # exec on Windows returns to the shell before the program has ended

    return subprocess.call([python, *arguments])
