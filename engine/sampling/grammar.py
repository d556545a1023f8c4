"""`Grammar`: which tokens may follow in an answer that must match a JSON schema, and which ones must.

Zone: worker process. A thin wrapper of llguidance, which turns a schema into masks over one model's
vocabulary. The answer's layout is fixed (`{"a": 1, "b": [2, 3]}` on one line): small models otherwise
lose themselves in white space, and most of the punctuation is known without asking the model.
"""

from __future__ import annotations

import json
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from engine.api.json_schema import read_complaint
from engine.errors import InvalidRequest, UnsupportedByBackend

if TYPE_CHECKING:
    from llguidance import LLMatcher, LLTokenizer
    from llguidance._lib import JsonCompileOptions

    from engine.backends.base import Ids
    from engine.text.tokenizer import Tokenizer

THOUGHT_END: Final = b"</think>"
"""Where the grammar begins in an answer that begins inside a thought."""

_LAYOUT: Final[JsonCompileOptions] = {
    "whitespace_flexible": False,
    "item_separator": ", ",
    "key_separator": ": ",
    "lenient": False,
    "coerce_one_of": False,
}
"""Overrides what a schema's own `x-guidance` says: nothing in a schema is ignored or softened."""
_MOST_KEPT: Final = 8
"""Compiled schemas; a few hundred kB each."""
_MOST_ITEMS: Final = 20_000
"""Parser items at one place: about 5,000 optional properties."""
_MOST_REASON: Final = 300
"""Characters of llguidance's complaint that are shown."""


class Grammars:
    """The schemas of one model, compiled once each. For one thread; what it hands out is for another."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Take the model's vocabulary; the work (some 0.1 s) is done with the first schema."""
        self._tokenizer = tokenizer
        self._vocabulary: LLTokenizer | None = None
        self._compiled: OrderedDict[str, LLMatcher] = OrderedDict()

    def start(self, schema: str, *, in_thought: bool = False) -> Grammar:
        """The grammar of one answer, at its beginning.

        Args:
            schema: a JSON schema as JSON, within the limits of `engine.api.json_schema`.
            in_thought: the answer begins inside a thought, which is free text.

        Raises:
            InvalidRequest: no text matches the schema, or it asks for what cannot be checked token
                by token.
            UnsupportedByBackend: the model has no token that ends an answer.
        """
        matcher = self._compiled.get(schema)
        if matcher is None:
            matcher = self._compile(schema)
            self._compiled[schema] = matcher
            if len(self._compiled) > _MOST_KEPT:
                self._compiled.popitem(last=False)
        self._compiled.move_to_end(schema)
        return Grammar(matcher.deep_copy(), self._tokenizer, in_thought=in_thought)

    def _compile(self, schema: str) -> LLMatcher:
        from llguidance import LLMatcher, LLParserLimits

        if self._vocabulary is None:
            self._vocabulary = _read_vocabulary(self._tokenizer)
        limits = LLParserLimits(max_items_in_row=_MOST_ITEMS, verbose_errors=False)
        try:
            grammar = LLMatcher.grammar_from_json_schema(schema, overrides=_LAYOUT)
        except ValueError as error:
            raise _refusal(schema, str(error)) from None
        matcher = LLMatcher(self._vocabulary, grammar, log_level=0, limits=limits)
        if matcher.is_error():
            raise _refusal(schema, matcher.get_error())
        # What nothing can match, such as objects within objects without end, shows at the first token.
        probe = matcher.deep_copy()
        probe.consume_tokens(probe.compute_ff_tokens())
        probe.compute_bitmask()
        if probe.is_error():
            raise _refusal(schema, "no answer can match it, or it is too complex")
        return matcher


class Grammar:
    """The state of one answer: a function of the schema and the accepted tokens alone."""

    def __init__(self, matcher: LLMatcher, tokenizer: Tokenizer, *, in_thought: bool) -> None:
        """Begin an answer; made by `Grammars.start`."""
        self._matcher = matcher
        self._pieces = tokenizer.pieces
        self._last = _end_token(tokenizer)
        self._thought: bytes | None = b"" if in_thought else None
        """The last bytes of the thought; None: it is over."""
        self._mask = np.zeros((tokenizer.n_vocab + 31) // 32, np.int32)
        self._num_bits = tokenizer.n_vocab
        self._allowed: Ids | None = None
        self._ahead: deque[int] = deque()
        if not in_thought:
            self._look_ahead()

    @property
    def forced(self) -> int | None:
        """The next token where no other text can follow; None: the model has a choice."""
        return self._ahead[0] if self._ahead else None

    def allowed(self) -> Ids | None:
        """Ascending ids that may follow, at least one; None: all may.

        Raises:
            InvalidRequest: the schema became too complex to follow at this place.
        """
        if self._thought is not None:
            return None
        if self._allowed is None:
            self._matcher.unsafe_compute_mask_ptr(self._mask.ctypes.data, self._mask.nbytes)
            bits = np.unpackbits(self._mask.view(np.uint8), count=self._num_bits, bitorder="little")
            ids = bits.view(np.bool_).nonzero()[0]
            if self._matcher.is_error() or not ids.size:
                raise InvalidRequest(
                    "The answer could not follow the JSON schema any further.",
                    hint="Simplify the schema: fewer alternatives, shorter patterns.",
                    param="response_format",
                )
            self._allowed = ids
        return self._allowed

    def accept(self, token: int) -> None:
        """Append a token to the answer: a sampled or forced one, or one replayed after a crash."""
        self._allowed = None
        if self._thought is not None:
            self._think(token)
        elif not self._matcher.is_stopped():
            self._matcher.consume_token(token)
            if self._ahead and self._ahead[0] == token:
                self._ahead.popleft()
                if self._ahead:
                    return  # worked out together, so that they are the same whenever they are asked for
            self._look_ahead()
        else:
            self._ahead.clear()

    def trim(self, draft: list[int]) -> list[int]:
        """The front part of a draft that may follow."""
        if self._thought is not None:
            return draft
        return draft[: self._matcher.validate_tokens(draft)]

    def _think(self, token: int) -> None:
        assert self._thought is not None
        self._thought += self._pieces[token]
        if THOUGHT_END in self._thought:
            self._thought = None
            self._look_ahead()
        else:
            self._thought = self._thought[-len(THOUGHT_END) :]

    def _look_ahead(self) -> None:
        matcher = self._matcher
        if not matcher.is_stopped():
            self._ahead = deque(matcher.compute_ff_tokens())
        elif matcher.is_error():
            self._ahead.clear()  # `allowed` tells
        else:
            self._ahead = deque([self._last])  # complete, and the end token is all that is missing


class _Vocabulary:
    """The model's tokenizer as llguidance's `TokenizerWrapper` takes it."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self.eos_token_id = _end_token(tokenizer)
        self.bos_token_id = tokenizer.bos
        self.tokens = list(tokenizer.pieces)
        """Control tokens have no bytes: no text allows them."""
        self.special_token_ids: list[int] = []
        self.without_tokenizer: Callable[[str], list[int]] | None = None
        """Longest match; set when llguidance has read the tokens."""

    def __call__(self, data: bytes) -> list[int]:
        text = data.decode("utf-8", "replace")
        for before in ("", "\n"):
            tokens = self._encode(before + text)[len(self._encode(before)) :]
            if b"".join(map(self.tokens.__getitem__, tokens)) == data:
                return tokens
        # The model's own tokenizer adds to a text, such as a space in front, or drops something.
        return self.without_tokenizer(text) if self.without_tokenizer else []

    def _encode(self, text: str) -> list[int]:
        return self._tokenizer.encode(text, add_special=False, parse_special=False)


def _read_vocabulary(tokenizer: Tokenizer) -> LLTokenizer:
    from llguidance import LLTokenizer, TokenizerWrapper

    vocabulary = _Vocabulary(tokenizer)
    native = LLTokenizer(
        TokenizerWrapper(vocabulary),
        n_vocab=tokenizer.n_vocab,
        eos_token=sorted(tokenizer.end_ids),
    )
    vocabulary.without_tokenizer = native.greedy_tokenize
    return native


def _end_token(tokenizer: Tokenizer) -> int:
    if tokenizer.eos in tokenizer.end_ids:
        return tokenizer.eos
    if not tokenizer.end_ids:
        raise UnsupportedByBackend(
            "This model has no token that ends an answer, so it cannot follow a JSON schema.",
            hint="Choose another model, or leave the schema out.",
            param="response_format",
        )
    return min(tokenizer.end_ids)


def _refusal(schema: str, complaint: str) -> InvalidRequest:
    place, reason = read_complaint(json.loads(schema), complaint)
    where = f" at {place}" if place else ""
    return InvalidRequest(
        f"The JSON schema cannot be followed{where}: {reason[:_MOST_REASON]}.",
        hint="Change that part of the schema and send the request again.",
        param="response_format",
    )
