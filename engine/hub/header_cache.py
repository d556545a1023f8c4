"""Headers of model files, kept from one start to the next: reading one takes 30 to 200 ms, most of it the vocabulary.

Zone: service and command line; any thread. Neighbour: `engine.hub.inspection`, which knows them while the process runs.
"""

import hashlib
import logging
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from engine.formats.filenames import portable
from engine.formats.gguf_header import GgufHeader

logger = logging.getLogger(__name__)

_VERSION: Final = 1
"""Of what is kept; another one is never found again."""
_MOST_FILES: Final = 500
_SUFFIX: Final = ".header"


class HeaderCache:
    """One file for each header. Never raises: what cannot be had is read from the model again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, path: Path, size: int, mtime_ns: int) -> GgufHeader | None:
        """The header of a file that still has this size and time."""
        try:
            raw = self._file(path, size, mtime_ns).read_bytes()
            return msgspec.msgpack.decode(raw, type=GgufHeader)
        except (OSError, ValueError, RecursionError):  # msgspec's errors are ValueErrors
            return None

    def put(self, path: Path, size: int, mtime_ns: int, header: GgufHeader) -> None:
        """Keep a header; the oldest ones go."""
        file = self._file(path, size, mtime_ns)
        try:
            raw = msgspec.msgpack.encode(header, enc_hook=_plain)
            self._folder.mkdir(parents=True, exist_ok=True)
            handle, new = tempfile.mkstemp(dir=self._folder, prefix=".new-")
            with os.fdopen(handle, "wb") as opened:
                opened.write(raw)
            Path(new).replace(file)
            self._prune()
        except (OSError, ValueError) as error:  # ValueError: text that is no Unicode
            logger.info("header not kept, reason=%s", error)

    def _file(self, path: Path, size: int, mtime_ns: int) -> Path:
        key = f"{_VERSION}\0{size}\0{mtime_ns}\0{portable(path)}"
        digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return self._folder / f"{digest}{_SUFFIX}"

    def _prune(self) -> None:
        with os.scandir(self._folder) as entries:
            files = [entry for entry in entries if entry.name.endswith(_SUFFIX)]
        files.sort(key=lambda entry: -entry.stat().st_mtime_ns)
        for entry in files[_MOST_FILES:]:
            Path(entry.path).unlink(missing_ok=True)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):  # a read-only view
        return dict(value)
    raise NotImplementedError  # as msgspec asks of a hook; headers hold nothing else
