"""Interim: incremental UTF-8."""

import codecs


class Detokenizer:
    """Bytes to text."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, piece: bytes) -> str:
        """Text completed by `piece`."""
        return self._decoder.decode(piece)

    def flush(self) -> str:
        """The rest."""
        return self._decoder.decode(b"", True)
