"""The tokenizer seam. Implementations: `engine.backends.llamacpp.vocab`, `engine.backends.fake`."""

from collections.abc import Sequence
from typing import Protocol


class Tokenizer(Protocol):
    """Text to token ids and back. Thread-safe."""

    @property
    def n_vocab(self) -> int:
        """Number of ids."""

    @property
    def bos(self) -> int | None:
        """Begin-of-text id, or None."""

    @property
    def eos(self) -> int | None:
        """End-of-text id, or None."""

    @property
    def adds_bos(self) -> bool:
        """Does the model want a begin-of-text token in front of every prompt?"""

    @property
    def end_ids(self) -> frozenset[int]:
        """Ids that end an answer (end of text, end of turn)."""

    @property
    def pieces(self) -> Sequence[bytes]:
        """Bytes of every id; control tokens have none, so that they never show in an answer."""

    @property
    def control_texts(self) -> Sequence[str]:
        """The texts that `parse_special` turns into control tokens, longest first."""

    @property
    def chat_template(self) -> str | None:
        """The model file's own Jinja template, or None."""

    def token_text(self, token: int) -> str:
        """The vocabulary's text of an id, control tokens included (for templates: bos_token, eos_token)."""

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Tokenize.

        Args:
            text: any string; lone surrogates are replaced.
            add_special: add begin/end tokens as the model wants them.
            parse_special: read control texts as control tokens; off for what a user typed.
        """
