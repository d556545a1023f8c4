"""Headers of models as they are downloaded, made from their hyper-parameters: real widths, no weights.

What llama.cpp reads of each architecture is in its `src/models`. The vocabulary is only a number (`tokenizer.ggml.model` `none`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path

from engine.formats.gguf_types import TENSOR_TYPES
from engine.formats.ghost_file import GhostPart
from tests.helpers.tiny_gguf import I32, U16, Tensor, Typed, TypedArray, gguf_bytes

Shapes = dict[str, tuple[int, ...]]
_NUMBERS = {kind.name: number for number, kind in TENSOR_TYPES.items()}
_BLOCK = 32
_PLAIN = ("ssm_conv1d", "ssm_x", "ssm_dt", "ssm_a", "ssm_d", "ssm_norm", "ffn_gate_inp")
"""Never quantized."""


@dataclass(frozen=True)
class Model:
    """Hyper-parameters, and which tensors a layer has."""

    architecture: str
    layers: int
    embd: int
    vocab: int
    block: Callable[["Model", int], Shapes]
    heads: int = 0
    heads_kv: int = 0
    head: int = 0
    ff: int = 0
    experts: int = 0
    used: int = 0
    expert_ff: int = 0
    tied: bool = True
    quantization: str = "Q4_0"
    last_norm: str = "output_norm.weight"
    metadata: Mapping[str, object] = field(default_factory=dict)

    def part(self) -> GhostPart:
        """Its only file."""
        header, size = self._file(self.tensors(), self.entries())
        return GhostPart(header, size)

    def parts(self, count: int) -> list[GhostPart]:
        """Its files, split as llama-gguf-split does it."""
        tensors = list(self.tensors().items())
        made = []
        for number in range(count):
            entries: dict[str, object] = {"split.no": Typed(U16, number)}
            entries |= {"split.count": Typed(U16, count)}
            entries |= {"split.tensors.count": Typed(I32, len(tensors))}
            entries |= self.entries() if number == 0 else {}
            some = dict(
                tensors[number * len(tensors) // count : (number + 1) * len(tensors) // count]
            )
            made.append(GhostPart(*self._file(some, entries)))
        return made

    def write(self, path: Path) -> Path:
        """A file that llama.cpp really loads: all its weights are zeros, in a hole."""
        part = self.part()
        with path.open("xb") as file:
            file.write(part.header)
            file.truncate(part.file_bytes)
        return path

    def tensors(self) -> Shapes:
        """Name → dimensions, inputs first."""
        tensors: Shapes = {"token_embd.weight": (self.embd, self.vocab)}
        for i in range(self.layers):
            for name, shape in self.block(self, i).items():
                tensors[f"blk.{i}.{name}"] = shape
        tensors[self.last_norm] = (self.embd,)
        if not self.tied:
            tensors["output.weight"] = (self.embd, self.vocab)
        return tensors

    def entries(self) -> dict[str, object]:
        """The metadata."""
        values: dict[str, object] = {
            "block_count": self.layers,
            "context_length": 131072,
            "embedding_length": self.embd,
            "feed_forward_length": self.ff,
            "attention.head_count": self.heads,
            "attention.head_count_kv": self.heads_kv,
            "attention.layer_norm_rms_epsilon": 1e-6,
            "vocab_size": self.vocab,
        }
        if self.head:
            values |= {"attention.key_length": self.head, "attention.value_length": self.head}
        if self.experts:
            values |= {"expert_count": self.experts, "expert_used_count": self.used}
            values |= {"expert_feed_forward_length": self.expert_ff}
        values |= self.metadata
        named = {f"{self.architecture}.{key}": value for key, value in values.items()}
        return {
            "general.architecture": self.architecture,
            "general.type": "model",
            "general.file_type": 2,
            "tokenizer.ggml.model": "none",
        } | named

    def _file(self, shapes: Shapes, entries: Mapping[str, object]) -> tuple[bytes, int]:
        tensors, size = [], 0
        for name, shape in shapes.items():
            kind = TENSOR_TYPES[_NUMBERS[self._kind(name, shape)]]
            num_bytes = prod(shape) // kind.block * kind.block_bytes
            tensors.append(Tensor(name, shape, _NUMBERS[kind.name], num_bytes))
            size += -(-num_bytes // _BLOCK) * _BLOCK
        header = gguf_bytes(entries, tensors, with_data=False)
        header += bytes(-len(header) % _BLOCK)
        return header, len(header) + size

    def _kind(self, name: str, shape: tuple[int, ...]) -> str:
        small = name.endswith(".bias") or any(part in name for part in _PLAIN)
        plain = small or len(shape) == 1 or shape[0] % _BLOCK
        return "F32" if plain else self.quantization


def attention(m: Model, *, head: int = 0, biases: bool = False, norms: bool = False) -> Shapes:
    """Of q, k, v and the output."""
    head = head or m.head or m.embd // m.heads
    q, kv = head * m.heads, head * m.heads_kv
    shapes: Shapes = {"attn_norm.weight": (m.embd,)}
    for name, rows in (("attn_q", q), ("attn_k", kv), ("attn_v", kv)):
        shapes[f"{name}.weight"] = (m.embd, rows)
        if biases:
            shapes[f"{name}.bias"] = (rows,)
    shapes["attn_output.weight"] = (q, m.embd)
    if norms:
        shapes |= {"attn_q_norm.weight": (head,), "attn_k_norm.weight": (head,)}
    return shapes


def feed_forward(m: Model) -> Shapes:
    """Gate, up and down."""
    return {
        "ffn_norm.weight": (m.embd,),
        "ffn_gate.weight": (m.embd, m.ff),
        "ffn_up.weight": (m.embd, m.ff),
        "ffn_down.weight": (m.ff, m.embd),
    }


def experts(m: Model) -> Shapes:
    """Router and experts."""
    return {
        "ffn_gate_inp.weight": (m.embd, m.experts),
        "ffn_gate_exps.weight": (m.embd, m.expert_ff, m.experts),
        "ffn_up_exps.weight": (m.embd, m.expert_ff, m.experts),
        "ffn_down_exps.weight": (m.expert_ff, m.embd, m.experts),
    }


def _llama(m: Model, _: int) -> Shapes:
    return attention(m) | feed_forward(m)


def _qwen2(m: Model, _: int) -> Shapes:
    return attention(m, biases=True) | feed_forward(m)


def _qwen3(m: Model, _: int) -> Shapes:
    return attention(m, norms=True) | feed_forward(m)


def _qwen3moe(m: Model, _: int) -> Shapes:
    return attention(m, norms=True) | {"ffn_norm.weight": (m.embd,)} | experts(m)


def _gemma2(m: Model, _: int) -> Shapes:
    norms = {"post_attention_norm.weight": (m.embd,), "post_ffw_norm.weight": (m.embd,)}
    return attention(m) | feed_forward(m) | norms


def _gemma3(m: Model, i: int) -> Shapes:
    return _gemma2(m, i) | attention(m, norms=True)


def _phi3(m: Model, _: int) -> Shapes:
    kv = m.embd // m.heads * m.heads_kv
    return {
        "attn_norm.weight": (m.embd,),
        "attn_qkv.weight": (m.embd, m.embd + 2 * kv),
        "attn_output.weight": (m.embd, m.embd),
        "ffn_norm.weight": (m.embd,),
        "ffn_up.weight": (m.embd, 2 * m.ff),
        "ffn_down.weight": (m.ff, m.embd),
    }


def _ssm(m: Model) -> tuple[int, int, int, int, int]:
    keys = ("inner_size", "state_size", "time_step_rank", "group_count", "conv_kernel")
    inner, state, rank, groups, kernel = (m.metadata.get(f"ssm.{key}", 0) for key in keys)
    return inner, state, rank, groups, kernel  # type: ignore[return-value]


def _mamba(m: Model, _: int) -> Shapes:
    inner, state, rank, _groups, kernel = _ssm(m)
    return {
        "attn_norm.weight": (m.embd,),
        "ssm_in.weight": (m.embd, 2 * inner),
        "ssm_conv1d.weight": (kernel, inner),
        "ssm_conv1d.bias": (inner,),
        "ssm_x.weight": (inner, rank + 2 * state),
        "ssm_dt.weight": (rank, inner),
        "ssm_dt.bias": (inner,),
        "ssm_a": (state, inner),
        "ssm_d": (inner,),
        "ssm_out.weight": (inner, m.embd),
    }


def _mamba2(m: Model, _: int) -> Shapes:
    inner, state, rank, groups, kernel = _ssm(m)
    width = inner + 2 * groups * state
    return {
        "attn_norm.weight": (m.embd,),
        "ssm_in.weight": (m.embd, inner + width + rank),
        "ssm_conv1d.weight": (kernel, width),
        "ssm_conv1d.bias": (width,),
        "ssm_dt.bias": (rank,),
        "ssm_a": (1, rank),
        "ssm_d": (1, rank),
        "ssm_norm.weight": (inner // groups, groups),
        "ssm_out.weight": (inner, m.embd),
    }


def _falcon_h1(m: Model, i: int) -> Shapes:
    rest = feed_forward(m)
    rest["ffn_norm"] = rest.pop("ffn_norm.weight")  # llama.cpp looks for it without the suffix
    return _mamba2(m, i) | attention(m) | rest


def _lfm2(m: Model, i: int) -> Shapes:
    if i in _LFM2_ATTENTION:
        kv = m.embd // m.heads * _LFM2_KV
        shapes = attention(m, norms=True)
        return shapes | feed_forward(m) | {f"attn_{n}.weight": (m.embd, kv) for n in "kv"}
    conv = {
        "attn_norm.weight": (m.embd,),
        "shortconv.conv.weight": (3, m.embd),
        "shortconv.in_proj.weight": (m.embd, 3 * m.embd),
        "shortconv.out_proj.weight": (m.embd, m.embd),
    }
    return conv | feed_forward(m)


def _gpt_oss(m: Model, _: int) -> Shapes:
    biases: Shapes = {
        "attn_output.bias": (m.embd,),
        "ffn_gate_inp.bias": (m.experts,),
        "ffn_gate_exps.bias": (m.expert_ff, m.experts),
        "ffn_up_exps.bias": (m.expert_ff, m.experts),
        "ffn_down_exps.bias": (m.embd, m.experts),
    }
    more: Shapes = {"post_attention_norm.weight": (m.embd,), "attn_sinks.weight": (m.heads,)}
    return attention(m, biases=True) | more | experts(m) | biases


def _deepseek2(m: Model, i: int) -> Shapes:
    rank, rope, nope, value = 512, 64, 128, 128
    shapes: Shapes = {
        "attn_norm.weight": (m.embd,),
        "attn_kv_a_norm.weight": (rank,),
        "attn_q.weight": (m.embd, m.heads * (nope + rope)),
        "attn_kv_a_mqa.weight": (m.embd, rank + rope),
        "attn_k_b.weight": (nope, rank, m.heads),
        "attn_v_b.weight": (rank, value, m.heads),
        "attn_output.weight": (m.heads * value, m.embd),
    }
    if i == 0:
        return shapes | feed_forward(m)
    shared = 2 * m.expert_ff
    return (
        shapes
        | {"ffn_norm.weight": (m.embd,)}
        | experts(m)
        | {
            "ffn_gate_shexp.weight": (m.embd, shared),
            "ffn_up_shexp.weight": (m.embd, shared),
            "ffn_down_shexp.weight": (shared, m.embd),
        }
    )


_LFM2_ATTENTION = (2, 5, 8, 10, 12, 14)
_LFM2_KV = 8

MODELS = {
    "Llama 3.2 1B": Model("llama", 16, 2048, 128256, _llama, 32, 8, 64, 8192),
    "Mistral 7B": Model("llama", 32, 4096, 32000, _llama, 32, 8, 128, 14336, tied=False),
    "Qwen 2.5 0.5B": Model("qwen2", 24, 896, 151936, _qwen2, 14, 2, 0, 4864),
    "Qwen 3 4B": Model("qwen3", 36, 2560, 151936, _qwen3, 32, 8, 128, 9728),
    "Qwen 3 30B A3B": Model(
        *("qwen3moe", 48, 2048, 151936, _qwen3moe, 32, 4, 128, 6144, 128, 8, 768), tied=False
    ),
    "Gemma 2 2B": Model(
        *("gemma2", 26, 2304, 256000, _gemma2, 8, 4, 256, 9216),
        metadata={
            "attention.sliding_window": 4096,
            "attn_logit_softcapping": 50.0,
            "final_logit_softcapping": 30.0,
        },
    ),
    "Gemma 3 1B": Model(
        *("gemma3", 26, 1152, 262144, _gemma3, 4, 1, 256, 6912),
        metadata={"attention.sliding_window": 512},
    ),
    "Phi 3 mini": Model("phi3", 32, 3072, 32064, _phi3, 32, 32, 0, 8192, tied=False),
    "Mamba 2.8B": Model(
        *("mamba", 64, 2560, 50280, _mamba),
        metadata={
            "ssm.inner_size": 5120,
            "ssm.state_size": 16,
            "ssm.conv_kernel": 4,
            "ssm.time_step_rank": 160,
        },
    ),
    "Mamba 2 370M": Model(
        *("mamba2", 48, 1024, 50288, _mamba2),
        metadata={
            "ssm.inner_size": 2048,
            "ssm.state_size": 128,
            "ssm.conv_kernel": 4,
            "ssm.time_step_rank": 32,
            "ssm.group_count": 1,
        },
    ),
    "LFM2 350M": Model(
        *("lfm2", 16, 1024, 65536, _lfm2, 16, 0, 0, 4608),
        last_norm="token_embd_norm.weight",
        metadata={
            "attention.head_count_kv": TypedArray(
                I32, [_LFM2_KV if i in _LFM2_ATTENTION else 0 for i in range(16)]
            ),
            "shortconv.l_cache": 3,
        },
    ),
    "gpt-oss 20B": Model(
        *("gpt-oss", 24, 2880, 201088, _gpt_oss, 64, 8, 64, 2880, 32, 4, 2880),
        tied=False,
        quantization="MXFP4",
        metadata={"attention.sliding_window": 128, "rope.dimension_count": 64},
    ),
    "DeepSeek V2 Lite": Model(
        *("deepseek2", 27, 2048, 102400, _deepseek2, 16, 1, 0, 10944, 64, 6, 1408),
        tied=False,
        metadata={
            "attention.key_length": 576,
            "attention.value_length": 512,
            "attention.key_length_mla": 192,
            "attention.value_length_mla": 128,
            "attention.kv_lora_rank": 512,
            "rope.dimension_count": 64,
            "expert_shared_count": 2,
            "expert_weights_scale": 1.0,
            "leading_dense_block_count": 1,
        },
    ),
    "Falcon H1 0.5B": Model(
        *("falcon-h1", 36, 1024, 32784, _falcon_h1, 8, 2, 64, 2048),
        metadata={
            "ssm.inner_size": 1536,
            "ssm.state_size": 128,
            "ssm.conv_kernel": 4,
            "ssm.time_step_rank": 24,
            "ssm.group_count": 1,
        },
    ),
}
"""As published; all quantized as Q4_0 but gpt-oss."""
