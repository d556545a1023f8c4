"""The Backend protocol as tests: every backend passes the same ones.

A suite class; each backend's test module subclasses it and provides the `backend` fixture
(at least 3 sequences, 96 cells). Logits are compared with a fresh prefill of the same tokens.
"""

from collections.abc import Sequence

import numpy as np
import pytest

from engine.backends.base import F32, Backend, SeqId, Status

A, B, C = SeqId(0), SeqId(1), SeqId(2)
TEXT = [11, 23, 5, 47, 90, 31, 8, 64, 77, 12, 29, 101]


def feed(backend: Backend, seq: SeqId, tokens: Sequence[int], *, chunk: int = 64) -> F32:
    """Append tokens; returns a copy of the last row's logits."""
    batch = backend.new_batch(min(chunk, backend.caps.n_batch_max))
    outputs = None
    for start in range(0, len(tokens), batch.capacity):
        rows = tokens[start : start + batch.capacity]
        n = len(rows)
        first = backend.seq_len(seq)
        batch.token[:n] = rows
        batch.pos[:n] = range(first, first + n)
        batch.seq[:n] = seq
        batch.out[:n] = 0
        batch.out[n - 1] = start + n == len(tokens)
        batch.n = n
        result = backend.decode(batch)
        assert result.status is Status.OK
        outputs = result.outputs
    assert outputs is not None
    return outputs.logits(0).copy()


class BackendConformance:
    """What `engine.backends.base` promises."""

    tolerance = 0.0
    """Largest difference of logits that the backend's own batch shapes cause."""
    removes_suffix = True
    forks_prefix = True

    @pytest.fixture
    def fresh(self, backend: Backend):
        """Logits of a prefill into an empty sequence, the truth everything is compared with."""

        def compute(tokens: Sequence[int]) -> F32:
            backend.seq_clear(C)
            logits = feed(backend, C, tokens)
            backend.seq_clear(C)
            return logits

        return compute

    def same(self, a: F32, b: F32) -> bool:
        return bool(np.max(np.abs(a - b)) <= self.tolerance)

    def test_positions_grow_with_rows(self, backend: Backend) -> None:
        assert backend.seq_len(A) == 0
        feed(backend, A, TEXT)
        assert backend.seq_len(A) == len(TEXT)
        assert backend.seq_span(A)[1] == len(TEXT)
        assert backend.seq_len(B) == 0

    def test_chunks_and_whole_agree(self, backend: Backend, fresh) -> None:
        assert self.same(feed(backend, A, TEXT, chunk=5), fresh(TEXT))

    def test_one_at_a_time_agrees(self, backend: Backend, fresh) -> None:
        assert self.same(feed(backend, A, TEXT, chunk=1), fresh(TEXT))

    def test_sequences_in_one_batch_do_not_mix(self, backend: Backend, fresh) -> None:
        feed(backend, A, TEXT[:4])
        feed(backend, B, TEXT[4:9])
        batch = backend.new_batch(8)
        batch.token[:2] = [TEXT[5], TEXT[9]]
        batch.pos[:2] = [4, 5]
        batch.seq[:2] = [A, B]
        batch.out[:2] = 1
        batch.n = 2
        outputs = backend.decode(batch).outputs
        assert outputs is not None
        row_a, row_b = outputs.logits(0).copy(), outputs.logits(1).copy()
        assert self.same(row_a, fresh([*TEXT[:4], TEXT[5]]))
        assert self.same(row_b, fresh([*TEXT[4:9], TEXT[9]]))

    def test_candidates_are_the_best_of_the_row(self, backend: Backend) -> None:
        batch = backend.new_batch(1)
        batch.token[0], batch.pos[0], batch.seq[0], batch.out[0], batch.n = TEXT[0], 0, A, 1, 1
        outputs = backend.decode(batch).outputs
        assert outputs is not None
        logits = outputs.logits(0)
        order = np.lexsort((np.arange(len(logits)), -logits))[:7]
        candidates = outputs.candidates(0, 7)
        assert candidates.ids[:7].tolist() == order.tolist()
        assert np.array_equal(candidates.logits[:7], logits[order])
        assert outputs.lse(0) == pytest.approx(
            float(np.log(np.sum(np.exp(logits.astype(np.float64) - logits.max()))))
            + float(logits.max()),
            abs=1e-4,
        )

    def test_truncate_tells_the_truth(self, backend: Backend, fresh) -> None:
        feed(backend, A, TEXT)
        kept = backend.seq_truncate(A, 7)
        assert kept in ((7,) if self.removes_suffix else (0, 7))
        assert backend.seq_len(A) == kept
        assert self.same(feed(backend, A, [*TEXT[:7], 44][kept:]), fresh([*TEXT[:7], 44]))

    def test_truncate_to_more_than_held_keeps_all(self, backend: Backend) -> None:
        feed(backend, A, TEXT)
        assert backend.seq_truncate(A, 99) == len(TEXT)
        assert backend.seq_truncate(A, 0) == 0
        assert backend.seq_len(A) == 0

    def test_fork_shares_and_separates(self, backend: Backend, fresh) -> None:
        feed(backend, A, TEXT)
        shared = backend.seq_fork(A, B, 6)
        assert shared in ((6,) if self.forks_prefix else (0, 6))
        assert backend.seq_len(B) == shared
        left = feed(backend, A, [40])
        right = feed(backend, B, [*TEXT[:6], 41][shared:])
        assert self.same(left, fresh([*TEXT, 40]))
        assert self.same(right, fresh([*TEXT[:6], 41]))

    def test_fork_of_everything(self, backend: Backend, fresh) -> None:
        feed(backend, A, TEXT)
        feed(backend, B, [7])
        assert backend.seq_fork(A, B, len(TEXT)) == len(TEXT)
        assert self.same(feed(backend, B, [41]), fresh([*TEXT, 41]))

    def test_fork_onto_itself_is_a_mistake(self, backend: Backend) -> None:
        with pytest.raises(ValueError, match="itself"):
            backend.seq_fork(A, A, 1)

    def test_export_and_import(self, backend: Backend, fresh) -> None:
        feed(backend, A, TEXT)
        state = backend.export_state(A)
        backend.seq_clear(A)
        assert backend.import_state(B, state) == len(TEXT)
        assert self.same(feed(backend, B, [41]), fresh([*TEXT, 41]))

    def test_damaged_state_is_refused(self, backend: Backend) -> None:
        feed(backend, A, TEXT)
        state = backend.export_state(A)
        assert backend.import_state(B, state[: len(state) // 2 + 1]) == 0
        assert backend.seq_len(B) == 0

    @pytest.mark.parametrize("cut", [1, 5, len(TEXT) - 1])
    def test_a_state_in_two_pieces_is_the_whole(self, backend: Backend, fresh, cut: int) -> None:
        if not backend.caps.exports_ranges:
            return
        feed(backend, A, TEXT)
        tail = bytes(backend.export_state(A, cut))
        head = bytes(backend.export_state(A, 0, cut))
        assert backend.seq_len(A) == len(TEXT)
        backend.seq_clear(A)  # in free cells: llama.cpp sums keys in the order of their cells
        assert backend.import_state(B, head) == cut
        assert backend.import_state(B, tail, cut) == len(TEXT)
        assert self.same(feed(backend, B, [7]), fresh([*TEXT, 7]))
        assert backend.seq_span(B) == (0, len(TEXT) + 1)

    def test_a_piece_that_is_cut_off_is_refused_and_nothing_is_left(self, backend: Backend) -> None:
        if not backend.caps.exports_ranges:
            return
        feed(backend, A, TEXT)
        tail = bytes(backend.export_state(A, 4))
        feed(backend, B, TEXT[:4])
        assert backend.import_state(B, tail[: len(tail) // 2 + 1], 4) == 0
        assert backend.seq_len(B) == 0
        feed(backend, B, TEXT[:4])
        assert backend.import_state(B, tail, 4) == len(TEXT)
        assert backend.seq_len(A) == len(TEXT)

    def test_no_space_leaves_everything_as_it_was(self, backend: Backend, fresh) -> None:
        cells = backend.caps.n_cells
        feed(backend, A, (TEXT * cells)[: cells - 5])
        before = backend.seq_len(A)
        batch = backend.new_batch(8)
        batch.token[:8] = TEXT[:8]
        batch.pos[:8] = range(8)
        batch.seq[:8] = B
        batch.out[:8] = 0
        batch.n = 8
        assert backend.decode(batch).status is Status.NO_SPACE
        assert (backend.seq_len(A), backend.seq_len(B)) == (before, 0)
        backend.seq_clear(A)
        assert self.same(feed(backend, B, TEXT), fresh(TEXT))

    def test_an_abort_before_a_decode_stops_it_once(self, backend: Backend, fresh) -> None:
        feed(backend, A, TEXT[:3])
        backend.request_abort()
        batch = backend.new_batch(4)
        batch.token[:4] = TEXT[3:7]
        batch.pos[:4] = range(3, 7)
        batch.seq[:4] = A
        batch.out[:4] = 0
        batch.n = 4
        assert backend.decode(batch).status is Status.ABORTED
        held = backend.seq_len(A)
        assert held == (0 if backend.caps.forgets_on_abort else 3)
        assert self.same(feed(backend, A, TEXT[held:]), fresh(TEXT))

    def test_programming_mistakes_raise_instead_of_ending_the_process(
        self, backend: Backend
    ) -> None:
        with pytest.raises(ValueError, match="rows"):
            backend.new_batch(backend.caps.n_batch_max + 1)
        batch = backend.new_batch(4)
        batch.n = 0
        with pytest.raises(ValueError, match="rows"):
            backend.decode(batch)

    def test_threads_and_memory_can_be_asked_for(self, backend: Backend, fresh) -> None:
        backend.set_threads(1, 1)
        assert self.same(feed(backend, A, TEXT), fresh(TEXT))
        report = backend.memory_report()
        assert min(report.weights, report.kv_cache, report.compute) >= 0
