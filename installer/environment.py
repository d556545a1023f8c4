"""The virtual environment: making it, filling it from the lock files, and the `inglenook` command in it."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from engine.errors import SetupError
from installer import layout, pip, stamp
from installer.progress import Line

_LAUNCHER = """#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/python" -P -m app "$@"
"""
_LAUNCHER_WINDOWS = '@"%~dp0python.exe" -P -m app %*\n'
_LIST = """
import importlib.metadata, json
print(json.dumps({each.name: each.requires or [] for each in importlib.metadata.distributions()}))
"""
_PROBE = "import sys, pip, sysconfig; assert sys.version_info >= (3, 11); print(sysconfig.get_path('purelib'))"


def refuse_foreign(venv: Path) -> None:
    """Never empty a folder that is something else.

    Raises:
        SetupError: `venv` holds files and is not a virtual environment.
    """
    if venv.exists() and any(venv.iterdir()) and not (venv / "pyvenv.cfg").exists():
        raise SetupError(
            f"{venv} is not a virtual environment.",
            hint=f"Move it away, or set {layout.VENV_VARIABLE} to another folder, and start again.",
        )


def works(venv: Path) -> bool:
    """Whether there is an environment with pip that no interrupted set-up left half-made."""
    return not stamp.unfinished(venv) and site_packages(venv) is not None


def create(venv: Path) -> None:
    """Make an empty environment with pip, in place of what was there.

    Raises:
        SetupError: Python could not make it.
    """
    base = (
        getattr(sys, "_base_executable", None) or sys.executable
    )  # we may run inside `venv` itself
    if venv.is_dir() and not venv.is_symlink():
        shutil.rmtree(venv)
    command = [base, "-I", "-m", "venv", str(venv)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise SetupError(f"Python could not make a virtual environment in {venv}.", hint=said)


def install(venv: Path, lock: Path, *, what: str, line: Line, log: Path) -> None:
    """Install everything a lock file names: by hash, ready-made wheels only."""
    arguments: list[str | Path] = [
        "install",
        "--require-hashes",
        "--no-deps",
        "--only-binary",
        ":all:",
        "-r",
        lock,
    ]
    pip.run(layout.python(venv), arguments, what=what, line=line, log=log)


def install_wheel(venv: Path, wheel: Path, *, line: Line, log: Path) -> None:
    """Put our own build of a package in, also over another build of the same version."""
    arguments: list[str | Path] = ["install", "--no-deps", "--no-index", "--force-reinstall", wheel]
    pip.run(layout.python(venv), arguments, what="llama.cpp", line=line, log=log)


def link(venv: Path) -> None:
    """Make this checkout importable in the environment and give it the `inglenook` command."""
    site = site_packages(venv)
    assert site is not None
    (site / "inglenook.pth").write_text(f"{layout.ROOT}\n", encoding="utf-8")
    windows = os.name == "nt"
    launcher = layout.scripts(venv) / ("inglenook.cmd" if windows else "inglenook")
    launcher.write_text(_LAUNCHER_WINDOWS if windows else _LAUNCHER, encoding="utf-8")
    launcher.chmod(0o755)


def site_packages(venv: Path) -> Path | None:
    """Where packages go; None when the environment cannot run pip."""
    command = [str(layout.python(venv)), "-I", "-c", _PROBE]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return Path(done.stdout.strip()) if done.returncode == 0 else None


def distributions(venv: Path) -> dict[str, list[str]]:
    """Normalised name of every installed package → what it requires.

    Raises:
        SetupError: the environment does not work.
    """
    command = [str(layout.python(venv)), "-I", "-c", _LIST]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SetupError(f"the environment {venv} does not work.", hint=done.stderr.strip())
    found: dict[str, list[str]] = json.loads(done.stdout)
    return {normalised(name): requires for name, requires in found.items()}


def normalised(name: str) -> str:
    """A package's name in the one spelling that can be compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def loads_engine(venv: Path) -> bool:
    """Whether llama.cpp starts in the environment: a build for another CPU dies here, not in a chat."""
    command = [str(layout.python(venv)), "-I", "-c", "import llama_cpp"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
