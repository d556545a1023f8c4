"""Writes small random models of each architecture that llama.cpp really loads and runs.

Every tensor has its own generator, seeded by its name, so variants of a model (without biases, with RoPE factors,
of another type) share all other weights. What llama.cpp reads is in `src/llama-model.cpp` and `src/models/`.
"""

import ctypes
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod, sqrt
from pathlib import Path

import numpy as np

from tests.helpers.tiny_gguf import BOOL, Tensor, TypedArray, gguf_bytes
from tests.helpers.tiny_llama import CHATML, CONTROL, byte_vocabulary

NUM_TOKENS = 256 + len(CONTROL)
_ALIGNMENT = 32
_NOT_IN_THE_BINDING = {"BF16": 30, "TQ1_0": 34, "TQ2_0": 35}


@dataclass(frozen=True)
class Shape:
    """What a model is made of; `write_model` takes each field as an override. 0 or None: the usual."""

    layers: int = 3
    embd: int = 0
    heads: int = 4
    heads_kv: int = 2
    head_dim: int = 0
    ff: int = 0
    tied: bool = False
    """No `output.weight`: the token embeddings serve."""
    biases: bool = False
    """Of q, k, v; of llama also of the attention's output."""
    ffn_biases: bool = False
    """llama only."""
    output_bias: bool = False
    """qwen2 only."""
    rope_freqs: bool = False
    """llama only: Llama 3.1's `rope_freqs.weight`, from 1 for the fast to 8 for the slow pairs."""
    qk_norm: bool = True
    """qwen3 and gemma3: random weights in the norms of q and k; False writes ones."""
    freq_base: float = 10_000.0
    window: int = 0
    """gemma3: tokens a local layer sees, itself included."""
    window_pattern: int | Sequence[bool] | None = None
    """gemma3: every n-th layer is global, or which layers are local."""
    eps: float = 1e-5
    types: Mapping[str, str] = field(default_factory=dict)
    """Other ggml types for the matrices whose name holds the key, like `{"ffn_down": "Q6_K"}`."""
    metadata: Mapping[str, object] = field(default_factory=dict)
    """More keys, without the architecture in front; None takes a key away."""


_USUAL = {
    "llama": Shape(),
    "qwen2": Shape(layers=2, biases=True, freq_base=1_000_000.0, eps=1e-6),
    "qwen3": Shape(layers=2, tied=True, freq_base=1_000_000.0, eps=1e-6),
    "gemma3": Shape(layers=6, heads_kv=1, tied=True, freq_base=1_000_000.0, window=16, eps=1e-6),
}
ARCHITECTURES = tuple(_USUAL)


def write_model(
    path: Path,
    architecture: str,
    *,
    quantization: str = "F32",
    seed: int = 0,
    n_ctx: int = 512,
    chat_template: str | None = CHATML,
    tokenizer: Mapping[str, object] | None = None,
    **overrides: object,
) -> Path:
    """Write a model of `Shape(**overrides)`; the same bytes for the same arguments.

    `quantization` is the ggml type of all matrices, norms and biases stay F32. Types with blocks of 256 get
    dimensions that fit unless others are given.
    """
    kinds = _Kinds(quantization)
    shape = _filled(architecture, replace(_USUAL[architecture], **overrides), kinds)  # type: ignore[arg-type]
    data, tensors = bytearray(), []
    for name, ne in _tensors(architecture, shape).items():
        values = _values(name, ne, shape, seed, architecture)
        special = [kind for part, kind in shape.types.items() if part in name]
        kind = (special or [quantization])[0] if len(ne) == 2 else "F32"
        number, raw = kinds.encoded(values, kind)
        tensors.append(Tensor(name, ne, number, len(raw)))
        data += raw + bytes(-len(raw) % _ALIGNMENT)
    metadata = _metadata(architecture, shape, n_ctx) | byte_vocabulary(chat_template)
    metadata |= tokenizer or {}
    metadata["general.file_type"] = kinds.file_type
    header = gguf_bytes(metadata, tensors, with_data=False)
    path.write_bytes(header + bytes(-len(header) % _ALIGNMENT) + data)
    return path


def _filled(architecture: str, shape: Shape, kinds: "_Kinds") -> Shape:
    wide = kinds.block > 32
    embd = shape.embd or (256 if wide else 64)
    usual_head = embd // shape.heads * (2 if architecture in ("qwen3", "gemma3") else 1)
    return replace(shape, embd=embd, ff=shape.ff or 2 * embd, head_dim=shape.head_dim or usual_head)


def _metadata(architecture: str, shape: Shape, n_ctx: int) -> dict[str, object]:
    metadata: dict[str, object] = {
        "block_count": shape.layers,
        "context_length": n_ctx,
        "embedding_length": shape.embd,
        "feed_forward_length": shape.ff,
        "attention.head_count": shape.heads,
        "attention.head_count_kv": shape.heads_kv,
        "attention.layer_norm_rms_epsilon": shape.eps,
        "rope.freq_base": shape.freq_base,
        "vocab_size": NUM_TOKENS,
    }
    if architecture == "llama":
        metadata["rope.dimension_count"] = shape.head_dim
    if shape.head_dim * shape.heads != shape.embd:  # both: neither is the other's default
        metadata |= {"attention.key_length": shape.head_dim}
        metadata |= {"attention.value_length": shape.head_dim}
    if shape.window:
        metadata["attention.sliding_window"] = shape.window
    match shape.window_pattern:
        case int() as every:
            metadata["attention.sliding_window_pattern"] = every
        case Sequence() as local:
            metadata["attention.sliding_window_pattern"] = TypedArray(BOOL, local)
    kept = {k: v for k, v in (metadata | dict(shape.metadata)).items() if v is not None}
    return {
        "general.architecture": architecture,
        "general.type": "model",
        "general.name": f"Random {architecture}",
        "general.file_type": 0,
        "general.quantization_version": 2,
    } | {f"{architecture}.{key}": value for key, value in kept.items()}


def _tensors(architecture: str, shape: Shape) -> dict[str, tuple[int, ...]]:
    """Name and dimensions, inputs first, of every tensor."""
    d = shape.embd
    tensors: dict[str, tuple[int, ...]] = {"token_embd.weight": (d, NUM_TOKENS)}
    if shape.rope_freqs:
        tensors["rope_freqs.weight"] = (shape.head_dim // 2,)
    for i in range(shape.layers):
        block = _block(architecture, shape)
        tensors |= {f"blk.{i}.{name}": dims for name, dims in block.items()}
    tensors["output_norm.weight"] = (d,)
    if not shape.tied:
        tensors["output.weight"] = (d, NUM_TOKENS)
    if shape.output_bias:
        tensors["output.bias"] = (NUM_TOKENS,)
    return tensors


def _block(architecture: str, shape: Shape) -> dict[str, tuple[int, ...]]:
    d, ff, hd = shape.embd, shape.ff, shape.head_dim
    q, kv = hd * shape.heads, hd * shape.heads_kv
    block: dict[str, tuple[int, ...]] = {"attn_norm.weight": (d,)}
    for name, rows in (("attn_q", q), ("attn_k", kv), ("attn_v", kv)):
        block[f"{name}.weight"] = (d, rows)
        if shape.biases:
            block[f"{name}.bias"] = (rows,)
    if architecture in ("qwen3", "gemma3"):
        block |= {"attn_q_norm.weight": (hd,), "attn_k_norm.weight": (hd,)}
    block["attn_output.weight"] = (q, d)
    if shape.biases and architecture == "llama":
        block["attn_output.bias"] = (d,)
    if architecture == "gemma3":
        block |= {"post_attention_norm.weight": (d,), "post_ffw_norm.weight": (d,)}
    block["ffn_norm.weight"] = (d,)
    for name, dims in (("ffn_gate", (d, ff)), ("ffn_up", (d, ff)), ("ffn_down", (ff, d))):
        block[f"{name}.weight"] = dims
        if shape.ffn_biases:
            block[f"{name}.bias"] = dims[1:]
    return block


def _values(
    name: str, ne: tuple[int, ...], shape: Shape, seed: int, architecture: str
) -> np.ndarray:
    """Float32 values, rows of `ne[0]`: heavy tails in matrices, a few loud channels in norms."""
    random = np.random.default_rng([seed, zlib.crc32(name.encode())])
    normal = random.standard_normal(prod(ne), np.float32).reshape(ne[::-1])
    if name == "rope_freqs.weight":
        return np.linspace(1, 8, ne[0], dtype=np.float32)
    if name == "token_embd.weight":
        if architecture == "gemma3":  # is multiplied by the root of d
            return normal * np.float32(0.5 / sqrt(ne[0]))
        return normal * np.float32(3 / sqrt(ne[0]) if shape.tied else 1)
    if name.endswith(".bias"):
        return normal * np.float32(0.5)
    if len(ne) == 1:
        if not shape.qk_norm and name.endswith(("_q_norm.weight", "_k_norm.weight")):
            return np.ones(ne, np.float32)
        loud = np.where(random.random(ne[0]) < 0.02, 3, 1).astype(np.float32)
        quiet = architecture == "gemma3" and shape.tied and name == "output_norm.weight"
        return (1 + np.float32(0.3) * normal) * loud * np.float32(6 if quiet else 1)
    gain = 3 if name == "output.weight" else 1
    tails = random.standard_t(5, ne[::-1]).astype(np.float32)
    return tails * np.float32(gain / sqrt(ne[0]))


class _Kinds:
    """Encodes float32 rows with the quantiser that llama.cpp ships."""

    def __init__(self, quantization: str) -> None:
        import llama_cpp

        self._lib = llama_cpp
        base = min(Path(llama_cpp.__file__).parent.glob("lib/*ggml-base*"))
        self._ggml = ctypes.CDLL(str(base))
        self._ggml.ggml_blck_size.restype = ctypes.c_int64
        self._ggml.ggml_row_size.restype = ctypes.c_size_t
        self._ggml.ggml_row_size.argtypes = [ctypes.c_int, ctypes.c_int64]
        self._ggml.ggml_quantize_requires_imatrix.restype = ctypes.c_bool
        self._ggml.ggml_quantize_chunk.restype = ctypes.c_size_t
        pointer, count = ctypes.c_void_p, ctypes.c_int64
        self._ggml.ggml_quantize_chunk.argtypes = [
            *(ctypes.c_int, pointer, pointer, count, count, count, pointer)
        ]
        self.block = int(self._ggml.ggml_blck_size(self._number(quantization)))
        names = (f"MOSTLY_{quantization}", f"MOSTLY_{quantization}_M", "ALL_F32")
        found = [getattr(llama_cpp, f"LLAMA_FTYPE_{name}", None) for name in names]
        self.file_type = next(int(number) for number in found if number is not None)

    def _number(self, kind: str) -> int:
        if kind in _NOT_IN_THE_BINDING:
            return _NOT_IN_THE_BINDING[kind]
        return int(getattr(self._lib, f"GGML_TYPE_{kind}"))

    def encoded(self, values: np.ndarray, kind: str) -> tuple[int, bytes]:
        """The ggml type and the bytes of `values` in it."""
        assert values.dtype == np.float32, "numpy promotes quietly"
        number, columns = self._number(kind), values.shape[-1]
        if kind == "F32":
            return number, values.tobytes()
        if columns % self._ggml.ggml_blck_size(number):
            raise ValueError(f"rows of {columns} do not fit the blocks of {kind}")
        rows = np.ascontiguousarray(values.reshape(-1, columns))
        out = np.zeros(len(rows) * self._ggml.ggml_row_size(number, columns), np.uint8)
        needs = self._ggml.ggml_quantize_requires_imatrix(number)
        weight = np.ones(columns, np.float32) if needs else None
        written = self._ggml.ggml_quantize_chunk(
            *(number, rows.ctypes.data, out.ctypes.data, 0, len(rows), columns),
            None if weight is None else weight.ctypes.data,
        )
        assert written == out.nbytes
        return number, out.tobytes()
