"""Which tensors a decoder must and may have, by name and shape; a file with any other is not for us.

Zone: any; pure. Names: `llama-arch.cpp` of llama.cpp. Neighbour: `decoder_reader`.
"""

from collections.abc import Iterable
from typing import Final

from engine.formats.decoder_spec import DecoderSpec
from engine.formats.gguf_header import TensorInfo
from engine.formats.gguf_types import TENSOR_TYPES

Shape = tuple[int, ...]

_NOT_WEIGHTS: Final = frozenset({"Q8_1", "Q8_K", "I8", "I16", "I32", "I64", "F64"})
_WEIGHT_TYPES: Final = frozenset(t.name for t in TENSOR_TYPES.values()) - _NOT_WEIGHTS
_NORMED_HEADS: Final = frozenset({"qwen3", "gemma3"})
_NORMED_OUTPUTS: Final = frozenset({"gemma3"})


def required_tensors(spec: DecoderSpec) -> dict[str, Shape]:
    """Name → shape, fastest dimension first, of what the network cannot do without."""
    shapes: dict[str, Shape] = {
        "token_embd.weight": (spec.n_embd, spec.n_vocab),
        "output_norm.weight": (spec.n_embd,),
    }
    for i in range(spec.n_layer):
        for name, shape in _layer(spec).items():
            shapes[f"blk.{i}.{name}"] = shape
    return shapes


def optional_tensors(spec: DecoderSpec) -> dict[str, Shape]:
    """Name → shape of what changes the network where it is there."""
    shapes: dict[str, Shape] = {"output.weight": (spec.n_embd, spec.n_vocab)}
    if spec.architecture == "llama":
        shapes["rope_freqs.weight"] = (spec.head_dim // 2,)
    if spec.architecture == "qwen2":
        shapes["output.bias"] = (spec.n_vocab,)
    for i in range(spec.n_layer):
        for name, shape in _biases(spec).items():
            shapes[f"blk.{i}.{name}"] = shape
    return shapes


def tensor_problem(spec: DecoderSpec, tensors: Iterable[TensorInfo]) -> str | None:
    """What is missing, unknown or of another shape, as half a sentence; None: all is there."""
    missing = required_tensors(spec)
    possible = missing | optional_tensors(spec)
    for tensor in tensors:
        if (shape := possible.get(tensor.name)) is None:
            return f"it has the tensor {tensor.name}, which our decoder does not know"
        if tensor.shape != shape:
            return f"its tensor {tensor.name} has another shape than expected"
        if tensor.type not in _WEIGHT_TYPES:
            return f"its tensor {tensor.name} is of {tensor.type}"
        missing.pop(tensor.name, None)
    if missing:
        return f"it lacks the tensor {next(iter(missing))}"
    return None


def _layer(spec: DecoderSpec) -> dict[str, Shape]:
    d, q, kv = spec.n_embd, spec.n_head * spec.head_dim, spec.n_head_kv * spec.head_dim
    shapes: dict[str, Shape] = {
        "attn_norm.weight": (d,),
        "attn_q.weight": (d, q),
        "attn_k.weight": (d, kv),
        "attn_v.weight": (d, kv),
        "attn_output.weight": (q, d),
        "ffn_norm.weight": (d,),
        "ffn_gate.weight": (d, spec.n_ff),
        "ffn_up.weight": (d, spec.n_ff),
        "ffn_down.weight": (spec.n_ff, d),
    }
    if spec.architecture in _NORMED_HEADS:
        shapes |= {
            "attn_q_norm.weight": (spec.head_dim,),
            "attn_k_norm.weight": (spec.head_dim,),
        }
    if spec.architecture in _NORMED_OUTPUTS:
        shapes |= {"post_attention_norm.weight": (d,), "post_ffw_norm.weight": (d,)}
    return shapes


def _biases(spec: DecoderSpec) -> dict[str, Shape]:
    q, kv = spec.n_head * spec.head_dim, spec.n_head_kv * spec.head_dim
    shapes: dict[str, Shape] = {"attn_q.bias": (q,), "attn_k.bias": (kv,), "attn_v.bias": (kv,)}
    if spec.architecture == "llama":
        shapes |= {
            "attn_output.bias": (spec.n_embd,),
            "ffn_gate.bias": (spec.n_ff,),
            "ffn_up.bias": (spec.n_ff,),
            "ffn_down.bias": (spec.n_embd,),
        }
    return shapes
