"""What the header of a GGUF file says, as values. Frozen. Neighbour: `engine.formats.gguf` reads it.

Everything in `metadata` is the file's claim: the properties hand out only what is of the right type and possible.
What the memory plan needs besides, `engine.hardware.claims` reads out of `metadata` in the same spirit.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from engine.formats.filenames import printable
from engine.formats.gguf_types import FILE_TYPES

Kind = Literal["model", "adapter", "projector", "vocabulary", "imatrix"]

_NOT_A_MODEL: Final[dict[Kind, str]] = {
    "adapter": "This file is an adapter (LoRA) that changes a model, not a model. "
    "Add the model it was made for.",
    "projector": "This file is the image part of a model (mmproj), not the model. "
    "Add the model it belongs to.",
    "vocabulary": "This file holds only a vocabulary, no model weights. "
    "Look for the full file of the model.",
    "imatrix": "This file holds measurements for quantizing (imatrix), not a model. "
    "Add the model it was measured on.",
}
_KINDS_BY_TYPE: Final[dict[str, Kind]] = {
    "adapter": "adapter",
    "mmproj": "projector",
    "imatrix": "imatrix",
    "vocab": "vocabulary",
}
_KINDS_BY_ARCHITECTURE: Final[dict[str, Kind]] = {"clip": "projector", "controlvector": "adapter"}
_MAX_INT: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Omitted:
    """A value too long to keep."""

    type: str
    """`string`, `strings`, or the elements' type (`f32`, …)."""
    length: int
    """Bytes of a string, else elements."""


Value = int | float | bool | str | tuple[int | float | bool | str, ...] | Omitted


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One tensor in the file."""

    name: str
    shape: tuple[int, ...]
    """Fastest dimension first, as in the file; () is a single number."""
    type: str
    """`Q4_1`, …; `type 99` where unknown."""
    offset: int
    """Bytes from the header's `data_offset`."""
    num_bytes: int | None
    """None where the type is unknown."""


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """Header of one whole file (of one part, where a model is split)."""

    version: int
    metadata: Mapping[str, Value]
    tensors: tuple[TensorInfo, ...]
    alignment: int
    data_offset: int
    file_bytes: int

    @property
    def needed_bytes(self) -> int:
        """Where the last tensor of known size ends: the least size of a whole file."""
        ends = (self.data_offset + t.offset + (t.num_bytes or 0) for t in self.tensors)
        return max(ends, default=0)

    @property
    def tensor_bytes(self) -> int:
        """Weights of this file; tensors of unknown type count as nothing."""
        return sum(t.num_bytes or 0 for t in self.tensors)

    @property
    def kind(self) -> Kind:
        """What the file is for; anything unheard of counts as a model."""
        kind = _KINDS_BY_TYPE.get(self._text("general.type") or "")
        kind = kind or _KINDS_BY_ARCHITECTURE.get(self.architecture or "")
        if kind is None and not self.tensors and self.vocab_size and self.split_count == 1:
            return "vocabulary"
        return kind or "model"

    @property
    def problem(self) -> str | None:
        """Why nobody can chat with this file, and what to do; None where nothing speaks against it."""
        if self.kind != "model":
            return _NOT_A_MODEL[self.kind]
        if self.split_number == 0 and self.architecture is None:
            return (
                "This file does not say what kind of model it is. Choose another file of the model."
            )
        if self.split_count == 1 and not self.tensors:
            return "This file has no weights. Download it again."
        return None

    @property
    def architecture(self) -> str | None:
        """llama.cpp's name of the model family, such as `llama`."""
        return self._text("general.architecture")

    @property
    def name(self) -> str | None:
        """The model's name by its maker, one printable line of at most 120 characters."""
        name = self._text("general.name")
        return printable(name[:120]) if name else None

    @property
    def quantization(self) -> str | None:
        """`Q4_K_M`, …: the file's own label, else the type that holds most numbers."""
        label = self.metadata.get("general.file_type")
        if type(label) is int and label in FILE_TYPES:
            return FILE_TYPES[label]
        counts: Counter[str] = Counter()
        for tensor in self.tensors:
            elements = 1
            for dimension in tensor.shape:
                elements *= dimension
            counts[tensor.type] += elements
        return counts.most_common(1)[0][0] if counts else None

    @property
    def chat_template(self) -> str | None:
        """The file's default Jinja template. Hostile until proven otherwise."""
        template = self.metadata.get("tokenizer.chat_template")
        return template if isinstance(template, str) else None

    @property
    def context_length(self) -> int | None:
        """Tokens the model was trained for."""
        return self._number("context_length")

    @property
    def num_layers(self) -> int | None:
        """Blocks of the network."""
        return self._number("block_count")

    @property
    def embedding_length(self) -> int | None:
        """Width of the network."""
        return self._number("embedding_length")

    @property
    def vocab_size(self) -> int | None:
        """Tokens in the vocabulary."""
        tokens = self.metadata.get("tokenizer.ggml.tokens")
        if isinstance(tokens, Omitted):
            return tokens.length
        return len(tokens) if isinstance(tokens, tuple) else self._number("vocab_size")

    @property
    def split_count(self) -> int:
        """Parts of the model this file is one of; 1 for an ordinary file."""
        return _plain_int(self.metadata.get("split.count")) or 1

    @property
    def split_number(self) -> int:
        """Which part this file is, counted from 0."""
        return _plain_int(self.metadata.get("split.no")) or 0

    def _number(self, key: str) -> int | None:
        """The architecture's own entry, such as `context_length`: a possible, positive number or None."""
        return _plain_int(self.metadata.get(f"{self.architecture}.{key}")) or None

    def _text(self, key: str) -> str | None:
        value = self.metadata.get(key)
        return value if isinstance(value, str) and value else None


def _plain_int(value: object) -> int | None:
    return value if type(value) is int and 0 <= value <= _MAX_INT else None
