"""The messages of a terminal chat, and what is left out when the context is full. Pure."""

from engine.api.requests import Message

_ROOM = 0.7
"""Part of the context that a shrunken conversation may take: the rest is for the answer."""


class Conversation:
    """A system prompt, whole exchanges, and the question that is open."""

    def __init__(self, system: str | None) -> None:
        self._system = [Message("system", system)] if system else []
        self._exchanges: list[list[Message]] = []

    @property
    def messages(self) -> list[Message]:
        """As they are sent."""
        return [*self._system, *(m for exchange in self._exchanges for m in exchange)]

    def ask(self, text: str) -> None:
        """Begin an exchange."""
        self._exchanges.append([Message("user", text)])

    def answer(self, text: str) -> None:
        """Complete it with what came, if anything did."""
        if text:
            self._exchanges[-1].append(Message("assistant", text))

    def take_back(self) -> None:
        """Forget the open question."""
        self._exchanges.pop()

    def shrink(self, prompt_tokens: int, limit: int) -> int:
        """Leave out the oldest exchanges so that an answer has room; never the system prompt or the question.

        Args:
            prompt_tokens: what the conversation came to.
            limit: what the context holds.

        Returns:
            How many exchanges were left out; 0 when there is nothing to leave out.
        """
        sizes = [sum(len(str(m.content)) for m in exchange) for exchange in self._exchanges]
        total = sum(sizes) + sum(len(str(m.content)) for m in self._system)
        allowed = total * _ROOM * limit / max(prompt_tokens, 1)
        num_dropped = 0
        while num_dropped < len(sizes) - 1 and (total > allowed or num_dropped == 0):
            total -= sizes[num_dropped]
            num_dropped += 1
        del self._exchanges[:num_dropped]
        return num_dropped
