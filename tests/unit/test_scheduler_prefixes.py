"""What leaves the KV cache comes back: from memory, from disk after a restart, in pieces that conversations share."""

import os
import stat
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.backends.fake import FakeOptions
from engine.formats.kv_file import PieceHead, checksum, pieces, read_head, read_state, write_piece
from engine.scheduler.kv_folder import KvFolder
from engine.scheduler.kv_store import KvStore
from engine.scheduler.prefix_tree import Piece, PrefixTree, name_of
from tests.unit.test_scheduler import Engine, alone, sequence

SYSTEM = list(b"You are a helpful assistant that answers in verse, and never in prose. ")
MiB = 1 << 20


def chat(number: int) -> list[int]:
    return [*SYSTEM, *b"Conversation number ", 48 + number, *b" is about the sea and its birds."]


def stored(folder: Path, *, limit: int = MiB, memory: int = MiB, fingerprint="fake") -> KvStore:
    return KvStore(fingerprint, memory_bytes=memory, folder=KvFolder(folder, fingerprint, limit))


@pytest.mark.parametrize("memory", ["full", "window", "recurrent"])
def test_conversations_that_lost_their_slot_come_back_from_memory(memory: str) -> None:
    store = KvStore("fake", memory_bytes=MiB)
    engine = Engine(num_sequences=1, options=FakeOptions(memory=memory, window=200), store=store)
    for number in range(3):
        engine.run(sequence(str(number), chat(number)))
    for number in range(3):
        again = [*chat(number), *engine.answers[str(number), 0], *b" And then?"]
        s = sequence("again", again)
        engine.run(s)
        assert s.num_restored == len(again) - len(b" And then?") - 1 == s.num_reused
        assert engine.answers["again", 0] == alone(sequence("again", again))


def test_a_shared_beginning_is_kept_once() -> None:
    store = KvStore("fake", memory_bytes=MiB)
    engine = Engine(num_sequences=1, store=store)
    for number in range(4):
        engine.run(sequence(str(number), chat(number)))
    engine.run(sequence("last", b"x"))
    kept = [p for n in range(4) for p in store.match(chat(n)).pieces]
    assert len(set(kept)) == 4
    shared = len(SYSTEM) + len(b"Conversation number ")
    assert sorted(p.start for p in set(kept)) == [0, shared, shared, shared]


def test_owners_share_a_beginning_that_the_first_one_does_not_take_along() -> None:
    store = KvStore("fake", memory_bytes=MiB)
    engine = Engine(num_sequences=1, store=store)
    for number in range(5):
        engine.run(sequence(str(number), chat(number), cache_key=f"owner {number}"))
    engine.run(sequence("last", b"x"))
    shared = len(SYSTEM) + len(b"Conversation number ")
    starts = sorted(p.start for p in store._tree)
    # the first one's whole, the beginning once for all others, and their own rests
    assert starts == [0, 0, shared, shared, shared, shared]
    engine.scheduler.prefixes.forget("owner 0")
    engine.scheduler.prefixes.forget("owner 1")
    for number in (2, 3, 4):
        assert store.match(chat(number)).num_tokens == len(chat(number))
    for number in (0, 1):
        assert store.match(chat(number)).num_tokens == shared
    for number in (2, 3, 4):
        engine.scheduler.prefixes.forget(f"owner {number}")
    assert list(store._tree) == []


def test_what_has_to_make_room_goes_on_where_it_was() -> None:
    prompts = [[*b"number ", 48 + i, *b" of those that do not fit together"] for i in range(4)]
    rows = []
    for store in (None, KvStore("fake", memory_bytes=MiB)):
        engine = Engine(context=200, num_sequences=4, store=store)
        engine.run(*(sequence(str(i), p) for i, p in enumerate(prompts)), num_tokens=60)
        for i, prompt in enumerate(prompts):
            assert engine.answers[str(i), 0] == alone(sequence(str(i), prompt), 60)
        assert not engine.full
        rows.append(engine.backend.num_rows)
    assert rows[1] < rows[0]


@pytest.mark.parametrize("memory", ["full", "recurrent"])
def test_a_restart_finds_the_conversation_on_disk(tmp_path: Path, memory: str) -> None:
    options = FakeOptions(memory=memory)
    engine = Engine(options=options, store=stored(tmp_path))
    engine.run(sequence("before", chat(0), cache_key="k"))
    engine.scheduler.prefixes.close(10)
    files = list(pieces(tmp_path))
    assert files
    assert all(stat.S_IMODE(f.stat().st_mode) == 0o600 for f in files)
    assert stat.S_IMODE(files[0].parent.stat().st_mode) == 0o700
    again = [*chat(0), *engine.answers["before", 0], *b" And then?"]
    after = Engine(options=options, store=stored(tmp_path))
    s = sequence("after", again)
    after.run(s)
    assert s.num_restored == len(again) - len(b" And then?") - 1
    assert after.answers["after", 0] == alone(sequence("after", again))


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "gone", "other model"])
def test_a_damaged_file_is_never_used(tmp_path: Path, damage: str) -> None:
    engine = Engine(store=stored(tmp_path))
    engine.run(sequence("before", chat(0)))
    engine.scheduler.prefixes.close(10)
    store = stored(tmp_path, fingerprint="fake")
    (file,) = pieces(tmp_path)
    data = bytearray(file.read_bytes())
    match damage:
        case "flip":
            data[-1] ^= 1
            file.write_bytes(data)
        case "cut":
            file.write_bytes(data[: len(data) // 2])
        case "empty":
            file.write_bytes(b"")
        case "gone":
            file.unlink()
        case _:
            head = read_head(file)
            assert head is not None
            assert read_state(file, head.name, "another model") is None
            assert read_state(file, "another name", "fake") is None
            return
    after = Engine(store=store)
    s = sequence("after", chat(0))
    after.run(s)
    assert s.num_restored == 0
    assert after.answers["after", 0] == alone(sequence("after", chat(0)))
    assert not store.match(chat(0)).pieces
    assert not stored(tmp_path).match(chat(0)).pieces or damage == "gone"


def test_a_write_that_was_cut_off_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "fake"
    folder.mkdir()
    half = folder / "abc.kv.part"
    half.write_bytes(b"half")
    os.utime(half, (0, 0))
    assert not stored(tmp_path).match(SYSTEM).pieces
    assert list(folder.iterdir()) == []


def test_a_full_disk_costs_nothing_but_the_copy(tmp_path: Path, monkeypatch) -> None:
    def refuse(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("engine.scheduler.kv_folder.write_piece", refuse)
    store = stored(tmp_path, memory=600)
    engine = Engine(num_sequences=1, store=store)
    for number in range(3):
        engine.run(sequence(str(number), chat(number)))
        assert store.flush(10)
    assert engine.answers["2", 0] == alone(sequence("2", chat(2)))
    engine.run(sequence("x", b"y"))
    assert sum(p.num_bytes for p in store._tree) <= 600 + 800  # the latest is in hand


def test_the_disk_limit_drops_what_was_used_longest_ago(tmp_path: Path) -> None:
    store = stored(tmp_path, limit=2000)
    engine = Engine(num_sequences=1, store=store)
    for number in range(4):
        engine.run(sequence(str(number), [48 + number] * 150))
        engine.scheduler.prefixes.close(10)
    assert sum(f.stat().st_size for f in pieces(tmp_path)) <= 2600
    after = stored(tmp_path)
    assert after.match([51] * 150).num_tokens >= 150
    assert not after.match([48] * 150).pieces


def test_what_the_disk_limit_dropped_is_not_remembered_either(tmp_path: Path) -> None:
    """A busy worker remembered each piece that it had ever written: 2 kB of it, and every search went through it."""
    store = stored(tmp_path, limit=4000, memory=0)
    engine = Engine(num_sequences=1, store=store)
    for number in range(40):
        engine.run(sequence(str(number), [number] * 150))
        engine.scheduler.prefixes.close(10)
    files = set(pieces(tmp_path))
    assert {piece.file for piece in store._tree} == files
    assert 2 < len(files) < 10


def with_lost_files(store: KvStore, folder: Path) -> Engine:
    """A conversation whose files another worker deletes, and one that is written after it."""
    engine = Engine(num_sequences=1, store=store)
    engine.run(sequence("0", chat(0)))
    engine.scheduler.prefixes.close(10)
    for file in pieces(folder):
        file.unlink()
    engine.run(sequence("1", [7] * 150))
    engine.scheduler.prefixes.close(10)
    return engine


def test_what_never_fits_on_disk_drops_nothing(tmp_path: Path) -> None:
    store = stored(tmp_path, limit=2000)
    engine = Engine(num_sequences=1, store=store)
    engine.run(sequence("0", chat(0)))
    engine.scheduler.prefixes.close(10)
    before = set(pieces(tmp_path))
    assert before
    engine.run(sequence("1", [7] * 1000))
    engine.scheduler.prefixes.close(10)
    assert set(pieces(tmp_path)) == before


def test_what_another_worker_dropped_is_not_remembered_either(tmp_path: Path) -> None:
    store = stored(tmp_path, memory=0)
    with_lost_files(store, tmp_path)
    assert not store.match(chat(0)).pieces
    assert store.match([7] * 150).num_tokens >= 150


def test_what_lost_its_file_is_still_had_from_memory(tmp_path: Path) -> None:
    store = stored(tmp_path)
    engine = with_lost_files(store, tmp_path)
    again = sequence("again", chat(0))
    engine.run(again)
    assert again.num_restored == len(chat(0)) - 1


def test_a_turn_is_dropped_before_what_it_goes_on_from(tmp_path: Path) -> None:
    store = stored(tmp_path)
    engine = Engine(num_sequences=1, store=store)
    text = chat(0)
    for number in range(3):
        engine.run(sequence(str(number), text))
        engine.scheduler.prefixes.close(10)
        text = [*text, *engine.answers[str(number), 0], *(b" And then? " * 4)]
    line = store.match(text).pieces
    assert len(line) == 3
    times = [piece.file.stat().st_mtime_ns for piece in line if piece.file]
    assert len(times) == 3
    assert times == sorted(times, reverse=True)


def test_forgetting_takes_what_is_nobody_elses(tmp_path: Path) -> None:
    store = stored(tmp_path)
    engine = Engine(num_sequences=2, store=store)
    engine.run(sequence("0", chat(0), cache_key="a"))
    engine.run(sequence("1", chat(1), cache_key="b"))
    engine.scheduler.prefixes.close(10)
    engine.scheduler.prefixes.forget("b")
    assert store.match(chat(1)).num_tokens < len(chat(1))  # the shared beginning is a's too
    assert store.match(chat(0)).num_tokens == len(chat(0))
    engine.scheduler.prefixes.forget("a")
    assert not store.match(chat(0)).pieces
    assert list(pieces(tmp_path)) == []
    again = sequence("again", chat(0))
    engine.run(again)
    assert again.num_reused == 0  # not in the KV cache either


def test_everything_can_be_forgotten(tmp_path: Path) -> None:
    store = stored(tmp_path)
    engine = Engine(num_sequences=2, store=store)
    engine.run(sequence("0", chat(0), cache_key="a"), sequence("1", chat(1)))
    engine.scheduler.prefixes.close(10)
    engine.scheduler.prefixes.forget("")
    assert list(pieces(tmp_path)) == []
    assert not store.match(chat(0)).pieces
    again = sequence("again", chat(1))
    engine.run(again)
    assert again.num_reused == 0
    assert engine.answers["again", 0] == alone(sequence("again", chat(1)))


def test_reading_ahead_takes_the_file_from_the_owner_thread(tmp_path: Path) -> None:
    engine = Engine(store=stored(tmp_path))
    engine.run(sequence("before", chat(0)))
    engine.scheduler.prefixes.close(10)
    store = stored(tmp_path)
    store.read_ahead(chat(0))
    (piece,) = store.match(chat(0)).pieces
    assert piece.state is not None
    piece.file.unlink()
    assert store.fetch(piece) is not None


def test_heads_survive_the_round_trip(tmp_path: Path) -> None:
    state = bytes(range(256)) * 40
    head = PieceHead(
        "f" * 64, "name", "", 3, b"\1\0\0\0", ("k",), False, len(state), checksum(state)
    )
    path = write_piece(tmp_path / "new", head, state)
    assert read_head(path) == head
    assert read_state(path, "name", "f" * 64) == state


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=12), max_size=12))
def test_a_match_is_the_longest_that_was_ever_kept(texts: list[list[int]]) -> None:
    """Whatever was added in whatever order: what the tree finds is what brute force finds."""
    tree, kept = PrefixTree(), []
    for text in texts:
        match = tree.match(text)
        longest = max((shared(text, other) for other in kept), default=0)
        assert match.num_tokens == longest
        ends = [*(piece.start for piece in match.pieces[1:]), match.num_tokens]
        position = 0
        for piece, end in zip(match.pieces, ends, strict=False):
            assert piece.start == position
            assert piece.tokens[: end - piece.start] == text[piece.start : end]
            position = end
        if match.num_tokens < len(text):
            start = match.num_tokens
            parent = match.pieces[-1] if start else None
            tree.add(Piece(name_of(text, start), start, text[start:], 1, parent=parent))
            kept.append(text)


def shared(a: list[int], b: list[int]) -> int:
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return n


@pytest.mark.parametrize("first", ["a", "b"])
def test_nothing_of_a_forgotten_conversation_stays_with_another(tmp_path: Path, first: str) -> None:
    store = stored(tmp_path)
    engine = Engine(num_sequences=2, store=store)
    texts = {"a": chat(0), "b": chat(1)}
    for key, text in texts.items():
        engine.run(sequence(key, text, cache_key=key))
    engine.scheduler.prefixes.close(10)
    engine.scheduler.prefixes.forget(first)
    other = "b" if first == "a" else "a"
    own = len(SYSTEM) + len(b"Conversation number ")
    assert store.match(texts[first]).num_tokens <= own
    assert store.match(texts[other]).num_tokens == len(texts[other])
    kept = [read_head(path) for path in pieces(tmp_path)]
    assert all(
        bytes(texts[first][own:]) not in bytes(np.frombuffer(h.tokens, "<i4").astype("u1"))
        for h in kept
    )
