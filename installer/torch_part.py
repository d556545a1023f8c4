"""torch, the optional part: put in apart from the lock files, tried, and taken out again with what only it needed.

It is too large and too different from machine to machine for a hashed lock; what the lock pins stays as it is.
"""

import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from engine.errors import SetupError
from installer import disk, environment, layout, pip, stamp, torch_size
from installer.progress import Line, duration
from installer.torch_size import Size

# 2.13.0 alone would also accept a build without CUDA where one lies at hand, since pip ranks "+cpu" higher.
_WITH_CUDA = f"{stamp.TORCH_REQUIREMENT},!={stamp.TORCH_REQUIREMENT.partition('==')[2]}+cpu"
_PIN = re.compile(r"^([A-Za-z0-9._-]+==[^\s\\;]+)\s*(;[^\\]*)?", re.MULTILINE)
_NAME = re.compile(r"^\s*([A-Za-z0-9._-]+)")
_EXTRA = re.compile(r";.*\bextra\s*==")
# pip keeps its downloads until the end (once in its cache, once apart). Unpacked, 2.7 GB became 4.7.
_FETCHED, _UNPACKED = 2, 2.5


def install(venv: Path, *, cuda: bool, line: Line, logs: Path) -> None:
    """Install torch: says the size, fetches, tries it, and notes it in the stamp.

    Interrupted, it goes on later with the files that were complete (if the index lets pip keep them); the
    environment stays usable.

    Raises:
        SetupError: it could not be installed, does not start, or has no CUDA where that was asked for.
    """
    stamp.change(venv, drop=stamp.OPTIONAL)
    started = time.monotonic()
    log, work = logs / "torch.log", _work()
    wanted = ask(venv, cuda=cuda, line=line, logs=logs)
    if wanted.version or not wanted.asked:
        name = f"torch {wanted.version}".strip()
        line.say(f"{name} and what it needs: {wanted.amount()}.")
        fetched, unpacked = int(wanted.total * _FETCHED), int(wanted.total * _UNPACKED)
        disk.check_space({work: fetched, venv: unpacked})
    before = set(environment.distributions(venv))
    arguments: list[str | Path] = ["install", "--progress-bar", "raw", *_arguments(work, cuda=cuda)]
    try:
        pip.run(
            layout.python(venv), arguments, what="torch", line=line, log=log, temporary=work / "tmp"
        )
    finally:
        _note(venv, set(environment.distributions(venv)) - before)
        shutil.rmtree(work / "tmp", ignore_errors=True)
    line.show("torch: trying it")
    built = built_for(venv)
    _check(built, cuda=cuda)
    shutil.rmtree(work, ignore_errors=True)
    stamp.change(venv, add=[stamp.TORCH, stamp.CUDA] if built else [stamp.TORCH])
    kind = f"with CUDA {built}" if built else "without CUDA"
    line.say(f"torch is installed ({kind}; {duration(time.monotonic() - started)}).")


def ask(venv: Path, *, cuda: bool, line: Line, logs: Path) -> Size:
    """How much `install` would fetch; changes nothing but the environment's pip.

    Raises:
        SetupError: the package index cannot be reached, or has no such torch.
    """
    log, work = logs / "torch.log", _work()
    shutil.rmtree(work / "tmp", ignore_errors=True)
    (work / "tmp").mkdir(parents=True)
    lock = (layout.LOCKS / "test.txt").read_text(encoding="utf-8")
    (work / "constraints.txt").write_text(constraints(lock), encoding="utf-8")
    # The pip that comes with Python 3.11 fetches whole packages to answer, and does not resume a broken download.
    environment.install(venv, layout.LOCKS / "pip.txt", what="pip", line=line, log=log)
    arguments = _arguments(work, cuda=cuda)
    return torch_size.find(layout.python(venv), arguments, work=work, line=line, log=log)


def remove(venv: Path, *, line: Line, logs: Path) -> None:
    """Take torch out, and those packages it brought that nothing else needs.

    Raises:
        SetupError: pip failed.
    """
    shutil.rmtree(_work(), ignore_errors=True)
    installed = environment.distributions(venv) if layout.python(venv).exists() else {}
    if "torch" not in installed:
        line.say("torch is not installed.")
        return
    stamp.change(venv, drop=stamp.OPTIONAL)
    lock = (layout.LOCKS / "test.txt").read_text(encoding="utf-8")
    names = removable(installed, brought=_noted(venv), pinned=pinned(lock))
    arguments: list[str | Path] = ["uninstall", "--yes", *names]
    pip.run(layout.python(venv), arguments, what="torch", line=line, log=logs / "torch.log")
    _record(venv).unlink(missing_ok=True)
    line.say(f"Removed: {', '.join(names)}.")


def removable(
    installed: Mapping[str, Iterable[str]], *, brought: set[str], pinned: set[str]
) -> list[str]:
    """torch, and what came with it unless a package that stays requires it.

    Args:
        installed: normalised name → requirements as in the package's metadata.
        brought: names that came with torch.
        pinned: names in the lock.
    """
    going = ({*brought, "torch"} & set(installed)) - (pinned - {"torch"})
    while True:
        staying = set(installed) - going
        needed = {name for each in staying for text in installed[each] if (name := _required(text))}
        kept = (going & needed) - {"torch"}
        if not kept:
            return sorted(going, key=lambda name: (name != "torch", name))
        going -= kept


def constraints(lock: str) -> str:
    """The pins of a lock file without their hashes, which pip would demand of torch as well."""
    return "".join(f"{pin} {marker}".strip() + "\n" for pin, marker in _PIN.findall(lock))


def pinned(lock: str) -> set[str]:
    """The normalised names in a lock file."""
    return {environment.normalised(pin.partition("==")[0]) for pin, _ in _PIN.findall(lock)}


def built_for(venv: Path) -> str | None:
    """The CUDA version of the environment's torch, empty for a build without; None when it does not start."""
    script = "import torch; print(torch.version.cuda or '')"
    command = [str(layout.python(venv)), "-I", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def _check(built: str | None, *, cuda: bool) -> None:
    again = "To take it out again: python3 installer torch --remove"
    if built is None:
        raise SetupError("torch was installed, but does not start on this machine.", hint=again)
    if cuda and not built:
        raise SetupError("the package index offers torch without CUDA only.", hint=again)


def _arguments(work: Path, *, cuda: bool) -> list[str | Path]:
    # A cache of our own: it outlives an interruption, and goes when all is done.
    return [
        *("--only-binary", ":all:", "--cache-dir", work / "downloads"),
        *("--constraint", work / "constraints.txt"),
        _WITH_CUDA if cuda else stamp.TORCH_REQUIREMENT,
    ]


def _required(requirement: str) -> str | None:
    if _EXTRA.search(requirement):
        return None
    found = _NAME.match(requirement)
    return environment.normalised(found[1]) if found else None


def _work() -> Path:
    return layout.cache() / "torch"


def _record(venv: Path) -> Path:
    return venv / "inglenook-torch.txt"


def _noted(venv: Path) -> set[str]:
    try:
        return set(_record(venv).read_text(encoding="utf-8").split())
    except OSError:
        return set()


def _note(venv: Path, names: set[str]) -> None:
    """Remember what came with torch: only that may go with it."""
    everything = _noted(venv) | names
    _record(venv).write_text("".join(f"{name}\n" for name in sorted(everything)), "utf-8")
