from dataclasses import dataclass

import pytest

from engine.hardware.claims import MAX_COUNT, Claims


@dataclass
class Omitted:
    type: str
    length: int


def claims(**entries: object) -> Claims:
    return Claims(
        {"general.architecture": "llama", **{f"llama.{k}": v for k, v in entries.items()}}
    )


@pytest.mark.parametrize("value", [0, -1, 1 << 60, True, 3.0, "7", None, (7,), MAX_COUNT + 1])
def test_impossible_numbers_are_none(value: object) -> None:
    assert claims(n=value).number("n") is None


def test_numbers() -> None:
    assert claims(n=7).number("n") == 7
    assert claims(n=7).number("n", 6) is None
    assert claims().number("n") is None


@pytest.mark.parametrize("name", [None, 3, "", b"llama", ("llama",)])
def test_strange_architecture(name: object) -> None:
    assert Claims({"general.architecture": name}).architecture == "unknown"


def test_per_layer() -> None:
    assert claims(h=4).per_layer("h", 3) == (4, 4, 4)
    assert claims(h=(4, 0, 2)).per_layer("h", 3) == (4, 0, 2)
    assert claims(h=[4, 0, 2, 9]).per_layer("h", 3) == (4, 0, 2)
    assert claims(h=(4, 0)).per_layer("h", 3) is None
    assert claims(h=(4, -1, 2)).per_layer("h", 3) is None
    assert claims(h=Omitted("i32", 3)).per_layer("h", 3) is None
    assert claims(h=0).per_layer("h", 3) is None


def test_largest() -> None:
    assert claims(h=4).largest("h") == 4
    assert claims(h=(4, 9, 0, "x")).largest("h") == 9
    assert claims(h=(0, 0)).largest("h") is None
    assert claims().largest("h") is None


def test_flags() -> None:
    assert claims(f=(True, 0, 1, "yes")).flags("f", 4) == (True, False, True, False)
    assert claims(f=(True,)).flags("f", 2) is None
    assert claims(f=6).flags("f", 2) is None


def test_vocabulary() -> None:
    assert Claims({"tokenizer.ggml.tokens": ("a", "b")}).vocabulary() == 2
    assert Claims({"tokenizer.ggml.tokens": Omitted("strings", 49152)}).vocabulary() == 49152
    assert Claims({"tokenizer.ggml.tokens": Omitted("strings", -5)}).vocabulary() is None
    assert claims(vocab_size=99).vocabulary() == 99
    assert claims().vocabulary() is None
