"""The tokenizer inside a GGUF file, through llama.cpp.

Zone: any process that may load native code; the vocabulary alone does no computing. Thread-safe:
llama.cpp only reads a vocabulary after loading, and everything else here is fixed in the constructor.
"""

import ctypes
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import llama_cpp.llama_cpp as lib
import numpy as np

from engine.backends.llamacpp.loading import load_model
from engine.backends.llamacpp.native import NativeLog
from engine.errors import InvalidRequest, ModelFormatError

_CONTROL_OR_UNKNOWN = lib.LLAMA_TOKEN_ATTR_CONTROL | lib.LLAMA_TOKEN_ATTR_UNKNOWN
"""What `parse_special` reads; user-defined tokens are read always."""
_MAX_TEXT_BYTES = 1 << 28
_SAFE_SPLITTERS = frozenset(
    "command-r deepseek-r1-qwen gemma4 glm4 gpt-2 kimi-k2 llama-bpe llama-v3 llama3 mpt phi-2"  # noqa: SIM905
    " qwen2 qwen35 refact smollm starcoder".split()
)
"""Values of tokenizer.ggml.pre whose text splitter is hand-written.

The others use std::regex, which takes 320 bytes of stack for every character of a match: 26,000
equal characters kill the process (8 MB of stack; 1,600 do on a thread of macOS). Seen with 0.3.36.
"""
_LONG_RUN = re.compile(r"\S{1000}(?=\S)|\s{1000}(?=\s)")


class LlamaVocab:
    """Implements Tokenizer. Valid as long as the model it was made from."""

    def __init__(self, model: Any) -> None:
        """Read the vocabulary of a loaded model.

        Args:
            model: llama.cpp's pointer; stays the caller's.

        Raises:
            ModelFormatError: the model has no vocabulary (asking it for tokens would abort).
        """
        self._vocab = lib.llama_model_get_vocab(model)
        if lib.llama_vocab_type(self._vocab) == lib.LLAMA_VOCAB_TYPE_NONE:
            raise ModelFormatError(
                "This model has no vocabulary, so it cannot read or write text.",
                hint="Choose a language model.",
            )
        self.n_vocab = int(lib.llama_vocab_n_tokens(self._vocab))
        self.bos = self._known(lib.llama_vocab_bos(self._vocab))
        self.eos = self._known(lib.llama_vocab_eos(self._vocab))
        self.adds_bos = self.bos is not None and bool(lib.llama_vocab_get_add_bos(self._vocab))
        self._last = self._find_last()
        template = lib.llama_model_chat_template(model, None)
        self.chat_template = template.decode("utf-8", "replace") if template else None
        self.pieces, self.end_ids = self._read_tokens()
        texts = {self.token_text(token) for token in self._control_ids()} - {""}
        self.control_texts: Sequence[str] = sorted(texts, key=lambda text: (-len(text), text))
        self._cuts_runs = self._splits_by_regex(model)

    def token_text(self, token: int) -> str:
        """See Tokenizer."""
        if not 0 <= token < self.n_vocab:
            raise ValueError(f"token {token} is not in 0 … {self.n_vocab - 1}")
        text = lib.llama_vocab_get_text(self._vocab, token)
        return text.decode("utf-8", "replace") if text else ""

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """See Tokenizer.

        Raises:
            InvalidRequest: more text than a tokenizer call can take.
        """
        tokens: list[int] = []
        start = 0
        for cut in self._cuts(text) if self._cuts_runs else ():
            tokens += self._tokenize(text[start:cut], parse_special)
            start = cut
        tokens += self._tokenize(text[start:], parse_special)
        if add_special:
            # Here and not in llama.cpp, which aborts if the vocabulary lacks what it is to add.
            tokens[:0] = [self.bos] if self.adds_bos and self.bos is not None else []
            tokens += [] if self._last is None else [self._last]
        return tokens

    def _tokenize(self, text: str, parse_special: bool) -> list[int]:
        data = _utf8(text)
        if len(data) > _MAX_TEXT_BYTES:
            raise InvalidRequest("The text is too long.", hint="Send less text.", param="prompt")
        # Rarely more tokens than bytes; then the count comes back negative and we ask again.
        size = len(data) + 8
        for _ in range(2):
            tokens = np.empty(size, np.int32)
            pointer = tokens.ctypes.data_as(lib.llama_token_p)
            count = lib.llama_tokenize(
                self._vocab, data, len(data), pointer, size, False, parse_special
            )
            if count >= 0:
                ids: list[int] = tokens[:count].tolist()
                return ids
            size = -count
        raise InvalidRequest("The text cannot be split into tokens.", param="prompt")

    def _cuts(self, text: str) -> Iterator[int]:
        """Where to divide over-long runs; never inside a control text."""
        reach = len(self.control_texts[0]) if self.control_texts else 0
        for run in _LONG_RUN.finditer(text):
            start = max(0, run.end() - reach)
            window, cut = text[start : run.end() + reach], run.end() - start
            for control in self.control_texts:
                at = window.find(control, max(0, cut - len(control) + 1))
                if 0 <= at < cut:
                    cut = at
                    break
            yield start + cut

    def _splits_by_regex(self, model: Any) -> bool:
        if lib.llama_vocab_type(self._vocab) != lib.LLAMA_VOCAB_TYPE_BPE:
            return False
        name = ctypes.create_string_buffer(64)
        if lib.llama_model_meta_val_str(model, b"tokenizer.ggml.pre", name, len(name)) < 0:
            lib.llama_model_meta_val_str(model, b"tokenizer.ggml.model", name, len(name))
        return name.value.decode("utf-8", "replace") not in _SAFE_SPLITTERS

    def _find_last(self) -> int | None:
        if lib.llama_vocab_get_add_eos(self._vocab):
            return self.eos
        if lib.llama_vocab_get_add_sep(self._vocab):
            return self._known(lib.llama_vocab_sep(self._vocab))
        return None

    def _known(self, token: int) -> int | None:
        return int(token) if 0 <= token < self.n_vocab else None

    def _read_tokens(self) -> tuple[list[bytes], frozenset[int]]:
        # 260,000 tokens: calls that keep the GIL and own function objects save half of the time.
        quick = ctypes.PyDLL(lib._lib._name)  # noqa: SLF001 - the binding has no public handle
        to_piece, is_end = quick.llama_token_to_piece, quick.llama_vocab_is_eog
        to_piece.argtypes = [
            ctypes.c_void_p,
            ctypes.c_int32,
            ctypes.c_void_p,
            ctypes.c_int32,
            ctypes.c_int32,
            ctypes.c_bool,
        ]
        is_end.argtypes, is_end.restype = [ctypes.c_void_p, ctypes.c_int32], ctypes.c_bool
        vocab, size = self._vocab, 256
        buffer = ctypes.create_string_buffer(size)
        pieces: list[bytes] = []
        for token in range(self.n_vocab):
            length = to_piece(vocab, token, buffer, size, 0, False)
            if length < 0:
                size = -length
                buffer = ctypes.create_string_buffer(size)
                length = to_piece(vocab, token, buffer, size, 0, False)
            pieces.append(buffer.raw[:length])
        return pieces, frozenset(token for token in range(self.n_vocab) if is_end(vocab, token))

    def _control_ids(self) -> Iterator[int]:
        for token, piece in enumerate(self.pieces):
            if not piece and lib.llama_vocab_get_attr(self._vocab, token) & _CONTROL_OR_UNKNOWN:
                yield token


@contextmanager
def open_vocab(path: bytes, log: NativeLog) -> Iterator[LlamaVocab]:
    """The vocabulary of a model file without its weights (some 0.1 s), freed on leaving.

    Raises:
        ModelFormatError: the file is not what it should be.
    """
    model = load_model(path, log, lambda _: None, vocab_only=True)
    try:
        yield LlamaVocab(model)
    finally:
        lib.llama_model_free(model)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:  # lone surrogates; pairs become the character they stand for
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
