"""Log probabilities in OpenAI's two forms. Pure.

Neighbours: `engine.server.chat_shape`, `engine.server.text_shape`.
"""

import codecs
from collections.abc import Iterable

from engine.api.replies import ChatLogprobs, ChosenToken, TextLogprobs, TopToken
from engine.types import TokenLogprob

FLOOR = -9999.0
"""Stands for minus infinity, which JSON cannot say. OpenAI uses the same number."""


def token_text(token: bytes) -> str:
    r"""The token as text; pieces of a character are written like `bytes:\xf0\x9f`, as OpenAI does."""
    try:
        return token.decode()
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in token)


def _finite(logprob: float) -> float:
    return logprob if logprob > FLOOR else FLOOR  # NaN compares false


def chat_logprobs(tokens: Iterable[TokenLogprob]) -> ChatLogprobs:
    """The form of /v1/chat/completions."""
    return ChatLogprobs(
        [
            ChosenToken(
                token=token_text(chosen.token),
                logprob=_finite(chosen.logprob),
                bytes=list(chosen.token),
                top_logprobs=[
                    TopToken(token_text(token), _finite(logprob), list(token))
                    for token, logprob in chosen.top
                ],
            )
            for chosen in tokens
        ]
    )


class TextLogprobWriter:
    """The form of /v1/completions; remembers how many characters came before."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._offset = 0

    def write(self, tokens: Iterable[TokenLogprob]) -> TextLogprobs:
        """Logprobs of the next tokens of the same choice."""
        written = TextLogprobs()
        for chosen in tokens:
            written.tokens.append(token_text(chosen.token))
            written.token_logprobs.append(_finite(chosen.logprob))
            top = {token_text(token): _finite(logprob) for token, logprob in chosen.top}
            written.top_logprobs.append(top)
            written.text_offset.append(self._offset)
            self._offset += len(self._decoder.decode(chosen.token))
        return written
