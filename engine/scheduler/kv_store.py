"""Where pieces of conversations are kept when they leave the KV cache: in memory, and behind it in files.

Zone: worker process. The owner thread keeps and fetches; a writer thread moves pieces to disk; the intake thread reads files
ahead. All change the tree under one lock, and read or write files outside it. What is lost, damaged or deleted is just not
there: the scheduler computes it again.
"""

import queue
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from engine.backends.base import State
from engine.formats.kv_file import PieceHead, checksum
from engine.scheduler.kv_folder import KvFolder
from engine.scheduler.prefix_tree import Match, Piece, PrefixTree, name_of, own_part


class KvStore:
    """The pieces of one model."""

    def __init__(
        self, fingerprint: str, *, memory_bytes: int, folder: KvFolder | None = None
    ) -> None:
        """Find what an earlier worker left.

        Args:
            fingerprint: equal exactly where states may be exchanged.
            memory_bytes: most that is held in memory.
            folder: files; None: nothing is written.
        """
        self._fingerprint = fingerprint
        self._memory_bytes = memory_bytes
        self._folder = folder
        self._tree = PrefixTree()
        self._lock = threading.Lock()
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        if folder is not None:
            self._read_all(folder)
            threading.Thread(target=self._work, name="kv writer", daemon=True).start()

    # --- owner thread -----------------------------------------------------------------------------

    def match(self, tokens: Sequence[int]) -> Match:
        """What is kept of a text's beginning."""
        with self._lock:
            return self._tree.match(tokens)

    def keep(
        self, tokens: list[int], match: Match, state: State, *, whole: bool, key: str = ""
    ) -> None:
        """Keep the memory of a text's tokens behind those that `match` holds (all of them, if `whole`).

        Args:
            tokens: of the text, as far as they are computed.
            match: of these tokens, as `match` said.
            state: exported from there on.
            whole: the model's memory cannot be cut.
            key: whose it is; empty: nobody's.
        """
        start = 0 if whole else match.num_tokens
        piece = Piece(
            name_of(tokens, start),
            start,
            tokens[start:],
            len(state),
            parent=match.pieces[-1] if start else None,
            whole=whole,
            state=state,
            waits_for_disk=self._folder is not None,
        )
        with self._lock:
            if piece.parent is not None and not piece.parent.is_kept:
                return  # removed meanwhile
            self._tree.add(piece)
            if key:
                self._tree.own(piece, key)
        if self._folder is not None:
            self._jobs.put(lambda: self._write(piece))
        self._shrink()

    def use(self, match: Match, key: str = "") -> None:
        """These pieces are used again, by the owner of `key`."""
        if not match.pieces:
            return
        with self._lock:
            self._tree.touch(match.pieces[-1])
            own = own_part(match, key).pieces
            if key and own:
                self._tree.own(own[-1], key)
        if self._folder is not None:
            self._jobs.put(lambda: self._touch(match.pieces))

    def fetch(self, piece: Piece) -> State | None:
        """A piece's memory, from disk if need be. None: it is gone, and so are all that go on from it."""
        state = piece.state or self._read(piece)
        if state is None:
            self.drop(piece)
        return state

    def drop(self, piece: Piece) -> None:
        """A piece is of no use: remove it and all that go on from it."""
        with self._lock:
            gone = self._tree.remove(piece) if piece.is_kept else []
        self._delete(gone)

    def forget(self, key: str) -> None:
        """Remove what belongs to nobody but the owner of `key`; an empty key: everything."""
        with self._lock:
            gone = self._tree.disown(key) if key else self._tree.clear()
        self._delete(gone)

    def flush(self, timeout_s: float) -> bool:
        """Wait until all that is kept is on disk; False where that takes longer."""
        if self._folder is None:
            return True
        done = threading.Event()
        self._jobs.put(done.set)
        return done.wait(timeout_s)

    # --- any thread -------------------------------------------------------------------------------

    def read_ahead(self, tokens: Sequence[int]) -> None:
        """Bring what is on disk of a text's beginning into memory: the owner thread will want it soon."""
        match = self.match(tokens)
        for piece in match.pieces:
            if piece.state is None:
                piece.state = self._read(piece)
        self._shrink(wanted=match.pieces)

    # --- inside -----------------------------------------------------------------------------------

    def _read(self, piece: Piece) -> State | None:
        if self._folder is None or piece.file is None:
            return None
        return self._folder.read(piece.file, piece.name)

    def _shrink(self, wanted: Sequence[Piece] = ()) -> None:
        """Let go of what was used longest ago: of its memory where it is on disk too, else of the piece."""
        with self._lock:
            here = sorted((p for p in self._tree if p.state is not None), key=lambda p: p.last_used)
            over = sum(p.num_bytes for p in here) - self._memory_bytes
            for piece in here:
                if over <= 0:
                    return
                if piece in wanted:
                    continue
                if piece.file is not None:
                    piece.state = None
                elif not piece.waits_for_disk and not piece.children:
                    self._tree.remove(piece)
                else:
                    continue
                over -= piece.num_bytes

    def _delete(self, gone: Sequence[Piece]) -> None:
        files = [piece.file for piece in gone if piece.file is not None]
        if self._folder is not None and files:
            self._folder.delete(files)

    def _read_all(self, folder: KvFolder) -> None:
        found: dict[str, Piece] = {}
        heads = folder.read_all()
        for head, path in heads:
            tokens = np.frombuffer(head.tokens, "<i4").tolist()
            piece = Piece(head.name, head.start, tokens, head.state_bytes, whole=head.whole)
            piece.keys, piece.file = set(head.keys), path
            found[head.name] = piece
        for head, _ in heads:  # the oldest first, so that the youngest is the latest used
            piece = found[head.name]
            piece.parent = found.get(head.parent)
            if piece.parent is not None or not head.parent:
                self._tree.add(piece)
            else:
                self._delete([piece])

    def _work(self) -> None:
        while True:
            self._jobs.get()()

    def _write(self, piece: Piece) -> None:
        assert self._folder is not None
        with self._lock:
            state = piece.state if piece.is_kept else None
            keys, parent = tuple(sorted(piece.keys)), piece.parent.name if piece.parent else ""
        if state is None:
            piece.waits_for_disk = False
            return
        head = PieceHead(
            fingerprint=self._fingerprint,
            name=piece.name,
            parent=parent,
            start=piece.start,
            tokens=np.array(piece.tokens, "<i4").tobytes(),
            keys=keys,
            whole=piece.whole,
            state_bytes=len(state),
            state_sum=checksum(state),
        )
        self._let_go_of_all_but(self._folder.make_room(len(state)))
        path = self._folder.write(head, state)
        with self._lock:
            piece.file, piece.waits_for_disk = path, False
        if not piece.is_kept:
            self._delete([piece])  # forgotten while it was written
        elif path is not None:
            self._touch(_line_of(piece))

    def _touch(self, line: Sequence[Piece]) -> None:
        """Make these files the youngest, the conversation's first the very youngest: it is of use without the others, not they without it."""
        files = [piece.file for piece in reversed(line) if piece.file is not None]
        if self._folder is not None:
            self._folder.touch(files)

    def _let_go_of_all_but(self, files: set[Path] | None) -> None:
        """The files of other pieces are gone, deleted for their age by us or by another model's worker; None: not known."""
        if files is None:
            return
        gone: list[Piece] = []
        with self._lock:
            lost = [p for p in self._tree if p.file is not None and p.file not in files]
            for piece in lost:
                piece.file = None
                if piece.state is None and piece.is_kept:
                    gone += self._tree.remove(piece)
        self._delete(gone)


def _line_of(piece: Piece) -> list[Piece]:
    """From its conversation's first piece to this one."""
    line = [piece]
    while line[-1].parent is not None:
        line.append(line[-1].parent)
    return line[::-1]
