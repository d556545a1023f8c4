"""What is kept of conversations outside the KV cache: a tree of pieces, which conversations with one beginning share.

Zone: worker process. Pure: no backend, no files. A piece holds the memory of consecutive tokens; it goes on from any place in its
parent, so that an edited turn or another answer shares all before it. Where a model's memory cannot be cut (sliding window,
recurrent), a piece is a whole conversation's state and serves only who begins with all of it.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import xxhash

from engine.scheduler.slots import common_prefix


@dataclass(slots=True, eq=False)
class Piece:
    """Consecutive tokens of one or more conversations."""

    name: str
    """A hash of all tokens from the conversation's first to this piece's last."""
    start: int
    tokens: list[int]
    num_bytes: int
    parent: "Piece | None" = None
    whole: bool = False
    """Of use only as a whole."""
    keys: set[str] = field(default_factory=set)
    children: list["Piece"] = field(default_factory=list)
    last_used: int = 0
    state: bytes | bytearray | memoryview | None = None
    """In memory."""
    file: Path | None = None
    """On disk."""
    waits_for_disk: bool = False
    """It is on its way there: its memory is still needed."""
    is_kept: bool = True
    """False: it was removed from the tree while somebody still had it in hand."""

    @property
    def end(self) -> int:
        """Position after the last token."""
        return self.start + len(self.tokens)


@dataclass(frozen=True, slots=True)
class Match:
    """Pieces, from the conversation's first on, and how many tokens of a text they hold together."""

    pieces: tuple[Piece, ...]
    num_tokens: int


def own_part(match: Match, key: str) -> Match:
    """The pieces that a conversation of `key` may own and go on from: of others' pieces only those it has whole.

    Else they could not be deleted with their conversation: its words stand behind the place where the other goes on.
    """
    ends = [*(piece.start for piece in match.pieces[1:]), match.num_tokens]
    num_tokens = 0
    for number, (piece, end) in enumerate(zip(match.pieces, ends, strict=False)):
        if end < piece.end and piece.keys and key not in piece.keys:
            return Match(match.pieces[:number], num_tokens)
        num_tokens = end
    return match


def name_of(tokens: Sequence[int], start: int) -> str:
    """The name of a piece that begins at `start` and ends with the last of all tokens."""
    digest = xxhash.xxh3_128(np.array(tokens, "<i4").tobytes())
    digest.update(str(start).encode())
    return digest.hexdigest()


class PrefixTree:
    """All pieces of one model."""

    def __init__(self) -> None:
        self._roots: list[Piece] = []
        self._clock = itertools.count(1)

    def __iter__(self) -> Iterator[Piece]:
        """Every piece, parents first."""
        queue = list(self._roots)
        while queue:
            piece = queue.pop()
            yield piece
            queue += piece.children

    def match(self, tokens: Sequence[int]) -> Match:
        """The pieces that hold most of a text's beginning."""
        best, is_whole = Match((), 0), False
        stack = [(Match((), 0), self._roots)]
        while stack:
            so_far, candidates = stack.pop()
            for piece in candidates:
                if piece.start > so_far.num_tokens:
                    continue  # goes on from a place that this text does not reach
                rest = tokens[piece.start : piece.end]
                shared = common_prefix(piece.tokens, rest)
                if piece.whole and shared < len(piece.tokens):
                    continue
                held = Match((*so_far.pieces, piece), piece.start + shared)
                # of equals the one that needs all of its last piece: others can share it
                whole = shared == len(piece.tokens)
                if (held.num_tokens, whole) > (best.num_tokens, is_whole):
                    best, is_whole = held, whole
                if piece.children:
                    stack.append((held, piece.children))
        return best

    def add(self, piece: Piece) -> None:
        """Hang a piece below its parent, as the latest that was used."""
        (self._roots if piece.parent is None else piece.parent.children).append(piece)
        self.touch(piece)

    def own(self, piece: Piece, key: str) -> None:
        """A piece belongs to one more owner, with all that it goes on from."""
        link: Piece | None = piece
        while link is not None:
            link.keys.add(key)
            link = link.parent

    def disown(self, key: str) -> list[Piece]:
        """Remove what belongs to nobody but one owner; returns it. Of shared pieces only the name goes."""
        gone = []
        for piece in self.leaves():
            link: Piece | None = piece
            while link is not None:
                parent = link.parent
                if key in link.keys:
                    link.keys.discard(key)
                    if not link.keys and not link.children:
                        gone += self.remove(link)
                link = parent
        return gone

    def touch(self, piece: Piece) -> None:
        """It was used, and so were those that it goes on from; they are younger than it."""
        link: Piece | None = piece
        while link is not None:
            link.last_used = next(self._clock)
            link = link.parent

    def remove(self, piece: Piece) -> list[Piece]:
        """Take a piece out with all that go on from it; returns them."""
        siblings = self._roots if piece.parent is None else piece.parent.children
        siblings.remove(piece)
        gone, queue = [], [piece]
        while queue:
            gone.append(queue.pop())
            gone[-1].is_kept = False
            queue += gone[-1].children
        return gone

    def clear(self) -> list[Piece]:
        """Take everything out; returns it."""
        gone = list(self)
        for piece in gone:
            piece.is_kept = False
        self._roots = []
        return gone

    def leaves(self) -> list[Piece]:
        """Pieces that nothing goes on from, least recently used first."""
        return sorted((p for p in self if not p.children), key=lambda p: p.last_used)
