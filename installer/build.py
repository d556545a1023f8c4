"""Compiles the llama-cpp-python wheel from its hashed sdist, in a folder that vanishes whatever happens."""

import os
import shlex
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.errors import SetupError
from installer import environment, layout, pip, process, recipe
from installer.progress import Line, compile_status, ninja_step

_PREFIX = ".build-"
_BYTES_PER_JOB = 700_000_000  # the largest source files took half of this to compile


def build(work: Path, *, line: Line, log: Path) -> Path:
    """Compile in the workspace `work` and return the wheel, which lies there alone in a folder.

    Raises:
        SetupError: a download or the compile failed.
    """
    python = layout.python(work / "venv")
    line.show("Preparing the compile of llama.cpp")
    environment.create(work / "venv")
    environment.install(
        work / "venv", layout.LOCKS / "build.txt", what="Build tools", line=line, log=log
    )
    source = _fetch(python, work, line=line, log=log)
    return _compile(python, source, work, line=line, log=log)


@contextmanager
def workspace(folder: Path) -> Iterator[Path]:
    """A fresh folder for one build; what killed builds left behind goes first. The caller holds the lock."""
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(f"{_PREFIX}*"):
        shutil.rmtree(left, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def jobs(cores: int, free_bytes: int | None) -> int:
    """How many compilers to run at once, so that small machines do not run out of memory."""
    by_memory = cores if free_bytes is None else free_bytes // _BYTES_PER_JOB
    return max(1, min(cores, by_memory))


def _fetch(python: Path, work: Path, *, line: Line, log: Path) -> Path:
    target = work / "sdist"
    options = ["--require-hashes", "--no-deps", "--no-build-isolation", "--no-binary", ":all:"]
    arguments: list[str | Path] = [
        "download",
        *options,
        "-r",
        layout.LOCKS / "llama.txt",
        "-d",
        target,
    ]
    pip.run(python, arguments, what="Source of llama.cpp", line=line, log=log)
    return next(target.iterdir())


def _compile(python: Path, source: Path, work: Path, *, line: Line, log: Path) -> Path:
    target = work / "wheel"
    options = ["--no-deps", "--no-index", "--no-build-isolation", "--no-cache-dir", "--verbose"]
    command: list[str | Path] = [
        python,
        "-I",
        "-m",
        "pip",
        "wheel",
        *options,
        "--no-input",
        "-w",
        target,
        source,
    ]
    started = time.monotonic()
    step: tuple[int, int] | None = None

    def show() -> None:
        line.show(compile_status(step, time.monotonic() - started))

    def read(text: str) -> None:
        nonlocal step
        step = ninja_step(text) or step
        show()

    log.write_text("", encoding="utf-8")
    env = _environment(python, work)
    code = process.follow(command, log=log, env=env, on_line=read, on_tick=show)
    line.clear()
    wheels = sorted(target.glob("*.whl"))
    if code or not wheels:
        raise _failure(log)
    return wheels[0]


def _environment(python: Path, work: Path) -> dict[str, str]:
    temporary = work / "tmp"
    temporary.mkdir()
    mine = shlex.join(recipe.cmake_args())
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return {
        **pip.environment(),
        "TMPDIR": str(temporary),  # /tmp may be small, or in memory
        "PATH": os.pathsep.join([str(python.parent), os.environ.get("PATH", "")]),
        "CMAKE_ARGS": f"{mine} {os.environ.get('CMAKE_ARGS', '')}".strip(),
        "SKBUILD_WHEEL_EXCLUDE": recipe.WHEEL_EXCLUDE,
        "CMAKE_BUILD_PARALLEL_LEVEL": str(jobs(cores, _free_memory())),
    }


def _free_memory() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = [int(text.split()[1]) * 1024 for text in lines if text.startswith("MemAvailable:")]
    return found[0] if found else None


def _failure(log: Path) -> SetupError:
    output = log.read_text(encoding="utf-8", errors="replace")
    if "No space left on device" in output:
        return pip.failure("Compiling llama.cpp", log)
    if "Killed signal terminated" in output:
        advice = "The machine ran out of memory. Close other programs and start again."
    else:
        advice = "Start again to retry; if it fails the same way, report it with the log file."
    lines = "\n".join(process.tail(log))
    return SetupError(
        "compiling llama.cpp failed.",
        hint=f"{advice} The full log: {log}\nThe compiler said:\n{lines}",
    )
