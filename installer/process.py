"""Runs a command while somebody watches: every line is logged and reported, and a tick comes each second."""

import contextlib
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

_TICK_S = 1.0
_ENDED = None


def follow(
    command: Sequence[str | Path],
    *,
    log: Path,
    env: Mapping[str, str],
    on_line: Callable[[str], None] = lambda _line: None,
    on_tick: Callable[[], None] = lambda: None,
) -> int:
    """Run to the end and return the exit code; output is appended to `log`.

    The command and its children are ended when this is left by an exception (Ctrl-C, SIGTERM).
    """
    words = [str(word) for word in command]
    with (
        log.open("a", encoding="utf-8") as record,
        subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            env=env,
            start_new_session=True,
        ) as child,
    ):
        lines: queue.Queue[str | None] = queue.Queue()
        reader = threading.Thread(target=_pump, args=(child.stdout, lines), daemon=True)
        reader.start()
        try:
            for line in _until_end(lines, on_tick):
                record.write(line)
                on_line(line)
            return child.wait()
        except BaseException:
            _kill(child)
            raise
        finally:
            reader.join(timeout=5)


def tail(log: Path, count: int = 12) -> list[str]:
    """The lines that explain a failure: from the first error on, else the last ones."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    marks = ("error:", "FAILED:", "CMake Error", "ERROR:", "E: ")
    first = next((i for i, line in enumerate(lines) if any(m in line for m in marks)), None)
    chosen = lines[-count:] if first is None else lines[first : first + count]
    return [line.strip()[:300] for line in chosen if line.strip()]


def _pump(output: IO[str], lines: "queue.Queue[str | None]") -> None:
    try:
        for line in output:
            lines.put(line)
    finally:
        lines.put(_ENDED)


def _until_end(lines: "queue.Queue[str | None]", on_tick: Callable[[], None]) -> Iterator[str]:
    while True:
        try:
            line = lines.get(timeout=_TICK_S)
        except queue.Empty:
            on_tick()
            continue
        if line is _ENDED:
            return
        yield line


def _kill(child: "subprocess.Popen[str]") -> None:
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
    else:
        child.kill()
