"""Which parts of a program are keywords, strings, numbers and comments. Qt-free; Pygments does the reading.

The language is taken by its name only and never guessed (350 ms for 20 kB). Pygments loads on first use.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

Role = Literal["keyword", "string", "number", "comment"]

LIMIT: Final = 200_000
"""Characters; longer code is not coloured."""
LINE_LIMIT: Final = 10_000
"""Characters of one line; longer ones are data, and slow in lexers' regular expressions."""


@dataclass(frozen=True, slots=True)
class Span:
    """A coloured run within one line."""

    line: int
    start: int
    """In UTF-16 units, as Qt counts."""
    length: int
    role: Role


def spans(code: str, language: str) -> Iterator[Span]:
    """Read the code step by step, in order. Nothing comes for unknown languages and oversized code."""
    lexer = _lexer(language) if language and len(code) <= LIMIT else None
    if lexer is None or max(map(len, code.split("\n"))) > LINE_LIMIT:
        return
    line = column = 0
    # Lexers may count on a last line end.
    for _, kind, text in lexer.get_tokens_unprocessed(code + "\n"):
        role = _role(kind)
        for number, piece in enumerate(text.split("\n")):
            if number:
                line, column = line + 1, 0
            length = len(piece) if piece.isascii() else len(piece.encode("utf-16-le")) // 2
            if role and length:
                yield Span(line, column, length, role)
            column += length


def _lexer(language: str) -> Any:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language)
    except ClassNotFound:
        return None


def _role(kind: Any) -> Role | None:
    from pygments.token import Comment, Keyword, Number, Operator, String

    if kind in Comment:
        return "comment"
    if kind in Keyword or kind is Operator.Word:
        return "keyword"
    if kind in String:
        return "string"
    return "number" if kind in Number else None
