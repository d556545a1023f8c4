"""Calls pip in a given interpreter, watched and logged, and turns its failures into sentences."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from engine.errors import SetupError
from installer import process
from installer.progress import Line, PipReader

_OFFLINE = (
    "NewConnectionError",
    "ConnectTimeoutError",
    "NameResolutionError",
    "Temporary failure in name resolution",
    "Max retries exceeded",
    "Connection refused",
    "Connection broken",
    "Read timed out",
)
# They would send packages elsewhere than into our environment.
_DROPPED = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PYTHONPATH", "PYTHONHOME")


def run(
    python: Path,
    arguments: Sequence[str | Path],
    *,
    what: str,
    line: Line,
    log: Path,
    watch: Callable[[str], None] = lambda _text: None,
    temporary: Path | None = None,
) -> None:
    """Run `pip <arguments>` and show what it is busy with.

    Args:
        python: whose pip.
        arguments: pip's.
        what: the name of this step.
        line: shows the progress.
        log: gets all output.
        watch: sees every line of output; pip is ended when it raises.
        temporary: where downloads may grow; /tmp may be small, or in memory.

    Raises:
        SetupError: pip failed; the sentence says whether network or disk is the likely cause.
    """
    reader = PipReader()

    def show(text: str) -> None:
        watch(text)
        step = reader.read(text)
        if step:
            line.show(f"{what}: {step}")

    log.write_text("", encoding="utf-8")
    command = [python, "-I", "-m", "pip", *arguments, "--no-input", "--disable-pip-version-check"]
    env = {**environment(), **({"TMPDIR": str(temporary)} if temporary else {})}
    code = process.follow(command, log=log, env=env, on_line=show)
    line.clear()
    if code:
        raise failure(what, log)


def environment() -> dict[str, str]:
    """The user's environment, indexes and certificates included, without what would mislead pip."""
    kept = {name: value for name, value in os.environ.items() if name not in _DROPPED}
    return {**kept, "PIP_USER": "0", "LC_ALL": "C.UTF-8"}


def failure(what: str, log: Path) -> SetupError:
    """The error for a command whose output is in `log`."""
    output = log.read_text(encoding="utf-8", errors="replace")
    shown = f"The full output is in {log}"
    if "No space left on device" in output:
        return SetupError(
            f"{what}: the disk is full.", hint=f"Free some space and start again. {shown}"
        )
    if "DO NOT MATCH THE HASHES" in output:
        return SetupError(
            f"{what}: a download is not the file that was expected (its checksum differs).",
            hint=f"Nothing was installed. Start again; if it stays so, the package index is not to be trusted. {shown}",
        )
    if any(mark in output for mark in _OFFLINE):
        return SetupError(
            f"{what}: the package index could not be reached.",
            hint=f"Connect this machine to the internet (or set pip's own index or proxy) and start again. {shown}",
        )
    if "No matching distribution found" in output:
        version = sys.version.split()[0]
        return SetupError(
            f"{what}: something needed is not offered for Python {version} on this system.",
            hint=f"Start again with another Python, 3.11 to 3.13 are sure to work. {shown}",
        )
    lines = "\n".join(process.tail(log))
    return SetupError(f"{what}: pip failed.", hint=f"{lines}\n{shown}")
