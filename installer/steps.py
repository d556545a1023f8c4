"""Makes what the stamp says is missing, in the order: system packages, wheel, environment, stamp.

Everything slow or risky happens before the environment is touched, and nothing is recorded before it works.
"""

import errno
import os
import signal
import time
from collections.abc import Callable, Collection
from pathlib import Path

from engine.errors import SetupError
from installer import build, cpu, disk, environment, layout, mutex, packages, recipe, stamp, wheels
from installer.progress import Line, duration

_ENVIRONMENT_BYTES = 1_200_000_000
_BUILD_BYTES = 800_000_000


def prepare(parts: Collection[str], venv: Path) -> bool:
    """Install these parts, unless they are; False after an explained failure."""
    return guarded(lambda line, logs: _prepare(parts, venv, line, logs))


def guarded(work: Callable[[Line, Path], None]) -> bool:
    """Do what changes the environment, alone and explaining every failure; False after one.

    Args:
        work: gets the line to speak on and the folder for logs.
    """
    line = Line()
    previous = signal.signal(signal.SIGTERM, _terminated)
    try:
        _alone(work, line)
    except SetupError as error:
        _explain(line, error)
    except OSError as error:
        _explain(line, _system_error(error))
    else:
        return True
    finally:
        line.clear()
        signal.signal(signal.SIGTERM, previous)
    return False


def _alone(work: Callable[[Line, Path], None], line: Line) -> None:
    def waiting() -> None:
        line.say("Another set-up is running; waiting for it to finish.")

    with mutex.held(layout.cache() / "setup.lock", waiting=waiting):
        logs = layout.cache() / "logs"
        logs.mkdir(exist_ok=True)
        work(line, logs)


def _prepare(parts: Collection[str], venv: Path, line: Line, logs: Path) -> None:
    if stamp.current(parts, venv):
        return
    started = time.monotonic()
    before = set(stamp.read(venv))
    # What this set-up does not touch must not be recorded as if it had made it.
    outdated = {part for part in before & stamp.OPTIONAL if not stamp.current([part], venv)}
    todo = {part for part in parts if not stamp.current([part], venv)}
    wanted, root = packages.needs(todo), packages.is_root()
    packages.ensure(wanted, line=line, log=logs / "apt.log", root=root)
    if todo - {stamp.QT}:
        with_tests = stamp.TEST in {*parts, *before}
        anew = _install(venv, line, logs, engine=stamp.BASE in todo, with_tests=with_tests)
        outdated |= stamp.OPTIONAL if anew else set()
    stamp.write({*parts, *(before - outdated)}, venv)
    line.say(f"Set-up done in {duration(time.monotonic() - started)}.")


def _install(venv: Path, line: Line, logs: Path, *, engine: bool, with_tests: bool) -> bool:
    """Fill the environment; True when it had to be made anew, and so lost what was in it."""
    environment.refuse_foreign(venv)
    line.say(f"Setting up Inglenook in {venv} (once).")
    disk.check_space({venv.parent: _ENVIRONMENT_BYTES})
    anew = not environment.works(venv)
    wheel = _wheel(line, logs) if engine or anew else None
    if anew:
        line.show("Making the virtual environment")
        environment.create(venv)
    stamp.begin(venv)
    # test.txt holds all of base.txt, with the same versions.
    lock = layout.LOCKS / ("test.txt" if with_tests else "base.txt")
    log = logs / "packages.log"
    environment.install(venv, lock, what="Packages", line=line, log=log)
    if wheel:
        environment.install_wheel(venv, wheel, line=line, log=log)
        _try_engine(venv, wheel)
    environment.link(venv)
    return anew


def _wheel(line: Line, logs: Path) -> Path:
    folder = layout.cache() / "wheels"
    seen = cpu.compiler_view(cpu.compiler() or "c++")
    made_from = wheels.inputs(
        compiler_view=seen, ingredients=recipe.ingredients(), environment=os.environ
    )
    key = wheels.key(made_from)
    found = wheels.find(folder, key)
    if found:
        line.say("Using the llama.cpp that was compiled earlier for this machine.")
        return found
    line.say("llama.cpp is compiled for this machine's processor; this takes some minutes, once.")
    started = time.monotonic()
    with build.workspace(folder) as work:
        disk.check_space({folder: _BUILD_BYTES})
        wheel = build.build(work, line=line, log=logs / "llama-build.log")
        stored = wheels.store(folder, key, wheel, made_from)
    line.say(f"llama.cpp is compiled ({duration(time.monotonic() - started)}).")
    return stored


def _try_engine(venv: Path, wheel: Path) -> None:
    if environment.loads_engine(venv):
        return
    wheels.drop(wheel.parent.parent, wheel.parent.name)
    raise SetupError(
        "the compiled llama.cpp does not start on this machine.",
        hint="It was removed from the cache; start again to compile it anew.",
    )


def _system_error(error: OSError) -> SetupError:
    if error.errno == errno.ENOSPC:
        return SetupError("the disk is full.", hint="Free some space and start again.")
    return SetupError(
        f"the system said: {error.strerror or error} ({error.filename or 'no file named'}).",
        hint=f"{layout.CACHE_VARIABLE} and {layout.VENV_VARIABLE} name other folders to write to.",
    )


def _explain(line: Line, error: SetupError) -> None:
    line.say(f"\nSet-up stopped: {error.message}")
    for text in error.hint.splitlines():
        line.say(f"  {text}")


def _terminated(_signal: int, _frame: object) -> None:
    raise SystemExit(128 + signal.SIGTERM)
