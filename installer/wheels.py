"""The cache of finished llama-cpp-python wheels: one folder a key, complete or not there.

A wheel is reused only where sources, compiler, the compiler's idea of this CPU, arguments and platform are equal.
"""

import contextlib
import hashlib
import json
import shutil
import sysconfig
from collections.abc import Mapping
from pathlib import Path

_KEPT = 4
_MANIFEST = "manifest.json"


def key(inputs: Mapping[str, str]) -> str:
    """The cache key of everything that shapes the machine code."""
    text = json.dumps(dict(inputs), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def inputs(
    *, compiler_view: str, ingredients: list[bytes], environment: Mapping[str, str]
) -> dict[str, str]:
    """Gather what `key` hashes. `compiler_view` covers compiler version and CPU (see `cpu`)."""
    used = ("CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "CMAKE_ARGS")
    recipe = hashlib.sha256(b"\0".join(ingredients)).hexdigest()
    return {
        "compiler": compiler_view,
        "platform": sysconfig.get_platform(),
        "recipe": recipe,
        **{name: environment[name] for name in used if environment.get(name)},
    }


def find(folder: Path, key: str) -> Path | None:
    """The stored wheel of a key, or None; a damaged one counts as absent."""
    entry = folder / key
    try:
        manifest = json.loads((entry / _MANIFEST).read_text(encoding="utf-8"))
        wheel = entry / str(manifest["wheel"])
        if _sha256(wheel) != manifest["sha256"]:
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    with contextlib.suppress(OSError):
        entry.touch()
    return wheel


def store(folder: Path, key: str, wheel: Path, inputs: Mapping[str, str]) -> Path:
    """Take over a built wheel. `wheel` must lie on the same file system; its folder becomes the entry."""
    built = wheel.parent
    manifest = {"wheel": wheel.name, "sha256": _sha256(wheel), "inputs": dict(inputs)}
    (built / _MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    entry = folder / key
    drop(folder, key)
    built.rename(entry)
    _prune(folder)
    return entry / wheel.name


def drop(folder: Path, key: str) -> None:
    """Forget a wheel, if it is there."""
    shutil.rmtree(folder / key, ignore_errors=True)


def _prune(folder: Path) -> None:
    entries = [entry for entry in folder.iterdir() if (entry / _MANIFEST).exists()]
    for old in sorted(entries, key=lambda entry: entry.stat().st_mtime, reverse=True)[_KEPT:]:
        shutil.rmtree(old, ignore_errors=True)


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
