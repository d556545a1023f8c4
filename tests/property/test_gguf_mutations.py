"""Headers under 4 kB, damaged by chance, ten thousand of them in one process: each is read or refused, and none takes memory.

The default suite takes a thousand; all of them are marked slow.
"""

import random
import struct
import tracemalloc
from collections import Counter
from pathlib import Path

import pytest

from engine.errors import ModelFormatError
from engine.formats.gguf import read_header
from engine.hardware.facts import facts_of
from engine.hardware.fit import memory_needed
from tests.helpers.tiny_gguf import TINY_TENSORS, Typed, TypedArray, gguf_bytes, tiny_metadata

MOST_BYTES = 8 << 20
"""Python's own peak while one header is read."""
BOLD = (0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
"""Numbers that overflow or claim too much."""
WHOLE = gguf_bytes(tiny_metadata(), TINY_TENSORS)
SEEDS = (
    gguf_bytes(tiny_metadata(), TINY_TENSORS, with_data=False),
    gguf_bytes({"general.architecture": "llama", "a": TypedArray(4, [1] * 40)}, TINY_TENSORS),
    gguf_bytes(tiny_metadata(num_tokens=5, split__count=Typed(2, 3)), version=2),
    WHOLE,
)


def mutated(random_: random.Random) -> bytes:
    data = bytearray(random_.choice(SEEDS)[:4096])
    for _ in range(random_.choice((1, 1, 1, 2, 4, 16))):
        place = random_.randrange(len(data))
        match random_.randrange(6):
            case 0:
                data[place] = random_.randrange(256)
            case 1:
                data[place : place + 8] = struct.pack("<Q", random_.choice(BOLD))
            case 2:
                data[place : place + 4] = struct.pack("<I", random_.choice(BOLD) & 0xFFFFFFFF)
            case 3:
                del data[place : place + random_.randrange(1, 64)]
            case 4:
                data[place:place] = data[place : place + random_.randrange(1, 64)]
            case _:
                del data[max(1, place) :]
        if not data:
            data = bytearray(b"G")
    return bytes(data[:4096])


def look_at(number: int, folder: Path) -> str:
    """Read, and work out what it needs: `read`, or the words of the refusal without numbers."""
    path = folder / "x.gguf"
    path.write_bytes(mutated(random.Random(number)))
    refused: ModelFormatError | None = None
    try:
        header = read_header(path)
    except ModelFormatError as error:
        refused = error
    if refused:
        assert refused.message.startswith("x.gguf ")
        assert refused.hint
        assert refused.details["file"] == "x.gguf"
        return refused.message.split(":")[0]
    need = memory_needed(facts_of(header, header.file_bytes), context=8192, num_sequences=8)
    assert 0 < need.total < 1 << 63
    return "read"


def run(count: int, folder: Path) -> Counter[str]:
    look_at(0, folder)
    seen: Counter[str] = Counter()
    tracemalloc.start()
    try:
        for number in range(count):
            tracemalloc.reset_peak()
            seen[look_at(number, folder)] += 1
            _, peak = tracemalloc.get_traced_memory()
            assert peak < MOST_BYTES, f"header {number} took {peak:,} bytes"
    finally:
        tracemalloc.stop()
    return seen


def test_a_thousand_damaged_headers(tmp_path: Path) -> None:
    seen = run(1000, tmp_path)
    assert seen["read"] > 50, "the damage leaves some alive"
    assert seen["x.gguf is damaged"] > 50, seen
    assert seen.total() == 1000


@pytest.mark.slow
def test_ten_thousand_damaged_headers(tmp_path: Path) -> None:
    assert run(10_000, tmp_path).total() == 10_000
