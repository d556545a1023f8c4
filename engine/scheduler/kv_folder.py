"""The files of kept conversations: one folder for each model, one limit for all of them together.

Zone: worker process; any of its threads. Other workers write into the same tree: a file that is gone is no error. The youngest
files stay: using a piece makes its file and those of its ancestors young again, the ancestors last.
"""

import logging
import os
from collections.abc import Sequence
from pathlib import Path

from engine.formats.kv_file import PieceHead, pieces, read_head, read_state, write_piece

logger = logging.getLogger(__name__)


class KvFolder:
    """Files of one model's pieces."""

    def __init__(self, root: Path, fingerprint: str, limit_bytes: int) -> None:
        """Nothing is created or read yet.

        Args:
            root: the folder of all models.
            fingerprint: of this model's states.
            limit_bytes: of all models' files together.
        """
        self._root = root
        self._fingerprint = fingerprint
        self._folder = root / fingerprint[:32]
        self._limit_bytes = limit_bytes

    def read_all(self) -> list[tuple[PieceHead, Path]]:
        """What earlier workers left, oldest first. Files that cannot be used are removed."""
        found = []
        for path in sorted(pieces(self._folder), key=_age):
            head = read_head(path)
            if head is not None and head.fingerprint == self._fingerprint:
                found.append((head, path))
            else:
                self.delete([path])
        return found

    def write(self, head: PieceHead, state: bytes | bytearray | memoryview) -> Path | None:
        """Write one piece, once there is room; None where it could not be."""
        if len(state) > self._limit_bytes:
            return None
        try:
            return write_piece(self._folder, head, state)
        except OSError as error:
            logger.warning("a conversation was not kept on disk, error=%s", error)
            return None

    def read(self, path: Path, name: str) -> bytes | None:
        """A piece's state; None where it is gone or damaged."""
        return read_state(path, name, self._fingerprint)

    def make_room(self, num_bytes: int) -> set[Path] | None:
        """Delete the oldest files, as many as so many bytes need.

        Returns:
            Those that are there now, whoever deleted the others; None where that cannot be seen, and where so many never fit.
        """
        if num_bytes > self._limit_bytes:
            return None
        try:
            files = sorted(pieces(self._root), key=_age)
        except OSError:  # a folder that vanishes while it is read
            return None
        sizes = [_size(path) for path in files]
        over = sum(sizes) + num_bytes - self._limit_bytes
        num_gone = 0
        while over > 0 and num_gone < len(files):
            over -= sizes[num_gone]
            num_gone += 1
        self.delete(files[:num_gone])
        return set(files[num_gone:])

    def touch(self, paths: Sequence[Path]) -> None:
        """These were used; the last one is the youngest."""
        for path in paths:
            try:
                os.utime(path)
            except OSError:
                continue  # gone

    def delete(self, paths: Sequence[Path]) -> None:
        """Remove files, whether they are there or not."""
        for path in paths:
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                logger.warning("a kept conversation could not be removed, error=%s", error)


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
