"""What is on disk of a download is what was written, after any interruption; nothing else is believed."""

import hashlib
import os
import random
import tempfile
from contextlib import closing
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import DiskFull, ServiceUnavailable, SetupError
from engine.hub import part_file
from engine.hub.part_file import PartFile, bytes_on_disk, write_at

BLOCK = 16


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch) -> None:
    monkeypatch.setattr(part_file, "BLOCK", BLOCK)


def opened(folder: Path, size: int) -> PartFile:
    return PartFile(folder / "blobs" / "x.part", folder / "x.lock", size)


def put(part: PartFile, block: int, data: bytes) -> None:
    start, end = part.span(block)
    part.write(block, memoryview(data[start:end]))


def fetch_all(part: PartFile, data: bytes) -> int:
    """Fetch what is missing as a transfer would; returns how many blocks were fetched."""
    fetched = 0
    while not part.complete:
        while (blocks := part.take(2, 1, 3)) is not None:
            for block in blocks:
                put(part, block, data)
                fetched += 1
        part.hash_on(1000)
    return fetched


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_any_interruption_costs_only_what_was_not_written(data) -> None:
    size = data.draw(st.integers(1, 30 * BLOCK))
    content = random.Random(size).randbytes(size)
    with tempfile.TemporaryDirectory() as name, patch.object(part_file, "BLOCK", BLOCK):
        written: set[int] = set()
        for _ in range(data.draw(st.integers(1, 3))):
            # What a killed process leaves is the same: closing writes nothing.
            with closing(opened(Path(name), size)) as part:
                assert part.done_bytes == sum(b - a for a, b in map(part.span, written))
                for _ in range(data.draw(st.integers(0, 12))):
                    blocks = part.take(
                        data.draw(st.integers(1, 4)), 1, data.draw(st.integers(1, 8))
                    )
                    if blocks is None:
                        break
                    assert written.isdisjoint(blocks)
                    kept = data.draw(st.integers(0, len(blocks)))
                    for block in blocks[:kept]:
                        put(part, block, content)
                        written.add(block)
                    part.give_back(blocks)
                    part.hash_on(data.draw(st.integers(0, 5)))
        assert bytes_on_disk(part.path, size) == part.done_bytes
        part = opened(Path(name), size)
        assert fetch_all(part, content) == part.num_blocks - len(written)
        assert part.sha256 == hashlib.sha256(content).hexdigest()
        part.finish()
        assert part.path.read_bytes() == content
        part.close()


def test_damaged_blocks_are_fetched_again_and_no_others(tmp_path) -> None:
    content = random.Random(1).randbytes(10 * BLOCK + 5)
    part = opened(tmp_path, len(content))
    for block in range(part.num_blocks):
        put(part, block, content)
    part.close()
    damaged = bytearray(content)
    damaged[3 * BLOCK] ^= 1
    damaged[-1] ^= 1
    part.path.write_bytes(damaged)
    part = opened(tmp_path, len(content))
    part.hash_on(1000)
    assert part.hashed == 3
    assert fetch_all(part, content) == 2
    assert part.sha256 == hashlib.sha256(content).hexdigest()
    part.close()


def test_a_part_that_is_too_long_is_cut(tmp_path) -> None:
    content = random.Random(2).randbytes(3 * BLOCK + 1)
    part = opened(tmp_path, len(content))
    for block in range(part.num_blocks):
        put(part, block, content)
    part.close()
    part.path.write_bytes(content + b"more")
    part = opened(tmp_path, len(content))
    assert fetch_all(part, content) == 0
    part.close()
    assert part.path.read_bytes() == content


@pytest.mark.parametrize("journal", [None, b"", b"junk", b"INGLPART" + bytes(400)])
def test_a_part_without_a_good_journal_is_believed_only_when_complete(tmp_path, journal) -> None:
    content = random.Random(3).randbytes(5 * BLOCK)
    path = tmp_path / "blobs" / "x.part"
    path.parent.mkdir()
    for on_disk in (content, content[:-1], content + b"!"):
        path.write_bytes(on_disk)
        path.with_name("x.part.journal").unlink(missing_ok=True)
        if journal is not None:
            path.with_name("x.part.journal").write_bytes(journal)
        part = opened(tmp_path, len(content))
        assert part.adopted == (on_disk is content)
        assert fetch_all(part, content) == (0 if on_disk is content else part.num_blocks)
        assert part.sha256 == hashlib.sha256(content).hexdigest()
        part.close(remove=True)


def test_a_journal_of_another_size_is_of_another_file(tmp_path) -> None:
    part = opened(tmp_path, 4 * BLOCK)
    put(part, 0, bytes(4 * BLOCK))
    part.close()
    part = opened(tmp_path, 5 * BLOCK)
    assert part.done_bytes == 0
    part.close()


def test_a_block_that_is_there_is_never_written_again(tmp_path) -> None:
    part = opened(tmp_path, 2 * BLOCK)
    put(part, 0, b"a" * 2 * BLOCK)
    part.hash_on(9)
    put(part, 0, b"b" * 2 * BLOCK)
    put(part, 1, b"a" * 2 * BLOCK)
    part.hash_on(9)
    part.close()
    assert part.path.read_bytes() == b"a" * 2 * BLOCK


def test_half_a_block_is_kept_for_the_next_connection(tmp_path) -> None:
    part = opened(tmp_path, 2 * BLOCK)
    blocks = part.take(1)
    assert blocks is not None
    part.give_back(blocks, (0, b"half"))
    assert (part.half(0), part.half(0)) == (b"half", b"")
    part.close()


def test_two_cannot_write_one_part(tmp_path) -> None:
    part = opened(tmp_path, BLOCK)
    with pytest.raises(ServiceUnavailable):
        opened(tmp_path, BLOCK)
    part.close()
    opened(tmp_path, BLOCK).close()


def test_nothing_is_written_after_it_was_closed(tmp_path) -> None:
    part = opened(tmp_path, BLOCK)
    part.close()
    put(part, 0, bytes(BLOCK))
    assert part.path.stat().st_size == 0


def test_a_full_disk_is_named_and_costs_nothing_that_was_there(tmp_path, monkeypatch) -> None:
    content = random.Random(4).randbytes(4 * BLOCK)
    part = opened(tmp_path, len(content))
    put(part, 0, content)

    def full(*args) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(part_file, "write_at", full)
    with pytest.raises(DiskFull, match="by itself"):
        put(part, 1, content)
    part.close()
    monkeypatch.setattr(part_file, "write_at", write_at)
    part = opened(tmp_path, len(content))
    assert fetch_all(part, content) == 3
    part.close()


def test_a_link_in_place_of_the_part_is_not_followed(tmp_path) -> None:
    canary = tmp_path / "canary"
    canary.write_text("safe")
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "x.part").symlink_to(canary)
    with pytest.raises(SetupError):
        opened(tmp_path, BLOCK)
    assert canary.read_text() == "safe"
    (tmp_path / "blobs" / "x.part").unlink()
    opened(tmp_path, BLOCK).close()


def test_an_empty_file_is_complete_at_once(tmp_path) -> None:
    part = opened(tmp_path, 0)
    assert part.complete
    assert part.take(4) is None
    part.close(remove=True)
    assert list((tmp_path / "blobs").iterdir()) == []
