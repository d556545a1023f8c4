"""Where set-up keeps things: repository, virtual environment, cache. Light, because every start imports it."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "installer" / "locks"
VENV_VARIABLE = "INGLENOOK_VENV"
CACHE_VARIABLE = "INGLENOOK_CACHE_DIR"


def venv() -> Path:
    """The virtual environment, absolute; it need not exist."""
    return Path(os.environ.get(VENV_VARIABLE) or ROOT / ".venv").absolute()


def scripts(venv: Path) -> Path:
    """The folder of a virtual environment that holds its commands."""
    return venv / ("Scripts" if os.name == "nt" else "bin")


def python(venv: Path) -> Path:
    """The interpreter of a virtual environment."""
    return scripts(venv) / ("python.exe" if os.name == "nt" else "python")


def cache() -> Path:
    """The user's cache folder of Inglenook: finished wheels and set-up logs."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen).expanduser().absolute()
    if os.name == "nt":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "inglenook"
