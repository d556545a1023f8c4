"""A ghost: a GGUF file that is all header and, behind it, a hole of the size of its weights. What a model costs, told before its download.

Zone: service writes it, a job opens it (`engine.worker.ghost`): llama.cpp sees every tensor in its place and never reads one. The
questions and answers about it are here too, as both processes need them. Neighbour: `engine.formats.gguf` checks each header.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from engine.errors import ModelFormatError
from engine.formats.gguf import read_header
from engine.types import KvType

MOST_BYTES: Final = 1 << 44
"""Of one file; no model comes near."""
_MOST_PARTS: Final = 999
_UNUSUAL: Final = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True, slots=True)
class GhostPart:
    """One file of a model, as far as it is known."""

    header: bytes
    """Everything before the tensor data; more does no harm."""
    file_bytes: int
    """Size of the whole file."""


class ContextWish(msgspec.Struct, frozen=True):
    """What a context would be made for; see `engine.backends.registry.OpenRequest`."""

    context: int
    """Tokens in the cache, all sequences together."""
    num_sequences: int
    kv_type: KvType = "f16"
    exact: bool = False
    flash_attention: bool | None = None


class Allocation(msgspec.Struct, frozen=True):
    """Bytes that llama.cpp allocates, by its own account."""

    weights: int
    """Of all tensors."""
    repacked: int | None
    """Of these, what it copies into another order; None: it did not say."""
    kv_cache: int
    """Recurrent states included."""
    compute: int
    """Buffers of one step, logits included."""


class GhostQuestion(msgspec.Struct, frozen=True):
    """To the job: one line of JSON."""

    path: bytes
    """Of the file, or of part 1."""
    wishes: list[ContextWish]
    memory_bytes: int
    """Most that the job may take, beside what it never touches."""


class GhostAnswer(msgspec.Struct, frozen=True):
    """From the job: one line of JSON."""

    allocations: list[Allocation] = []
    """One for each wish."""
    error: dict[str, Any] | None = None
    """`EngineError.to_wire()`, where there is none."""


def write_ghost(folder: Path, name: str, parts: Sequence[GhostPart]) -> Path:
    """Write a model's files into an empty folder; they take hardly more space than their headers.

    Args:
        folder: there, and empty.
        name: what messages call the model; it names the files, without what is unusual in names.
        parts: the file, or all parts of a split model, in order.

    Returns:
        The file, or part 1.

    Raises:
        ModelFormatError: a header is none, is cut off, or does not fit its file; nothing usable was written.
        OSError: the disk.
    """
    stem = _UNUSUAL.sub("_", name.removesuffix(".gguf"))[:100].lstrip(".") or "model"
    if not 1 <= len(parts) <= _MOST_PARTS:
        raise _refused(name, f"it claims to have {len(parts):,} parts")
    written: list[Path] = []
    for number, part in enumerate(parts):
        if not 0 < part.file_bytes <= MOST_BYTES:
            raise _refused(name, f"its size cannot be {part.file_bytes:,} bytes")
        split = f"-{number + 1:05}-of-{len(parts):05}" if len(parts) > 1 else ""
        path = folder / f"{stem}{split}.gguf"
        written.append(path)
        with path.open("xb") as file:
            file.write(part.header[: part.file_bytes])
            file.truncate(part.file_bytes)
        header = read_header(path)
        if len(part.header) < min(header.data_offset, part.file_bytes):
            raise _refused(name, f"its header ends after {len(part.header):,} bytes")
        if (header.split_count, header.split_number) != (len(parts), number):
            raise _refused(name, f"its part {number + 1} says that it is another one")
    return written[0]


def _refused(name: str, what: str) -> ModelFormatError:
    return ModelFormatError(
        f"{name} is damaged: {what}.", hint="Choose another file of the model.", file=name
    )
