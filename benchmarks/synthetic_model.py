"""A random llama of 1.07 billion weights, shaped like Llama 3.2 1B: a second size to measure speed on.

Its text is noise, its arithmetic is a real model's: speed needs no trained weights. The vocabulary is
SmolLM2's, so that chats and prompts are the same for both. `python -m benchmarks.synthetic_model [KIND]`.
"""

import argparse
import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from benchmarks.harness import FILE_TYPES, quantize, starter_model
from engine.paths import Paths
from tests.helpers.tiny_gguf import ARRAY, FORMS, STRING, TYPE_F16, TYPE_F32, Tensor, encoded, text

LAYERS, EMBD, HEADS, HEADS_KV, HEAD_DIM, FF = 16, 2048, 32, 8, 64, 8192
NUM_TOKENS = 49_152
_CONTEXT = 8192
"""As SmolLM2's, which is also the most that the service takes by itself."""
_ALIGNMENT = 32
_ROWS_AT_ONCE = 1024


def synthetic_1b(kind: str) -> Path:
    """The model as `kind` (`Q4_0`, `Q4_K_M`), in the user's cache; made on the first call (minutes)."""
    folder = Paths.find().cache / "test-models"
    target = folder / f"Random-llama-1B.{kind}.gguf"
    if not target.exists():
        source = starter_model()
        half = folder / "Random-llama-1B.F16.part"
        try:
            with half.open("wb") as file:
                _write(file, _tokenizer_entries(source))
            quantize(half, target, kind)
        finally:
            half.unlink(missing_ok=True)
    return target


def _write(file: BinaryIO, tokenizer: list[bytes]) -> None:
    """Matrices keep the size of what they read, except the attention's output, which is quiet.

    At full size the average over the context would drown the last token, and greedy answers would repeat
    one token: a present to whoever guesses that text repeats itself.
    """
    entries = [text(key) + encoded(value) for key, value in _metadata().items()] + tokenizer
    tensors = list(_tensors())
    file.write(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(entries)))
    file.write(b"".join(entries))
    offset = 0
    for tensor in tensors:
        file.write(text(tensor.name) + struct.pack("<I", len(tensor.shape)))
        file.write(struct.pack(f"<{len(tensor.shape)}Q", *tensor.shape))
        file.write(struct.pack("<IQ", tensor.type, offset))
        offset += tensor.num_bytes  # all are multiples of the alignment
    file.write(bytes(-file.tell() % _ALIGNMENT))
    random = np.random.default_rng(7)
    for tensor in tensors:
        if len(tensor.shape) == 1:
            file.write(np.ones(tensor.shape, np.float32).tobytes())
            continue
        columns, rows = tensor.shape
        quiet = 1 / 16 if "attn_output" in tensor.name else 1
        scale = np.float32(quiet / math.sqrt(columns))
        for start in range(0, rows, _ROWS_AT_ONCE):
            block = random.standard_normal((min(_ROWS_AT_ONCE, rows - start), columns), np.float32)
            file.write((block * scale).astype(np.float16).tobytes())


def _metadata() -> dict[str, object]:
    return {
        "general.architecture": "llama",
        "general.type": "model",
        "general.name": "Random llama 1B",
        "general.file_type": 1,
        "llama.block_count": LAYERS,
        "llama.context_length": _CONTEXT,
        "llama.embedding_length": EMBD,
        "llama.feed_forward_length": FF,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": HEADS_KV,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": HEAD_DIM,
        "llama.rope.freq_base": 500_000.0,
        "llama.vocab_size": NUM_TOKENS,
    }


def _tensors() -> Iterator[Tensor]:
    """In the order of the file. No `output.weight`: the token embeddings serve."""
    kv = HEAD_DIM * HEADS_KV
    yield _matrix("token_embd", EMBD, NUM_TOKENS)
    for i in range(LAYERS):
        yield _norm(f"blk.{i}.attn_norm")
        yield _matrix(f"blk.{i}.attn_q", EMBD, HEAD_DIM * HEADS)
        yield _matrix(f"blk.{i}.attn_k", EMBD, kv)
        yield _matrix(f"blk.{i}.attn_v", EMBD, kv)
        yield _matrix(f"blk.{i}.attn_output", HEAD_DIM * HEADS, EMBD)
        yield _norm(f"blk.{i}.ffn_norm")
        yield _matrix(f"blk.{i}.ffn_gate", EMBD, FF)
        yield _matrix(f"blk.{i}.ffn_up", EMBD, FF)
        yield _matrix(f"blk.{i}.ffn_down", FF, EMBD)
    yield _norm("output_norm")


def _matrix(name: str, columns: int, rows: int) -> Tensor:
    return Tensor(f"{name}.weight", (columns, rows), TYPE_F16, columns * rows * 2)


def _norm(name: str) -> Tensor:
    return Tensor(f"{name}.weight", (EMBD,), TYPE_F32, EMBD * 4)


def _tokenizer_entries(path: Path) -> list[bytes]:
    """The `tokenizer.*` entries of a GGUF file, byte for byte."""
    raw = memoryview(path.read_bytes())
    (count,) = struct.unpack_from("<Q", raw, 16)
    entries, position = [], 24
    for _ in range(count):
        start = position
        (length,) = struct.unpack_from("<Q", raw, position)
        key = bytes(raw[position + 8 : position + 8 + length])
        (kind,) = struct.unpack_from("<I", raw, position + 8 + length)
        position = _after(raw, position + 12 + length, kind)
        if key.startswith(b"tokenizer."):
            entries.append(bytes(raw[start:position]))
    return entries


def _after(raw: memoryview, position: int, kind: int) -> int:
    """Where the value of this GGUF type ends."""
    if kind == STRING:
        return position + 8 + int(struct.unpack_from("<Q", raw, position)[0])
    if kind != ARRAY:
        return position + struct.calcsize(f"<{FORMS[kind]}")
    element, count = struct.unpack_from("<IQ", raw, position)
    position += 12
    if element != STRING:
        return position + int(count) * struct.calcsize(f"<{FORMS[element]}")
    for _ in range(count):
        position = _after(raw, position, STRING)
    return position


def main() -> None:
    """Write the model and print where it is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", nargs="?", choices=FILE_TYPES, default="Q4_0")
    print(synthetic_1b(parser.parse_args().kind))


if __name__ == "__main__":
    main()
