"""Small random models whose memory is no plain KV cache: recurrent (mamba) and hybrid (lfm2: short convolutions and attention).

What llama.cpp reads is in its `src/models/mamba.cpp` and `lfm2.cpp`. Sliding windows: `synthetic_model` with gemma3.
"""

import zlib
from math import prod, sqrt
from pathlib import Path

import numpy as np

from tests.helpers.tiny_gguf import I32, Tensor, TypedArray, gguf_bytes
from tests.helpers.tiny_llama import CHATML, CONTROL, byte_vocabulary

_TOKENS = 256 + len(CONTROL)
_EMBD, _FF, _LAYERS = 64, 128, 4
_ALIGNMENT = 32
_INNER, _STATE, _CONV, _RANK = 128, 8, 4, 4
_HEADS, _HEADS_KV, _HEAD = 4, 2, 16
_ATTENTION_LAYERS = (1, 3)


def write_recurrent(path: Path) -> Path:
    """Mamba: one state for each sequence, whatever its length."""
    tensors: dict[str, tuple[int, ...]] = {}
    for i in range(_LAYERS):
        block = {
            "attn_norm.weight": (_EMBD,),
            "ssm_in.weight": (_EMBD, 2 * _INNER),
            "ssm_conv1d.weight": (_CONV, _INNER),
            "ssm_conv1d.bias": (_INNER,),
            "ssm_x.weight": (_INNER, _RANK + 2 * _STATE),
            "ssm_dt.weight": (_RANK, _INNER),
            "ssm_dt.bias": (_INNER,),
            "ssm_a": (_STATE, _INNER),
            "ssm_d": (_INNER,),
            "ssm_out.weight": (_INNER, _EMBD),
        }
        tensors |= {f"blk.{i}.{name}": dims for name, dims in block.items()}
    metadata = {
        "ssm.conv_kernel": _CONV,
        "ssm.inner_size": _INNER,
        "ssm.state_size": _STATE,
        "ssm.time_step_rank": _RANK,
        "feed_forward_length": 0,
        "attention.head_count": 0,
    }
    return _write(path, "mamba", metadata, tensors, "output_norm.weight")


def write_hybrid(path: Path) -> Path:
    """LFM2: two layers of attention among layers that remember a few tokens."""
    tensors: dict[str, tuple[int, ...]] = {}
    kv = _HEAD * _HEADS_KV
    for i in range(_LAYERS):
        block = {
            "attn_norm.weight": (_EMBD,),
            "ffn_norm.weight": (_EMBD,),
            "ffn_gate.weight": (_EMBD, _FF),
            "ffn_up.weight": (_EMBD, _FF),
            "ffn_down.weight": (_FF, _EMBD),
        }
        if i in _ATTENTION_LAYERS:
            block |= {
                "attn_q_norm.weight": (_HEAD,),
                "attn_k_norm.weight": (_HEAD,),
                "attn_q.weight": (_EMBD, _EMBD),
                "attn_k.weight": (_EMBD, kv),
                "attn_v.weight": (_EMBD, kv),
                "attn_output.weight": (_EMBD, _EMBD),
            }
        else:
            block |= {
                "shortconv.conv.weight": (3, _EMBD),
                "shortconv.in_proj.weight": (_EMBD, 3 * _EMBD),
                "shortconv.out_proj.weight": (_EMBD, _EMBD),
            }
        tensors |= {f"blk.{i}.{name}": dims for name, dims in block.items()}
    heads = [_HEADS_KV if i in _ATTENTION_LAYERS else 0 for i in range(_LAYERS)]
    metadata = {
        "shortconv.l_cache": 3,
        "feed_forward_length": _FF,
        "attention.head_count": _HEADS,
        "attention.head_count_kv": TypedArray(I32, heads),
        "rope.freq_base": 10_000.0,
    }
    return _write(path, "lfm2", metadata, tensors, "token_embd_norm.weight")


def _write(
    path: Path,
    architecture: str,
    metadata: dict[str, object],
    blocks: dict[str, tuple[int, ...]],
    last_norm: str,
) -> Path:
    shapes = {"token_embd.weight": (_EMBD, _TOKENS), **blocks, last_norm: (_EMBD,)}
    data, tensors = bytearray(), []
    for name, ne in shapes.items():
        raw = _values(name, ne).tobytes()
        tensors.append(Tensor(name, ne, 0, len(raw)))
        data += raw + bytes(-len(raw) % _ALIGNMENT)
    common = {
        "block_count": _LAYERS,
        "context_length": 512,
        "embedding_length": _EMBD,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "vocab_size": _TOKENS,
    }
    head = {"general.architecture": architecture, "general.file_type": 0}
    head |= {f"{architecture}.{key}": value for key, value in (common | metadata).items()}
    header = gguf_bytes(head | byte_vocabulary(CHATML), tensors, with_data=False)
    path.write_bytes(header + bytes(-len(header) % _ALIGNMENT) + data)
    return path


def _values(name: str, ne: tuple[int, ...]) -> np.ndarray:
    random = np.random.default_rng([1, zlib.crc32(name.encode())])
    normal = random.standard_normal(prod(ne), np.float32).reshape(ne[::-1])
    if name.endswith("ssm_a"):
        return -np.exp(normal)  # states fade
    if len(ne) == 1:
        return np.float32(1) + np.float32(0.3) * normal
    return normal * np.float32(3 / sqrt(ne[0]))
