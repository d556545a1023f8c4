"""Bytes of tokens to text, as they come. Pure.

One symbol often spans several tokens: bytes that may still become a character are held back.
"""

import codecs


class Detokenizer:
    """Incremental UTF-8. The joined text equals `bytes.decode("utf-8", "replace")` of all pieces."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, piece: bytes) -> str:
        """The text that `piece` completes."""
        return self._decoder.decode(piece)

    def flush(self) -> str:
        """At the end: what is left can no longer become a character (at most one U+FFFD)."""
        return self._decoder.decode(b"", final=True)
