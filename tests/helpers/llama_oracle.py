"""llama.cpp's own answers, for comparisons: logits, greedy tokens, quantised copies; numpy distances.

Exact by default: F32 keys and values, no flash attention, one thread. Everything is freed, nothing is logged.
"""

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import llama_cpp as lib
import numpy as np

_KV_TYPES = {"f32": lib.GGML_TYPE_F32, "f16": lib.GGML_TYPE_F16}
_said: list[str] = []


def _on_log(_level: int, text: bytes, _data: object) -> None:
    _said.append(text.decode("utf-8", "replace"))


_ON_LOG = lib.llama_log_callback(_on_log)  # the library keeps its pointer


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what llama.cpp says for error messages, then give the log back to whoever had it."""
    before, data = lib.llama_log_callback(), ctypes.c_void_p()
    lib.llama_log_get(ctypes.byref(before), ctypes.byref(data))
    _said.clear()
    lib.llama_log_set(_ON_LOG, ctypes.c_void_p(0))
    try:
        yield
    finally:
        lib.llama_log_set(before, data)


def _failure(what: str, path: Path) -> RuntimeError:
    return RuntimeError(f"{what} {path.name}:\n{''.join(_said[-40:])[-1500:]}")


class _Session:
    """One context with one sequence; decodes tokens behind those it has."""

    def __init__(self, context: int, num_vocab: int) -> None:
        self._context, self._num_vocab, self._end = context, num_vocab, 0

    def decode(self, tokens: Sequence[int]) -> np.ndarray:
        """Logits [len(tokens), n_vocab]; llama.cpp itself cuts the batch into micro batches."""
        batch = lib.llama_batch_init(len(tokens), 0, 1)
        try:
            batch.n_tokens = len(tokens)
            for i, token in enumerate(tokens):
                batch.token[i], batch.pos[i] = token, self._end + i
                batch.n_seq_id[i], batch.seq_id[i][0], batch.logits[i] = 1, 0, 1
            if code := lib.llama_decode(self._context, batch):
                raise RuntimeError(f"llama_decode returned {code}:\n{''.join(_said[-20:])}")
        finally:
            lib.llama_batch_free(batch)
        self._end += len(tokens)
        rows = [lib.llama_get_logits_ith(self._context, i) for i in range(len(tokens))]
        return np.stack([np.ctypeslib.as_array(row, (self._num_vocab,)) for row in rows])


@contextmanager
def _session(
    path: Path,
    *,
    n_ctx: int,
    kv: str = "f32",
    flash_attention: bool = False,
    ubatch: int = 512,
    threads: int = 1,
) -> Iterator[_Session]:
    with _quiet():
        given = lib.llama_model_default_params()
        given.n_gpu_layers = 0
        model = lib.llama_model_load_from_file(bytes(path), given)
        if not model:
            raise _failure("llama.cpp refuses", path)
        try:
            wish = lib.llama_context_default_params()
            wish.n_ctx, wish.n_batch, wish.n_ubatch = n_ctx, n_ctx, min(ubatch, n_ctx)
            wish.n_threads = wish.n_threads_batch = threads
            wish.type_k = wish.type_v = _KV_TYPES[kv]
            wish.flash_attn_type = int(flash_attention)  # not -1, "auto"
            context = lib.llama_init_from_model(model, wish)
            if not context:
                raise _failure("llama.cpp makes no context for", path)
            try:
                yield _Session(context, lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(model)))
            finally:
                lib.llama_free(context)
        finally:
            lib.llama_model_free(model)


def logits(
    path: Path,
    tokens: Sequence[int],
    *,
    kv: str = "f32",
    flash_attention: bool = False,
    ubatch: int = 512,
    threads: int = 1,
    n_ctx: int = 0,
) -> np.ndarray:
    """The logits after each token, [len(tokens), n_vocab] in float32.

    `n_ctx` (0: just enough) is rounded up to 256 by llama.cpp; it matters only for long/short RoPE factors.
    """
    how = {"kv": kv, "flash_attention": flash_attention, "ubatch": ubatch, "threads": threads}
    with _session(path, n_ctx=max(n_ctx, len(tokens)), **how) as session:  # type: ignore[arg-type]
        return session.decode(tokens)


def greedy(path: Path, tokens: Sequence[int], n: int) -> list[int]:
    """The `n` likeliest continuations of `tokens`, one after the other; past any end token."""
    found: list[int] = []
    with _session(path, n_ctx=len(tokens) + n) as session:
        step = list(tokens)
        for _ in range(n):
            step = [int(session.decode(step)[-1].argmax())]
            found += step
    return found


def quantize(src: Path, dst: Path, ftype_name: str, *, pure: bool = False) -> Path:
    """Write `src` in another type ("Q4_K_M", "Q8_0", "F16", ...); `pure`: all matrices in the same one."""
    given = lib.llama_model_quantize_default_params()
    name = "ALL_F32" if ftype_name == "F32" else f"MOSTLY_{ftype_name}"
    given.ftype = getattr(lib, f"LLAMA_FTYPE_{name}")
    given.nthread, given.allow_requantize, given.pure = 1, True, pure
    with _quiet():
        if lib.llama_model_quantize(bytes(src), bytes(dst), ctypes.byref(given)):
            raise _failure(f"llama.cpp does not write {ftype_name} of", src)
    return dst


def nmse(a: np.ndarray, b: np.ndarray) -> float:
    """Mean squared difference of `a` from the reference `b`, over the mean square of `b`."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    return float(((a - b) ** 2).sum() / (b**2).sum())


def mean_kl(a: np.ndarray, b: np.ndarray) -> float:
    """Mean over rows of KL(softmax of the reference `b` || softmax of `a`), in nats."""
    p, q = _log_softmax(b), _log_softmax(a)
    return float((np.exp(p) * (p - q)).sum(-1).mean())


def _log_softmax(x: np.ndarray) -> np.ndarray:
    x = x.astype(np.float64)
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))
