"""A piece of a conversation's KV cache as a file: its tokens, whose it is, and the memory that a backend exported.

Zone: worker (reads and writes) and service (deletes). Layout: magic, length of the head, head as MessagePack, state.
The head carries a checksum of the state and stands behind one of its own, so that a file that was cut off, changed or left by
a power cut is never taken for one. Files are made under another name and renamed when whole; only their owner may read them.
"""

import contextlib
import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

import msgspec
import xxhash

from engine.errors import EngineError

KEPT: Final = "conversations"
"""Folder of all models' files, in the cache folder."""
SUFFIX: Final = ".kv"
_PARTIAL: Final = ".kv.part"
_LEFTOVER_S: Final = 600
"""No write takes so long."""
_MAGIC: Final = b"INGLKV2\n"
_FRONT: Final = struct.Struct("<8sIQ")
"""Magic, bytes of the head, xxh3 of the head."""
_MOST_HEAD: Final = 64 << 20


class PieceHead(msgspec.Struct, frozen=True, array_like=True):
    """What a file says about its state."""

    fingerprint: str
    """Of model, library and memory layout; equal where states may be exchanged."""
    name: str
    """Of this piece: a hash of all tokens up to its end."""
    parent: str
    """Of the piece it goes on from; empty: it begins the conversation."""
    start: int
    """Position of the first token."""
    tokens: bytes
    """int32, little-endian."""
    keys: tuple[str, ...]
    """Whose conversations it belongs to."""
    whole: bool
    """Of use only as a whole: the model's memory cannot be cut."""
    state_bytes: int
    state_sum: int
    """xxh3 of the state."""


def checksum(data: bytes | bytearray | memoryview) -> int:
    """xxh3-64: 10 GB/s, against accidents and not against attackers."""
    return xxhash.xxh3_64_intdigest(data)


def write_piece(folder: Path, head: PieceHead, state: bytes | bytearray | memoryview) -> Path:
    """Write one file, readable by its owner only; one of the same name is replaced.

    Raises:
        OSError: it cannot be written; nothing is left.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    target = folder / f"{head.name}{SUFFIX}"
    partial = folder / f"{head.name}{_PARTIAL}"
    encoded = msgspec.msgpack.encode(head)
    try:
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(_FRONT.pack(_MAGIC, len(encoded), checksum(encoded)))
            file.write(encoded)
            file.write(state)
        partial.replace(target)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
    return target


def read_head(path: Path) -> PieceHead | None:
    """What a file holds; None where it is no whole piece."""
    try:
        with path.open("rb") as file:
            return _head(file.read(_FRONT.size), file, path.stat().st_size)
    except OSError:
        return None


def _head(front: bytes, file: BinaryIO, size: int) -> PieceHead | None:
    if len(front) != _FRONT.size:
        return None
    magic, length, head_sum = _FRONT.unpack(front)
    if magic != _MAGIC or length > _MOST_HEAD:
        return None
    encoded = file.read(length)
    if len(encoded) != length or checksum(encoded) != head_sum:
        return None
    try:
        head = msgspec.msgpack.decode(encoded, type=PieceHead)
    except msgspec.MsgspecError:
        return None
    return head if size == _FRONT.size + length + head.state_bytes else None


def read_state(path: Path, name: str, fingerprint: str) -> bytes | None:
    """The state of a piece; None where the file is gone, damaged, or not this piece of this model."""
    try:
        with path.open("rb") as file:
            head = _head(file.read(_FRONT.size), file, path.stat().st_size)
            if head is None or (head.name, head.fingerprint) != (name, fingerprint):
                return None
            state = file.read(head.state_bytes)
    except OSError:
        return None
    return state if checksum(state) == head.state_sum else None


def pieces(folder: Path) -> Iterator[Path]:
    """All files of a folder and its subfolders; leftovers of a write that was cut off are removed."""
    for path in sorted(folder.rglob(f"*{SUFFIX}*")):
        if path.suffix == SUFFIX:
            yield path
        elif path.name.endswith(_PARTIAL):
            with contextlib.suppress(FileNotFoundError):
                if (
                    path.stat().st_mtime < time.time() - _LEFTOVER_S
                ):  # else another worker writes it
                    path.unlink()


def measure(root: Path) -> tuple[int, int]:
    """Bytes and number of all files, whatever others write and delete meanwhile."""
    num_bytes = num_files = 0
    for path in root.rglob(f"*{SUFFIX}"):
        try:
            num_bytes += path.stat().st_size
        except FileNotFoundError:
            continue
        num_files += 1
    return num_bytes, num_files


def forget_files(root: Path, key: str | None) -> None:
    """Delete what belongs to nobody but the owner of `key`, and what is no whole piece; None: everything.

    What others share stays without the name, and what goes on from a deleted file stays until its folder is
    read the next time. Others may write and delete meanwhile.

    Raises:
        EngineError: something could not be deleted; the rest is.
    """
    failure: OSError | None = None
    for path in sorted(root.rglob(f"*{SUFFIX}*")):
        try:
            _forget(path, key)
        except OSError as error:
            failure = error
    if failure is not None:
        raise EngineError(
            f"Something that was kept of conversations could not be deleted ({failure.strerror}).",
            hint=f"Check that you may write in {root}, then try again.",
        ) from failure


def _forget(path: Path, key: str | None) -> None:
    head = read_head(path) if key is not None else None
    if head is not None and key not in head.keys:
        return
    if head is None or len(head.keys) == 1 or not _rewritten(path, head, key):
        path.unlink(missing_ok=True)


def _rewritten(path: Path, head: PieceHead, key: str | None) -> bool:
    """Write it anew, as old as it is, with its other owners only; False where it is damaged or there is no room."""
    state = read_state(path, head.name, head.fingerprint)
    if state is None:
        return False
    others = tuple(other for other in head.keys if other != key)
    try:
        age = path.stat()
        write_piece(path.parent, msgspec.structs.replace(head, keys=others), state)
        os.utime(path, ns=(age.st_atime_ns, age.st_mtime_ns))
    except OSError:
        return False
    return True
