"""How much memory a model keeps of what it has read: by token, by sliding window, by sequence.

Zone: any; pure. In doubt the larger figure. Source: llama.cpp, `llama-hparams.cpp` and the loaders in
`src/models`. Neighbours: `claims`, `facts`.
"""

from dataclasses import dataclass

from engine.hardware.claims import MAX_WIDTH, Claims

_F16, _F32 = 2, 4
_SWA_PERIODS = {
    "gemma2": 2,
    "gemma3": 6,
    "gemma3n": 5,
    "gpt-oss": 2,
    "cohere2": 4,
    "olmo2": 4,
    "exaone-moe": 4,
    "afmoe": 4,
    "plamo3": 8,
}
"""Every n-th layer sees everything, the others a window: llama.cpp's own figures, as files may lack them."""
_SWA_IGNORED = frozenset({"phi3", "llama", "qwen2", "qwen3"})
"""Files of these may name a window, but llama.cpp keeps everything."""
_LINEAR_PERIODS = {"qwen3next": 4, "qwen35": 4, "qwen35moe": 4}
"""Every n-th layer is attention, the others are recurrent."""
_RECURRENT = frozenset({"mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"})
_EITHER = frozenset({"nemotron_h", "nemotron_h_moe"})
"""A layer is attention, recurrent or feed-forward, not two of them."""
_GEMMA3N_KEEPING = 20
"""So many of gemma3n's first layers have a cache of their own, the others use theirs."""
_STATE_KEYS = ("ssm.state_size", "wkv.head_size", "shortconv.l_cache", "kda.head_dim")
_STATE_NOTE = "recurrent layers: their memory is estimated"


@dataclass(frozen=True, slots=True)
class KvLayout:
    """Bytes, with 16-bit values in the cache."""

    full: int = 0
    """A token takes in the layers that see the whole context."""
    windowed: int = 0
    """A token takes in the sliding-window layers."""
    window: int = 0
    """Tokens those layers see."""
    state: int = 0
    """A sequence takes in the recurrent layers, whatever its length."""
    notes: tuple[str, ...] = ()


def kv_layout(claims: Claims, n_layer: int, n_embd: int) -> KvLayout | None:
    """Work it out; None when the file does not say enough."""
    heads = claims.largest("attention.head_count")
    state = _state_bytes(claims, n_embd, heads or 0)
    # the last ones only guess ahead, in a context of their own
    n_layer = max(n_layer - (claims.number("nextn_predict_layers") or 0), min(n_layer, 1))
    if n_layer and claims.architecture in _RECURRENT:
        return KvLayout(state=n_layer * state)
    if not n_layer or heads is None:
        return None
    kv_heads = claims.per_layer("attention.head_count_kv", n_layer) or (heads,) * n_layer
    kv_heads, recurrent = _recurrent_layers(claims, kv_heads)
    kv_heads = _without_shared(claims, kv_heads)
    windowed = _windowed_layers(claims, n_layer)
    full_width, window_width = _widths(claims, max(1, n_embd // heads))
    guessed = recurrent and not any(claims.number(key) for key in _STATE_KEYS)
    notes = [_STATE_NOTE] if guessed else []
    if any(windowed):
        notes.append(f"{sum(windowed)} of {n_layer} layers keep a sliding window only")
    layers = list(zip(kv_heads, windowed, strict=True))
    return KvLayout(
        full=sum(h for h, is_windowed in layers if not is_windowed) * full_width * _F16,
        windowed=sum(h for h, is_windowed in layers if is_windowed) * window_width * _F16,
        window=(claims.number("attention.sliding_window") or 0) if any(windowed) else 0,
        state=recurrent * state,
        notes=tuple(notes),
    )


def _widths(claims: Claims, head: int) -> tuple[int, int]:
    """Numbers in K and V together, a head and token: in ordinary layers, in sliding-window layers."""
    key = claims.number("attention.key_length", MAX_WIDTH) or head
    value = claims.number("attention.value_length", MAX_WIDTH) or head
    if claims.number("attention.key_length_mla"):  # latent attention: V is a part of K
        value = 0
    key_window = claims.number("attention.key_length_swa", MAX_WIDTH) or key
    value_window = claims.number("attention.value_length_swa", MAX_WIDTH) or value
    return key + value, key_window + value_window


def _windowed_layers(claims: Claims, n_layer: int) -> tuple[bool, ...]:
    none = (False,) * n_layer
    if not claims.number("attention.sliding_window") or claims.architecture in _SWA_IGNORED:
        return none
    listed = claims.flags("attention.sliding_window_pattern", n_layer)
    if listed is not None:
        return listed
    if claims.architecture not in _SWA_PERIODS:
        return none
    stated = claims.number("attention.sliding_window_pattern")
    period = stated or _SWA_PERIODS[claims.architecture]
    return tuple(i % period < period - 1 for i in range(n_layer))


def _recurrent_layers(claims: Claims, kv_heads: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """(KV heads of each layer, number of recurrent layers)."""
    listed = claims.flags("attention.recurrent_layers", len(kv_heads))
    if listed is not None:
        kept = tuple(
            0 if is_recurrent else h for h, is_recurrent in zip(kv_heads, listed, strict=True)
        )
        return kept, sum(listed)
    if claims.architecture in _EITHER:
        widths = claims.per_layer("feed_forward_length", len(kv_heads)) or (0,) * len(kv_heads)
        return kv_heads, sum(not h and not width for h, width in zip(kv_heads, widths, strict=True))
    period = claims.number("full_attention_interval") or _LINEAR_PERIODS.get(claims.architecture)
    if period:
        kept = tuple(h if (i + 1) % period == 0 else 0 for i, h in enumerate(kv_heads))
        return kept, kept.count(0)
    without_kv = kv_heads.count(0)
    if any(claims.number(key) for key in _STATE_KEYS):
        return kv_heads, without_kv or len(kv_heads)
    # deci leaves attention out of some layers and puts nothing in its place
    return kv_heads, 0 if claims.architecture == "deci" else without_kv


def _without_shared(claims: Claims, kv_heads: tuple[int, ...]) -> tuple[int, ...]:
    """The last layers of some models use the cache of earlier ones."""
    shared = claims.number("attention.shared_kv_layers") or 0
    keeping = len(kv_heads) - shared
    if claims.architecture == "gemma3n":
        keeping = _GEMMA3N_KEEPING
    return tuple(h if i < keeping else 0 for i, h in enumerate(kv_heads))


def _state_bytes(claims: Claims, n_embd: int, heads: int) -> int:
    """State of one sequence in one recurrent layer; the newest column of a convolution is never kept."""
    kernel = claims.number("ssm.conv_kernel", 1024) or 4
    if head := claims.number("wkv.head_size", MAX_WIDTH):
        shifts = claims.number("token_shift_count", 16) or 2
        return n_embd * (head + shifts) * _F32
    if length := claims.number("shortconv.l_cache", 1024):
        return n_embd * (length - 1) * _F32
    if width := claims.number("kda.head_dim", MAX_WIDTH):
        return (3 * (kernel - 1) + width) * width * heads * _F32
    if inner := claims.number("ssm.inner_size"):
        state = claims.number("ssm.state_size", MAX_WIDTH) or 256
        groups = claims.number("ssm.group_count", MAX_WIDTH) or 0
        return ((kernel - 1) * (inner + 2 * groups * state) + state * inner) * _F32
    return n_embd * 256 * _F32
