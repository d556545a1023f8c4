import os
from pathlib import Path

import pytest

from engine.hardware.fit import MemoryNeed
from engine.hardware.reality import (
    Outcome,
    corrected,
    outcome_file,
    outcome_reason,
    read_outcome,
    resident,
    write_outcome,
)

MIB = 1 << 20
NEED = MemoryNeed(100 * MIB, 50 * MIB, 20 * MIB, 164 * MIB, 80 * MIB)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF")
    return path


def test_what_a_load_took_corrects_the_next_prediction(model: Path, tmp_path: Path) -> None:
    outcome = Outcome(predicted=NEED.private, private=NEED.private - 30 * MIB, file=MIB)
    write_outcome(tmp_path / "cache", model, "llama.cpp", outcome)
    found = read_outcome(tmp_path / "cache", model, "llama.cpp")
    assert found == outcome
    better = corrected(NEED, found)
    assert better.private == outcome.private
    assert (better.weights, better.kv_cache, better.compute) == (100 * MIB, 50 * MIB, 20 * MIB)
    assert "176 MB instead of 206 MB (-15%)" in outcome_reason(outcome)


def test_other_models_backends_and_versions_of_a_file_are_not_meant(
    model: Path, tmp_path: Path
) -> None:
    write_outcome(tmp_path, model, "llama.cpp", Outcome(1, 1, 1))
    assert read_outcome(tmp_path, model, "torch-cpu") is None
    model.write_bytes(b"GGUF again")
    assert read_outcome(tmp_path, model, "llama.cpp") is None
    assert read_outcome(tmp_path, tmp_path / "gone.gguf", "llama.cpp") is None
    assert read_outcome(None, model, "llama.cpp") is None


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b'{"predicted": "1"}', b"\xff" * 9000, b"[" * 9000]
)
def test_a_file_that_cannot_be_read_is_no_outcome(text: bytes, model: Path, tmp_path: Path) -> None:
    file = outcome_file(tmp_path, model, "llama.cpp")
    assert file is not None
    file.parent.mkdir()
    file.write_bytes(text)
    assert read_outcome(tmp_path, model, "llama.cpp") is None


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome(0, 100, 0),
        Outcome(100 * MIB, 900 * MIB, 0),
        Outcome(-5, 100, 0),
        Outcome(100 * MIB, 1 << 60, 0),
        Outcome(100 * MIB, -1, 0),
    ],
)
def test_the_unbelievable_changes_nothing(outcome: Outcome) -> None:
    assert corrected(NEED, outcome) == NEED
    assert outcome_reason(outcome) == ""


def test_a_good_prediction_needs_no_words() -> None:
    assert outcome_reason(Outcome(1000, 1010, 0)) == ""
    assert corrected(NEED, None) == NEED


def test_a_correction_never_makes_less_than_nothing() -> None:
    small = MemoryNeed(1, 1, 1, 10, 0)
    assert corrected(small, Outcome(100, 60, 0)).overhead == 0


def test_this_process() -> None:
    memory = resident(os.getpid())
    assert memory is not None
    assert memory.private > 5 * MIB
    assert memory.file > MIB
    assert resident(2**22 + 1) is None


def test_a_folder_that_cannot_be_written_costs_nothing(model: Path, tmp_path: Path) -> None:
    (tmp_path / "measured").write_text("in the way")
    write_outcome(tmp_path, model, "llama.cpp", Outcome(1, 1, 1))
    assert read_outcome(tmp_path, model, "llama.cpp") is None
