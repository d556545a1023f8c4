"""Writes small GGUF files with `struct`, right or wrong on purpose. Independent of the reader it tests.

`gguf_bytes` writes any header; `tiny_model` a whole llama-like file (random-free: all weights are zero bytes).
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
FORMS = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "?"}
FORMS |= {U64: "Q", I64: "q", F64: "d"}
TYPE_F32, TYPE_F16, TYPE_Q4_0, TYPE_Q4_1, TYPE_Q8_0 = 0, 1, 2, 3, 8


@dataclass(frozen=True)
class Typed:
    """A metadata value with its GGUF type given instead of guessed."""

    type: int
    value: Any


@dataclass(frozen=True)
class TypedArray:
    """A metadata array with its element type given."""

    type: int
    values: Sequence[Any]


@dataclass(frozen=True)
class Tensor:
    """A tensor entry; `offset` None lets the writer place it after the one before."""

    name: str
    shape: tuple[int, ...]
    type: int = TYPE_F32
    num_bytes: int = 0
    offset: int | None = None


def text(value: str | bytes, order: str = "<") -> bytes:
    raw = value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")
    return struct.pack(f"{order}Q", len(raw)) + raw


def encoded(value: Any, order: str = "<") -> bytes:
    """Type tag and bytes of one metadata value; int is u32, float f32 unless `Typed`."""
    match value:
        case TypedArray(type=kind, values=values):
            head = struct.pack(f"{order}IIQ", ARRAY, kind, len(values))
            if kind == STRING:
                return head + b"".join(text(v, order) for v in values)
            return head + struct.pack(f"{order}{len(values)}{FORMS[kind]}", *values)
        case Typed(type=kind, value=inner):
            if kind == STRING:
                return struct.pack(f"{order}I", STRING) + text(inner, order)
            return struct.pack(f"{order}I{FORMS[kind]}", kind, inner)
        case bool():
            return encoded(Typed(BOOL, value), order)
        case int():
            return encoded(Typed(U32, value), order)
        case float():
            return encoded(Typed(F32, value), order)
        case str() | bytes():
            return encoded(Typed(STRING, value), order)
        case _:
            kinds = {str: STRING, bool: BOOL, int: U32, float: F32}
            return encoded(TypedArray(kinds[type(value[0])], value), order)


def gguf_bytes(
    metadata: Mapping[str, Any] | Sequence[tuple[str, Any]] = (),
    tensors: Sequence[Tensor] = (),
    *,
    version: int = 3,
    alignment: int = 32,
    order: str = "<",
    num_keys: int | None = None,
    num_tensors: int | None = None,
    with_data: bool = True,
) -> bytes:
    """A GGUF file; the counts can be made to lie, the data to be missing."""
    entries = list(metadata.items()) if isinstance(metadata, Mapping) else list(metadata)
    out = bytearray(b"GGUF")
    out += struct.pack(
        f"{order}IQQ",
        version,
        len(tensors) if num_tensors is None else num_tensors,
        len(entries) if num_keys is None else num_keys,
    )
    out += b"".join(text(key, order) + encoded(value, order) for key, value in entries)
    offset = 0
    for tensor in tensors:
        place = offset if tensor.offset is None else tensor.offset
        out += text(tensor.name, order) + struct.pack(f"{order}I", len(tensor.shape))
        out += struct.pack(f"{order}{len(tensor.shape)}Q", *tensor.shape)
        out += struct.pack(f"{order}IQ", tensor.type, place)
        offset += -(-tensor.num_bytes // alignment) * alignment
    if tensors and with_data:
        out += bytes(-len(out) % alignment + offset)
    return bytes(out)


CHAT_TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:"


def tiny_metadata(*, name: str = "Tiny", num_tokens: int = 40, **extra: Any) -> dict[str, Any]:
    """Metadata of a llama of 2 layers; `extra` keys use `__` for the dot."""
    return {
        "general.architecture": "llama",
        "general.type": "model",
        "general.name": name,
        "general.file_type": 2,
        "llama.block_count": 2,
        "llama.context_length": 256,
        "llama.embedding_length": 32,
        "llama.feed_forward_length": 64,
        "llama.attention.head_count": 4,
        "llama.attention.head_count_kv": 2,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.vocab_size": num_tokens,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.tokens": TypedArray(STRING, [f"t{i}" for i in range(num_tokens)]),
        "tokenizer.ggml.token_type": TypedArray(I32, [1] * num_tokens),
        "tokenizer.ggml.merges": TypedArray(STRING, ["t 1", "t 2"]),
        "tokenizer.chat_template": CHAT_TEMPLATE,
    } | {key.replace("__", "."): value for key, value in extra.items()}


TINY_TENSORS = (
    Tensor("token_embd.weight", (32, 40), TYPE_Q4_0, 40 * 18),
    Tensor("output_norm.weight", (32,), TYPE_F32, 128),
    Tensor("blk.0.attn_q.weight", (32, 32), TYPE_Q4_0, 32 * 18),
)


def tiny_model(path: Path, **extra: Any) -> Path:
    """Write a whole, well-formed file of about 3 kB (not loadable: most tensors are missing)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gguf_bytes(tiny_metadata(**extra), TINY_TENSORS))
    return path


def tiny_split(folder: Path, base: str, count: int) -> list[Path]:
    """Write a model in parts, each a file as llama-gguf-split makes them: only part 1 has the metadata."""
    paths = []
    for number in range(count):
        split = {"split.no": Typed(U16, number), "split.count": Typed(U16, count)}
        split["split.tensors.count"] = Typed(I32, count)
        metadata = {**tiny_metadata(), **split} if number == 0 else split
        tensor = Tensor(f"blk.{number}.attn_q.weight", (32, 32), TYPE_Q4_0, 32 * 18)
        path = folder / f"{base}-{number + 1:05d}-of-{count:05d}.gguf"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gguf_bytes(metadata, [tensor]))
        paths.append(path)
    return paths
