"""Reads the header of a GGUF file that nobody vouches for: what model is it, is the file whole?

Zone: any; standard library only. Bounded: under 2 s and 200 MB for every input. The model itself is loaded by
llama.cpp in a worker; this reader is for listing, planning, and saying in words what is wrong.
Source: `gguf.h` and `gguf.cpp` of llama.cpp. Neighbours: `gguf_metadata`, `gguf_header`, `cursor`, `foreign`.
"""

import os
import stat
import struct
from io import FileIO
from pathlib import Path
from types import MappingProxyType
from typing import Final

from engine.errors import ModelFormatError
from engine.formats.cursor import Cursor
from engine.formats.filenames import printable
from engine.formats.foreign import HEAD, not_gguf
from engine.formats.gguf_header import GgufHeader, TensorInfo, Value
from engine.formats.gguf_metadata import read_metadata, text
from engine.formats.gguf_types import TENSOR_TYPES

MAX_TENSORS: Final = 65_536
"""Tensors in one file; real files have a few thousand."""
MAX_NAME_BYTES: Final = 127
"""llama.cpp itself takes 63."""
_MAX_ALIGNMENT: Final = 1 << 20
_MAX_COUNT: Final = 1 << 50
"""Of numbers in a tensor, and of bytes in front of it."""

_HEAD = struct.Struct("<4sI")
_DIMS = [struct.Struct(f"<{n}Q") for n in range(5)]
_U32 = struct.Struct("<I")
_TENSOR_TAIL = struct.Struct("<IQ")


def read_header(path: Path) -> GgufHeader:
    """Read everything before the tensor data, and check that the file holds all of it.

    Raises:
        ModelFormatError: not a readable, whole, little-endian GGUF file of version 2 or 3; the message says
            what it is instead.
    """
    name = printable(path.name)
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait for ever
            raise _not_a_file(name, status.st_mode)
        with FileIO(path) as file:
            return _read(file, name, os.fstat(file.fileno()).st_size)
    except FileNotFoundError as error:
        raise ModelFormatError(
            f"{name} is not there.", hint="Was it moved, or is its disk away?", file=name
        ) from error
    except PermissionError as error:
        raise ModelFormatError(
            f"{name} may not be read.",
            hint="Give this user the permission to read it.",
            file=name,
        ) from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) else "its name is not legal"
        raise ModelFormatError(
            f"{name} could not be read ({reason}).",
            hint="Check the disk, then try again.",
            file=name,
        ) from error


def _not_a_file(name: str, mode: int) -> ModelFormatError:
    if stat.S_ISDIR(mode):
        return ModelFormatError(
            f"{name} is a folder, not a model.", hint="Choose a .gguf file inside it.", file=name
        )
    return ModelFormatError(
        f"{name} is a device or a pipe, not a model.", hint="Choose a .gguf file.", file=name
    )


def _read(file: FileIO, name: str, size: int) -> GgufHeader:
    head = file.read(HEAD) or b""
    if len(head) < _HEAD.size or not head.startswith(b"GGUF"):
        raise not_gguf(name, head, size)
    version = _checked_version(name, head)
    cursor = Cursor(file, size=size, name=name)
    cursor.skip(_HEAD.size)
    num_tensors, num_keys = cursor.u64(), cursor.u64()
    if num_tensors > MAX_TENSORS:
        raise cursor.damaged(f"it claims {num_tensors:,} tensors")
    metadata = read_metadata(cursor, num_keys)
    alignment = _alignment(cursor, metadata)
    tensors = _read_tensors(cursor, num_tensors)
    header = GgufHeader(
        version=version,
        metadata=MappingProxyType(metadata),
        tensors=tensors,
        alignment=alignment,
        data_offset=-(-cursor.position // alignment) * alignment if tensors else cursor.position,
        file_bytes=size,
    )
    _check_whole(name, header)
    return header


def _checked_version(name: str, head: bytes) -> int:
    _, version = _HEAD.unpack_from(head)
    if version in (2, 3):
        return int(version)
    if version == 1:
        what, hint = "is GGUF of version 1 (August 2023)", "Look for a newer file of the model."
    elif version and version & 0xFFFF == 0:
        what = "is a big-endian GGUF, made for another kind of processor"
        hint = "Look for the usual, little-endian file of the model."
    elif 3 < version < 100:
        what = f"is GGUF of version {version}, newer than this program (2 and 3)"
        hint = "Update the program, or look for an older file of the model."
    else:
        what, hint = f"is damaged: GGUF version {version} does not exist", "Download it again."
    raise ModelFormatError(f"{name} {what}.", hint=hint, file=name)


def _alignment(cursor: Cursor, metadata: dict[str, Value]) -> int:
    value = metadata.get("general.alignment", 32)
    if type(value) is not int or not 0 < value <= _MAX_ALIGNMENT or value & (value - 1):
        raise cursor.damaged("its alignment is not a usable power of two")
    return value


def _read_tensors(cursor: Cursor, count: int) -> tuple[TensorInfo, ...]:
    tensors: dict[str, TensorInfo] = {}
    for _ in range(count):
        tensor = _read_tensor(cursor)
        if tensor.name in tensors:
            raise cursor.damaged(f"the tensor {printable(tensor.name[:64])} is there twice")
        tensors[tensor.name] = tensor
    return tuple(tensors.values())


def _read_tensor(cursor: Cursor) -> TensorInfo:
    length = cursor.u64()
    if length > MAX_NAME_BYTES:
        raise cursor.damaged(f"a tensor has a name of {length:,} bytes")
    name = text(cursor.take(length))
    (num_dims,) = cursor.unpack(_U32)
    if num_dims >= len(_DIMS):
        raise cursor.damaged(f"the tensor {printable(name[:64])} has {num_dims:,} dimensions")
    shape = tuple(map(int, cursor.unpack(_DIMS[int(num_dims)])))  # () is a single number
    kind, offset = map(int, cursor.unpack(_TENSOR_TAIL))
    elements = 1
    for dimension in shape:
        elements *= dimension
    if not 0 < elements <= _MAX_COUNT or offset > _MAX_COUNT:
        raise cursor.damaged(f"the tensor {printable(name[:64])} has an impossible size or place")
    known = TENSOR_TYPES.get(kind)
    if known is None:
        return TensorInfo(name, shape, f"type {kind}", offset, None)
    if (shape[0] if shape else 1) % known.block:
        raise cursor.damaged(
            f"the rows of tensor {printable(name[:64])} do not fit its type {known.name}"
        )
    return TensorInfo(name, shape, known.name, offset, elements // known.block * known.block_bytes)


def _check_whole(name: str, header: GgufHeader) -> None:
    """llama.cpp's own loader would read beyond the end, or say only that it failed."""
    needed = header.needed_bytes
    if needed <= header.file_bytes:
        return
    raise ModelFormatError(
        f"{name} is incomplete: {header.file_bytes:,} of {needed:,} bytes.",
        hint="Download it again; if it is still downloading, wait until it has finished.",
        file=name,
        have_bytes=header.file_bytes,
        needed_bytes=needed,
    )
