"""Guesses of a small model: it writes on where the large one stands, greedily.

Zone: worker process, owner thread. The small model is a backend like any other; its sequences follow the large one's by
their common prefix. Source: Leviathan et al. 2023 (arXiv 2211.17192). Compatibility of vocabularies: llama.cpp's rule.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Final

from engine.backends.base import Backend, SeqId, Status
from engine.errors import EngineError
from engine.speculative.proposer import Ask
from engine.text.tokenizer import Tokenizer

_MOST_SIZE_DIFFERENCE: Final = 128
_FIRST_COMPARED: Final = 5
"""Ids below are control tokens whose texts differ between otherwise equal vocabularies."""


def vocabulary_problem(target: Tokenizer, draft: Tokenizer) -> str | None:
    """Why the draft model's tokens do not mean the same, as half a sentence; None: they do."""
    if abs(target.n_vocab - draft.n_vocab) > _MOST_SIZE_DIFFERENCE:
        return f"its vocabulary has {draft.n_vocab:,} tokens instead of {target.n_vocab:,}"
    if (target.adds_bos, target.bos) != (draft.adds_bos, draft.bos) or target.eos != draft.eos:
        return "its texts begin or end with other tokens"
    for token in range(_FIRST_COMPARED, min(target.n_vocab, draft.n_vocab)):
        if target.pieces[token] != draft.pieces[token]:
            return f"its token {token} is another text"
    return None


@dataclass(slots=True)
class _Follower:
    """A sequence of the draft model and the tokens it holds."""

    seq: SeqId
    tokens: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Growing:
    """A draft that is being written."""

    follower: _Follower
    most: int
    pending: list[int]
    """Tokens the draft model has not read."""
    draft: list[int] = field(default_factory=list)


class DraftModelProposer:
    """Implements `Proposer` over a second backend. Owns it."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._batch = backend.new_batch(backend.caps.n_batch_max)
        self._free = [SeqId(i) for i in reversed(range(backend.caps.n_seq_max))]
        self._followers: dict[Hashable, _Follower] = {}

    def propose(self, asks: Sequence[Ask]) -> list[list[int]]:
        """See Proposer. A sequence beyond the draft model's own context gets no draft.

        Raises:
            EngineError: the draft model cannot compute any more.
        """
        drafts = [self._start(ask) for ask in asks]
        growing = [d for d in drafts if d is not None]
        while growing:
            if not self._grow(growing):
                break
            growing = [d for d in growing if len(d.draft) < d.most and self._has_room(d)]
        return [[] if d is None else d.draft for d in drafts]

    def forget(self, key: Hashable) -> None:
        """See Proposer."""
        follower = self._followers.pop(key, None)
        if follower is not None:
            self._backend.seq_clear(follower.seq)
            self._free.append(follower.seq)

    def close(self) -> None:
        """Free the draft model."""
        self._backend.close()

    def _start(self, ask: Ask) -> _Growing | None:
        """Cut the ask's own sequence to what it shares with the text; at least one token is left to compute."""
        follower = self._followers.get(ask.key)
        if follower is None:
            if not self._free:
                return None
            follower = self._followers[ask.key] = _Follower(self._free.pop())
        shared = _shared(follower.tokens, ask.tokens)
        kept = self._backend.seq_truncate(follower.seq, min(shared, len(ask.tokens) - 1))
        del follower.tokens[kept:]
        started = _Growing(follower, ask.most, list(ask.tokens[kept:]))
        return started if self._has_room(started) else None

    def _has_room(self, growing: _Growing) -> bool:
        held = len(growing.follower.tokens) + len(growing.pending)
        return held <= self._backend.caps.n_ctx_seq

    def _grow(self, growing: Sequence[_Growing]) -> bool:
        """Read what is pending, in steps of the batch's size, and add each draft's most likely next token.

        Returns:
            False where the draft model's cache is full; it starts anew then.
        """
        rows = [
            (one, token, i == len(one.pending) - 1)
            for one in growing
            for i, token in enumerate(one.pending)
        ]
        batch = self._batch
        for first in range(0, len(rows), batch.capacity):
            part = rows[first : first + batch.capacity]
            for i, (one, token, is_last) in enumerate(part):
                tokens = one.follower.tokens
                batch.token[i], batch.pos[i] = token, len(tokens)
                batch.seq[i], batch.out[i] = one.follower.seq, is_last
                tokens.append(token)
            batch.n = len(part)
            result = self._backend.decode(batch)
            if result.status is Status.NO_SPACE:
                for key in list(self._followers):
                    self.forget(key)
                return False
            if result.status is not Status.OK or result.outputs is None:
                raise EngineError("The draft model could not compute.")
            ended = [one for one, _, is_last in part if is_last]
            for row, one in enumerate(ended):
                next_token = int(result.outputs.candidates(row, 1).ids[0])
                one.draft.append(next_token)
                one.pending = [next_token]
        return True


def _shared(held: Sequence[int], tokens: Sequence[int]) -> int:
    for i, (one, other) in enumerate(zip(held, tokens, strict=False)):
        if one != other:
            return i
    return min(len(held), len(tokens))
