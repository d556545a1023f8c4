"""Progress in the terminal: reading ninja's and pip's output, and the one line that keeps changing."""

import re
import shutil
import sys
import time
from collections.abc import Callable
from typing import TextIO

_STEP = re.compile(r"^\s*\[(\d+)/(\d+)\] ")
_FETCH = re.compile(r"^\s*(?:Downloading|Using cached|Processing) (\S+)(?: (\([\d.]+ \w?B\)))?")
_BYTES = re.compile(r"^Progress (\d+) of (\d+)$")
_PLAIN_INTERVAL_S = 10.0
_FIRST_ESTIMATE_S = 10.0


def ninja_step(line: str) -> tuple[int, int] | None:
    """(finished, total) of a line such as `[12/87] …`; None for any other line."""
    found = _STEP.match(line)
    if not found:
        return None
    finished, total = int(found[1]), int(found[2])
    return (finished, total) if 0 < finished <= total else None


def pip_step(line: str) -> str | None:
    """What pip is busy with, in a few words; None for lines that say nothing new."""
    found = _FETCH.match(line)
    if found:
        name, _, rest = found[1].rsplit("/", 1)[-1].partition("-")
        version = rest.partition("-")[0].removesuffix(".tar.gz")
        return " ".join(part for part in (name, version, found[2]) if part)
    return "unpacking" if line.startswith("Installing collected packages:") else None


class PipReader:
    """Follows pip's output, also the byte counts of `--progress-bar raw`."""

    def __init__(self) -> None:
        self._step = ""

    def read(self, line: str) -> str | None:
        """What pip is busy with after this line; None when it says nothing new."""
        found = _BYTES.match(line.strip())
        if found and self._step and int(found[2]):
            return f"{self._step}, {100 * int(found[1]) // int(found[2])} %"
        step = pip_step(line)
        self._step = step or self._step
        return step


def size(count: int) -> str:
    """`2.7 GB`, `192 MB` or `14 kB`."""
    if count >= 999_500_000:
        return f"{count / 1e9:.1f} GB"
    return f"{count / 1e6:.0f} MB" if count >= 999_500 else f"{count / 1e3:.0f} kB"


def duration(seconds: float) -> str:
    """`45 s` or `3 min 20 s`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def compile_status(step: tuple[int, int] | None, elapsed_s: float) -> str:
    """The sentence about a running compile: share done, elapsed, estimated rest."""
    if step is None:
        return f"Compiling llama.cpp: preparing, {duration(elapsed_s)}"
    finished, total = step
    text = f"Compiling llama.cpp: {100 * finished // total} % ({finished} of {total})"
    text += f", {duration(elapsed_s)} so far"
    if elapsed_s >= _FIRST_ESTIMATE_S and finished < total:
        text += f", about {duration(elapsed_s * (total - finished) / finished)} left"
    return text


class Line:
    """One line of progress: rewritten in place on a terminal, else printed now and then."""

    def __init__(
        self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream or sys.stderr
        self._clock = clock
        self._live = self._stream.isatty()
        self._printed: float | None = None
        self._open = False

    def show(self, text: str) -> None:
        """Show the present state; may be dropped when there is no terminal."""
        if self._live:
            width = shutil.get_terminal_size().columns
            self._write(f"\r\x1b[2K{text[: width - 1]}")
            self._open = True
        elif self._printed is None or self._clock() - self._printed >= _PLAIN_INTERVAL_S:
            self._printed = self._clock()
            self._write(text + "\n")

    def say(self, text: str) -> None:
        """A sentence that stays; what was shown before it goes."""
        self.clear()
        self._printed = None
        self._write(text + "\n")

    def clear(self) -> None:
        """Remove the changing line from a terminal."""
        if self._open:
            self._write("\r\x1b[2K")
            self._open = False

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
