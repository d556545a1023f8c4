"""What is installed already, so that a second start does nothing. Light; imported by every start.

The stamp lies in the virtual environment and has one line a part: name, digest of all that the part was made from.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from installer import cpu, layout, recipe

BASE = "base"
"""The app and the engine's wheel."""
TEST = "test"
"""What checks and tests need."""
QT = "qt"
"""The system libraries under Qt; no Python package of its own."""
X11 = "x11"
"""Those that a window on an X display needs besides."""
TORCH = "torch"
"""Any build of torch, as the tests need it."""
CUDA = "cuda"
"""A build of torch with CUDA."""
OPTIONAL = frozenset({TORCH, CUDA})
"""Never put in by another part's set-up."""

TORCH_REQUIREMENT = "torch==2.13.0"

_UNFINISHED = "unfinished"


def current(parts: Iterable[str], venv: Path) -> bool:
    """Whether every one of these parts is installed as this checkout wants it, on this machine."""
    found = read(venv)
    return all(found.get(part) == digest(part, venv) for part in parts)


def read(venv: Path) -> dict[str, str]:
    """Part → digest; empty without a stamp or after an interrupted set-up."""
    try:
        lines = _file(venv).read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    return {part: value for part, _, value in (line.partition(" ") for line in lines) if value}


def unfinished(venv: Path) -> bool:
    """Whether a set-up was interrupted while it changed the environment."""
    try:
        return _file(venv).read_text(encoding="utf-8") == _UNFINISHED
    except OSError:
        return False


def begin(venv: Path) -> None:
    """Note that the environment is being changed."""
    _file(venv).write_text(_UNFINISHED, encoding="utf-8")


def write(parts: Iterable[str], venv: Path) -> None:
    """Record finished parts; replaces what was there at once or not at all."""
    text = "".join(f"{part} {digest(part, venv)}\n" for part in sorted(parts))
    temporary = _file(venv).with_suffix(".new")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(_file(venv))


def change(venv: Path, *, add: Iterable[str] = (), drop: Iterable[str] = ()) -> None:
    """Record or strike out parts; of the others those stay that are current."""
    kept = {part for part in read(venv) if current([part], venv)}
    write((kept - set(drop)) | set(add), venv)


def digest(part: str, venv: Path) -> str:
    """Hash of the lock files, the interpreter, the repository's place and the CPU, as far as the part needs them."""
    hashed = hashlib.sha256(_interpreter(venv).encode())
    inputs = [str(layout.ROOT).encode()]
    if part == BASE:
        inputs += [cpu.flags().encode(), *recipe.ingredients(), _lock("base")]
    if part == TEST:
        inputs.append(_lock("test"))
    if part in OPTIONAL:
        inputs.append(TORCH_REQUIREMENT.encode())
    for item in inputs:
        hashed.update(b"%d:" % len(item) + item)
    return hashed.hexdigest()


def _interpreter(venv: Path) -> str:
    """Which file runs behind the environment's link, and which one it is: system upgrades replace it."""
    try:
        real = layout.python(venv).resolve(strict=True)
        seen = real.stat()
    except OSError:
        return "none"
    return f"{real} {seen.st_size} {seen.st_mtime_ns}"


def _lock(name: str) -> bytes:
    return (layout.LOCKS / f"{name}.txt").read_bytes()


def _file(venv: Path) -> Path:
    return venv / "inglenook.stamp"
