"""`engine.hub.verify`: whole, damaged or unknown, by the names of files and by our own records (C30)."""

import hashlib
import os
import threading

import pytest

from engine.errors import ModelFormatError, SetupError
from engine.hub.verify import Verification, Verifier, named_sha256
from tests.helpers.foreign_trees import hf_file, model_bytes, ollama_model, put


@pytest.fixture
def verifier(tmp_path) -> Verifier:
    return Verifier(tmp_path / "records/checksums.json")


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_names_that_carry_a_hash(tmp_path):
    content = model_bytes("m")
    link = hf_file(tmp_path / "hub", "a/b", "m.gguf", content)
    blob = ollama_model(tmp_path / "ollama", "h/library/m/1b", {"model": content})
    assert named_sha256(link) == named_sha256(blob) == sha256(content)
    assert named_sha256(put(tmp_path / "blobs/m.gguf", content)) == ""
    assert named_sha256(put(tmp_path / "x" / sha256(content), content)) == ""


@pytest.mark.parametrize("program", ["hub", "ollama"])
def test_one_flipped_bit_is_found(tmp_path, verifier, program):
    content = bytes(3_000_000)
    if program == "hub":
        path = hf_file(tmp_path, "a/b", "m.gguf", content)
    else:
        path = ollama_model(tmp_path, "h/library/m/1b", {"model": content})
    whole = Verification("ok", (sha256(content),))
    assert verifier.verify([path]) == whole == verifier.known([path])
    status = path.stat()
    with path.open("r+b") as file:
        file.seek(2_999_999)
        file.write(b"\x01")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    found = verifier.verify([path])
    assert (found.state, found.damaged) == ("damaged", (path,))
    assert verifier.known([path]) == found


def test_an_unknown_file_is_held_against_what_it_was(tmp_path, verifier):
    path = put(tmp_path / "m.gguf", b"one")
    assert verifier.known([path]) is None
    assert verifier.verify([path]) == Verification("unknown", (sha256(b"one"),))
    assert verifier.verify([path]) == Verification("ok", (sha256(b"one"),))
    status = path.stat()
    path.write_bytes(b"two")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    for _ in range(2):
        assert verifier.verify([path]).state == "damaged"
    os.utime(path, ns=(0, 0))  # replaced on purpose
    assert verifier.known([path]) is None
    assert [verifier.verify([path]).state for _ in range(2)] == ["unknown", "ok"]


def test_one_bad_part_is_named(tmp_path, verifier):
    parts = [hf_file(tmp_path, "a/b", f"{n}.gguf", bytes([n])) for n in range(3)]
    parts[1].resolve().write_bytes(b"x")
    found = verifier.verify(parts)
    assert (found.state, found.damaged) == ("damaged", (parts[1],))
    assert found.sha256 == (sha256(b"\0"), sha256(b"x"), sha256(b"\2"))
    parts[1].resolve().write_bytes(b"\1")
    assert verifier.verify(parts).state == "ok"
    parts.append(put(tmp_path / "plain.gguf", b""))
    assert verifier.verify(parts).state == "unknown"


def test_progress_counts_all_files_and_cancelling_ends_it(tmp_path, verifier):
    files = [put(tmp_path / f"{n}", bytes(1_500_000)) for n in range(2)]
    seen: list[tuple[int, int]] = []
    verifier.verify(files, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (3_000_000, 3_000_000)
    assert seen == sorted(seen)
    cancelled = threading.Event()
    other = Verifier(tmp_path / "other.json")
    steps: list[int] = []

    def progress(done: int, total: int) -> None:
        steps.append(done)
        cancelled.set()

    assert other.verify(files, progress=progress, cancelled=cancelled) is None
    assert len(steps) == 1
    assert not (tmp_path / "other.json").exists()


def test_a_file_that_is_away_or_written_to_is_an_error_in_words(tmp_path, verifier):
    with pytest.raises(ModelFormatError, match="could not be read"):
        verifier.verify([tmp_path / "gone.gguf"])
    path = put(tmp_path / "m.gguf", bytes(2_000_000))

    def progress(done: int, total: int) -> None:
        if done == total:
            path.write_bytes(b"shorter")

    with pytest.raises(ModelFormatError, match="written to"):
        verifier.verify([path], progress=progress)
    assert verifier.known([path]) is None


@pytest.mark.parametrize("damage", [b"", b"{", b'{"version": 1}', b'{"version":1,"files":{"a":3}}'])
def test_damaged_records_are_set_aside(tmp_path, verifier, damage):
    path = put(tmp_path / "m.gguf", b"one")
    put(tmp_path / "records/checksums.json", damage)
    with pytest.raises(SetupError, match=r"checksums\.broken-1\.json"):
        verifier.verify([path])
    assert verifier.verify([path]).state == "unknown"


def test_names_that_are_no_text(tmp_path, verifier):
    path = put(tmp_path / os.fsdecode(b"\xff\n.gguf"), b"one")
    assert [verifier.verify([path]).state for _ in range(2)] == ["unknown", "ok"]
