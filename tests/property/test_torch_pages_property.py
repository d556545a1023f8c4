"""`Pages` as a state machine: whatever is shared, cut and written, every sequence reads back exactly its tokens."""

from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from engine.backends.torch_cuda.pages import PAGE, Pages

SEQS = 4
seqs = st.integers(0, SEQS - 1)
few = st.integers(0, 2 * PAGE + 3)


class PagesMachine(RuleBasedStateMachine):
    """The memory is a dict, each written token is a new number, the truth are plain lists."""

    @initialize(num_pages=st.integers(0, 12))
    def start(self, num_pages: int) -> None:
        self.num_pages = num_pages
        self.pages = Pages(num_pages, SEQS)
        self.memory: dict[int, int] = {}
        self.truth: list[list[int]] = [[] for _ in range(SEQS)]
        self.next_token = 0

    def snapshot(self) -> tuple:
        pages = self.pages
        held = [(list(h.pages), h.length) for h in pages._held]
        return held, list(pages._users), list(pages._free)

    def least_new_pages(self, wanted: dict[int, int]) -> int:
        """What no allocator could do without: new pages, and one of each shared page for all who write but one."""
        need = 0
        users = Counter(page for held in self.pages._held for page in held.pages)
        writers: Counter[int] = Counter()
        for seq, count in wanted.items():
            length = len(self.truth[seq])
            need += -(-(length + count) // PAGE) - -(-length // PAGE)
            if count and length % PAGE:
                writers[self.pages._held[seq].pages[-1]] += 1
        for page, n in writers.items():
            need += n if users[page] > n else n - 1
        return need

    @rule(wanted=st.dictionaries(seqs, few, min_size=1))
    def extend(self, wanted: dict[int, int]) -> None:
        before, need = self.snapshot(), self.least_new_pages(wanted)
        free = len(self.pages._free)
        copies = self.pages.extend(wanted)
        if copies is None:
            assert need > free
            assert self.snapshot() == before
            return
        assert need == free - len(self.pages._free)
        sources = {source for source, _ in copies}
        targets = [target for _, target in copies]
        assert len(set(targets)) == len(targets)
        assert not sources & set(targets)  # so the order of the copies does not matter
        for source, target in copies:
            for i in range(PAGE):
                self.memory[target * PAGE + i] = self.memory.get(source * PAGE + i, -1)
        self.check_reading()  # the copies alone have changed nothing
        written: set[int] = set()
        for seq, count in wanted.items():
            old = len(self.truth[seq])
            cells = self.pages.cells(seq, old, old + count)
            assert not written & set(cells)
            written.update(cells)
            for cell in cells:
                self.memory[cell] = self.next_token
                self.truth[seq].append(self.next_token)
                self.next_token += 1

    @rule(seq=seqs, n=st.integers(-2, 5 * PAGE))
    def truncate(self, seq: int, n: int) -> None:
        self.pages.truncate(seq, n)
        del self.truth[seq][max(0, n) :]

    @rule(seq=seqs)
    def clear(self, seq: int) -> None:
        self.pages.truncate(seq, 0)
        self.truth[seq] = []

    @rule(src=seqs, dst=seqs, fraction=st.floats(0, 1))
    def fork(self, src: int, dst: int, fraction: float) -> None:
        if src == dst:
            return
        self.clear(dst)
        n = round(fraction * len(self.truth[src]))
        free = len(self.pages._free)
        self.pages.fork(src, dst, n)
        self.truth[dst] = self.truth[src][:n]
        assert len(self.pages._free) == free
        assert self.pages.cells(dst, 0, n) == self.pages.cells(src, 0, n)

    @invariant()
    def check_reading(self) -> None:
        for seq, tokens in enumerate(self.truth):
            cells = self.pages.cells(seq, 0, len(tokens))
            assert [self.memory[cell] for cell in cells] == tokens

    @invariant()
    def lengths_are_right(self) -> None:
        assert [self.pages.length(seq) for seq in range(SEQS)] == [len(t) for t in self.truth]

    @invariant()
    def nothing_is_lost_or_held_twice(self) -> None:
        pages = self.pages
        users = Counter(page for held in pages._held for page in held.pages)
        assert pages._users == [users[page] for page in range(self.num_pages)]
        assert sorted([*pages._free, *users]) == list(range(self.num_pages))
        for held in pages._held:
            assert len(held.pages) == -(-held.length // PAGE)
            assert len(set(held.pages)) == len(held.pages)

    @invariant()
    def a_cell_is_shared_only_at_one_position_with_one_token(self) -> None:
        places: dict[int, tuple[int, int]] = {}
        for seq, tokens in enumerate(self.truth):
            for i, cell in enumerate(self.pages.cells(seq, 0, len(tokens))):
                assert places.setdefault(cell, (i, tokens[i])) == (i, tokens[i])


TestPages = PagesMachine.TestCase
TestPages.settings = settings(max_examples=120, stateful_step_count=30, deadline=None)


def filled(num_pages: int, *lengths: int) -> Pages:
    pages = Pages(num_pages, len(lengths))
    assert pages.extend(dict(enumerate(lengths))) == []
    return pages


@pytest.mark.parametrize("length", [1, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE])
def test_all_cells_of_the_pool_can_be_used_by_one(length: int) -> None:
    pages = filled(3, length, 0)
    assert pages.extend({0: 3 * PAGE - length}) == []
    assert sorted(pages.cells(0, 0, 3 * PAGE)) == list(range(3 * PAGE))
    assert pages.extend({0: 1}) is None
    assert pages.extend({1: 1}) is None


def test_a_page_is_copied_by_whoever_writes_first_and_kept_by_the_last() -> None:
    pages = filled(2, PAGE - 6, 0)
    pages.fork(0, 1, PAGE - 6)
    assert pages.extend({0: 1}) == [(0, 1)]
    assert pages.extend({1: 1}) == []
    assert pages.cells(0, 0, 1) == [PAGE]
    assert pages.cells(1, 0, 1) == [0]


def test_two_who_write_into_one_page_at_once_need_one_more_page() -> None:
    pages = filled(2, 5, 0)
    pages.fork(0, 1, 5)
    assert pages.extend({0: 1, 1: 1}) == [(0, 1)]
    assert pages.cells(0, 4, 6) == [PAGE + 4, PAGE + 5]
    assert pages.cells(1, 4, 6) == [4, 5]


def test_whole_shared_pages_are_never_copied() -> None:
    pages = filled(4, 2 * PAGE, 0)
    pages.fork(0, 1, 2 * PAGE)
    assert pages.extend({0: 1, 1: 1}) == []
    assert pages.cells(0, 0, 2 * PAGE) == pages.cells(1, 0, 2 * PAGE)
    assert pages.cells(0, 2 * PAGE, 2 * PAGE + 1) != pages.cells(1, 2 * PAGE, 2 * PAGE + 1)


def test_no_more_tokens_need_no_page_even_of_a_shared_one() -> None:
    pages = filled(1, 5, 0)
    pages.fork(0, 1, 5)
    assert pages.extend({0: 0, 1: 0}) == []
    assert pages.extend({0: 1}) is None
