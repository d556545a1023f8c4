"""Which network a GGUF file holds, as far as our own decoder computes it: a `DecoderSpec`, or why not.

Zone: any; pure. Strict: an entry or a tensor that nobody here claims sends the file to llama.cpp, because what is
ignored may change the mathematics. Source: `llama-arch.cpp` and `llama-model.cpp` of llama.cpp.
Users: `engine.hardware` (which backend), `engine.backends.torch_cuda` (the network).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from engine.formats.decoder_spec import DecoderSpec, Rope, RopeLayout
from engine.formats.decoder_tensors import tensor_problem
from engine.formats.filenames import printable
from engine.formats.gguf_header import GgufHeader, Omitted, Value


@dataclass(frozen=True, slots=True)
class _Family:
    """What the name of an architecture implies."""

    rope_layout: RopeLayout
    activation: Literal["silu", "gelu"] = "silu"
    scales_embedding: bool = False
    local_every: int = 0
    """All but each n-th layer have a window, where the file says no other; 0: no layer has."""
    keys: frozenset[str] = frozenset()
    """Entries of its own that are understood here."""


_FAMILIES: Final[dict[str, _Family]] = {
    "llama": _Family("pairs"),
    "qwen2": _Family("halves"),
    "qwen3": _Family("halves"),
    "gemma3": _Family(
        "halves",
        activation="gelu",
        scales_embedding=True,
        local_every=6,
        keys=frozenset(
            {
                "attention.sliding_window",
                "attention.sliding_window_pattern",
                "rope.freq_base_swa",
            }
        ),
    ),
}
_GEMMA3_27B_LAYERS: Final = 62
"""llama.cpp knows this size by its layers; its attention is scaled by width over heads."""
_MOST_LAYERS: Final = 512
"""llama.cpp's own limit."""
_LONGEST_REASON: Final = 200
_KEYS: Final = frozenset(
    {
        "block_count",
        "context_length",
        "embedding_length",
        "feed_forward_length",
        "vocab_size",
        "attention.head_count",
        "attention.head_count_kv",
        "attention.key_length",
        "attention.value_length",
        "attention.layer_norm_rms_epsilon",
        "rope.dimension_count",
        "rope.freq_base",
        "rope.scaling.type",
        "rope.scaling.factor",
        "rope.scaling.original_context_length",
        "rope.scaling.finetuned",
    }
)
"""Entries that are read here, or that change nothing."""


class _UnclaimedError(Exception):
    """Why this file is not for us, as half a sentence."""


def read_decoder(header: GgufHeader) -> DecoderSpec | str:
    """Read the network out of a whole, unsplit file, or say in half a sentence what is in the way."""
    try:
        spec = _spec(header)
    except _UnclaimedError as reason:
        return _safe(str(reason))
    problem = tensor_problem(spec, header.tensors)
    return _safe(problem) if problem else spec


def _safe(reason: str) -> str:
    """It may quote the file."""
    return printable(reason[:_LONGEST_REASON])


def _spec(header: GgufHeader) -> DecoderSpec:
    architecture = header.architecture or "unknown"
    family = _FAMILIES.get(architecture)
    if family is None:
        raise _UnclaimedError(f"its architecture {architecture} is not one of ours")
    if header.split_count > 1:
        raise _UnclaimedError("it is split into several files")
    entries = _Entries(architecture, header.metadata)
    entries.check(_KEYS | family.keys)
    n_embd, n_head = entries.count("embedding_length"), entries.count("attention.head_count")
    n_layer = entries.count("block_count")
    if n_layer > _MOST_LAYERS:  # listing their tensors' names would fill the memory
        raise _UnclaimedError("it claims more layers than a model can have")
    if n_head > n_embd:
        raise _UnclaimedError("it has more heads than they have numbers")
    head_dim = entries.count("attention.key_length", n_embd // n_head)
    # llama.cpp's default for the values' size is the width over the heads, not the keys' size
    if entries.count("attention.value_length", n_embd // n_head) != head_dim:
        raise _UnclaimedError("its keys and values have different sizes")
    if entries.count("rope.dimension_count", head_dim) != head_dim:
        raise _UnclaimedError("only a part of each head is turned by its position")
    n_head_kv = entries.count("attention.head_count_kv", n_head)
    if head_dim % 2 or n_head % n_head_kv:
        raise _UnclaimedError("its heads cannot be grouped")
    rope = Rope(entries.real("rope.freq_base", 10_000.0), entries.rope_scale())
    window = entries.count("attention.sliding_window", 0) if family.local_every else 0
    is_local = entries.local_layers(n_layer, family.local_every) if window else (False,) * n_layer
    scale_by = n_embd // n_head if _is_gemma3_27b(header, n_layer) else head_dim
    return DecoderSpec(
        architecture=architecture,
        n_layer=n_layer,
        n_embd=n_embd,
        n_ff=entries.count("feed_forward_length"),
        n_head=n_head,
        n_head_kv=n_head_kv,
        head_dim=head_dim,
        n_vocab=_vocabulary(header),
        n_ctx_train=entries.count("context_length"),
        rms_eps=entries.real("attention.layer_norm_rms_epsilon"),
        rope_layout=family.rope_layout,
        rope=rope,
        local_rope=Rope(entries.real("rope.freq_base_swa", 10_000.0)) if window else rope,
        window=window,
        is_local=is_local,
        activation=family.activation,
        embedding_scale=n_embd**0.5 if family.scales_embedding else 1.0,
        attention_scale=scale_by**-0.5,
    )


def _is_gemma3_27b(header: GgufHeader, n_layer: int) -> bool:
    return header.architecture == "gemma3" and n_layer == _GEMMA3_27B_LAYERS


def _vocabulary(header: GgufHeader) -> int:
    """Rows of the embedding. Not more than there are tokens: what is sampled must have a text."""
    shapes = [t.shape for t in header.tensors if t.name == "token_embd.weight"]
    if not shapes or len(shapes[0]) != 2:
        raise _UnclaimedError("it has no embedding")
    if header.vocab_size not in (None, shapes[0][1]):
        raise _UnclaimedError("its embedding does not fit its vocabulary")
    return shapes[0][1]


class _Entries:
    """The architecture's own metadata entries."""

    def __init__(self, architecture: str, metadata: Mapping[str, Value]) -> None:
        self._prefix = architecture + "."
        self._metadata = metadata

    def check(self, known: frozenset[str]) -> None:
        """Refuse what is not understood."""
        for key in self._metadata:
            name = key.removeprefix(self._prefix)
            if name != key and name not in known:
                raise _UnclaimedError(f"it has the entry {key}, which our decoder does not know")

    def count(self, key: str, default: int | None = None) -> int:
        """A whole number above 0."""
        value = self._get(key, default)
        if type(value) is not int or not (0 < value < 1 << 24 or value == default):
            raise _UnclaimedError(f"its entry {self._prefix}{key} is not one plain number")
        return value

    def real(self, key: str, default: float | None = None) -> float:
        """A number above 0."""
        value = self._get(key, default)
        if type(value) not in (int, float) or not 1e-30 < float(str(value)) < 1e30:
            raise _UnclaimedError(f"its entry {self._prefix}{key} is not a possible number")
        return float(str(value))

    def local_layers(self, n_layer: int, every: int) -> tuple[bool, ...]:
        """Which layers have a window: given for each layer, or all but each n-th."""
        value = self._get("attention.sliding_window_pattern", every)
        if isinstance(value, tuple):
            whole = {type(v) for v in value} <= {int, bool}
            if len(value) != n_layer or not any(value) or not whole:
                raise _UnclaimedError("its windows do not fit its layers")
            return tuple(bool(v) for v in value)
        if type(value) is not int or value < 2:
            raise _UnclaimedError("its windows are given in a way that our decoder does not know")
        return tuple((i + 1) % value != 0 for i in range(n_layer))

    def rope_scale(self) -> float:
        """What positions are multiplied by."""
        kind = self._get("rope.scaling.type", "linear")
        if kind == "none":
            return 1.0
        if kind != "linear":
            raise _UnclaimedError(f"its positions are scaled by {kind}")
        return 1.0 / self.real("rope.scaling.factor", 1.0)

    def _get(self, key: str, default: Value | None) -> Value | None:
        value = self._metadata.get(self._prefix + key, default)
        return None if isinstance(value, Omitted) else value
