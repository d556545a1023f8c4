"""Which model a file is, without reading all of it: for what is kept beside the model and must never meet another one.

Zone: worker and service. Every tensor is looked at, its beginning and its end, besides the whole header: two files that differ
in any layer's weights differ here, unless somebody made them to agree.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import xxhash

from engine.formats.gguf import read_header

_LOOK_BYTES: Final = 4096


def model_identity(files: Sequence[Path]) -> str:
    """Hex digest of a model's files (one, or all parts of a split model).

    Raises:
        ModelFormatError: a file is no whole GGUF file.
        OSError: it cannot be read.
    """
    digest = xxhash.xxh3_128()
    for path in files:
        header = read_header(path)
        digest.update(str(header.file_bytes).encode())
        with path.open("rb") as file:
            digest.update(file.read(header.data_offset))
            for tensor in header.tensors:
                begin = header.data_offset + tensor.offset
                size = tensor.num_bytes or 0
                for position in (begin, max(begin, begin + size - _LOOK_BYTES)):
                    file.seek(position)
                    digest.update(file.read(min(size, _LOOK_BYTES)))
    return digest.hexdigest()
