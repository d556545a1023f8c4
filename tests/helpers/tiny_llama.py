"""Writes a llama of about 1 MB with random F32 weights that llama.cpp really loads and runs.

Its text is noise, its arithmetic is not: F32 weights make batch shapes agree to about 1e-4,
so a wrong position or a lost cell shows.
"""

from pathlib import Path

import numpy as np

from tests.helpers.tiny_gguf import I32, STRING, Tensor, TypedArray, gguf_bytes

_LAYERS, _EMBD, _HEADS, _HEADS_KV, _FF = 2, 64, 4, 2, 128
_ALIGNMENT = 32
CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def _byte_tokens() -> list[str]:
    """GPT-2's printable stand-ins for the 256 bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte) if byte in plain else chr(next(others)) for byte in range(256)]


def byte_vocabulary(chat_template: str | None = CHATML) -> dict[str, object]:
    """The `tokenizer.*` metadata of 256 bytes, ChatML's control tokens and two merges."""
    tokens = [*_byte_tokens(), *CONTROL]
    metadata: dict[str, object] = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": TypedArray(STRING, tokens),
        "tokenizer.ggml.token_type": TypedArray(I32, [1] * 256 + [3] * len(CONTROL)),
        "tokenizer.ggml.merges": TypedArray(STRING, ["Ġ t", "h e"]),
        "tokenizer.ggml.bos_token_id": 257,
        "tokenizer.ggml.eos_token_id": 258,
    }
    if chat_template is not None:
        metadata["tokenizer.chat_template"] = chat_template
    return metadata


def write_tiny_llama(
    path: Path,
    *,
    chat_template: str | None = CHATML,
    architecture: str = "llama",
    n_ctx: int = 512,
) -> Path:
    """Write the model; the same bytes every time."""
    num_tokens = 256 + len(CONTROL)
    a = architecture
    metadata: dict[str, object] = {
        "general.architecture": a,
        "general.name": "Tiny random llama",
        "general.file_type": 0,
        f"{a}.block_count": _LAYERS,
        f"{a}.context_length": n_ctx,
        f"{a}.embedding_length": _EMBD,
        f"{a}.feed_forward_length": _FF,
        f"{a}.attention.head_count": _HEADS,
        f"{a}.attention.head_count_kv": _HEADS_KV,
        f"{a}.attention.layer_norm_rms_epsilon": 1e-5,
        f"{a}.rope.dimension_count": _EMBD // _HEADS,
        f"{a}.vocab_size": num_tokens,
        **byte_vocabulary(chat_template),
    }
    kv = _EMBD // _HEADS * _HEADS_KV
    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (_EMBD, num_tokens)}
    for i in range(_LAYERS):
        shapes |= {
            f"blk.{i}.attn_norm.weight": (_EMBD,),
            f"blk.{i}.attn_q.weight": (_EMBD, _EMBD),
            f"blk.{i}.attn_k.weight": (_EMBD, kv),
            f"blk.{i}.attn_v.weight": (_EMBD, kv),
            f"blk.{i}.attn_output.weight": (_EMBD, _EMBD),
            f"blk.{i}.ffn_norm.weight": (_EMBD,),
            f"blk.{i}.ffn_gate.weight": (_EMBD, _FF),
            f"blk.{i}.ffn_up.weight": (_EMBD, _FF),
            f"blk.{i}.ffn_down.weight": (_FF, _EMBD),
        }
    shapes["output_norm.weight"] = (_EMBD,)
    random = np.random.default_rng(7)
    data, tensors = b"", []
    for name, shape in shapes.items():
        values = random.standard_normal(int(np.prod(shape)), np.float32)
        values = values * 0.3 if len(shape) == 2 else values * 0.1 + 1
        raw = values.astype(np.float32).tobytes()
        tensors.append(Tensor(name, shape, num_bytes=len(raw)))
        data += raw + bytes(-len(raw) % _ALIGNMENT)
    header = gguf_bytes(metadata, tensors, with_data=False)
    path.write_bytes(header + bytes(-len(header) % _ALIGNMENT) + data)
    return path
