import pytest

from engine.errors import OutOfMemory
from engine.hardware.facts import ModelFacts
from engine.hardware.fit import memory_needed
from engine.hardware.gpu import Gpu
from engine.hardware.placement import Placement, place_in_ram, place_on_gpu
from engine.hardware.probe import Memory
from engine.hardware.torch_fit import torch_ram_needed, vram_needed

GIB = 1 << 30
MODEL = ModelFacts("llama", GIB, 8192, 32, 4096, 32000, 75776, 128 << 10, GIB, "")


def in_ram(free: int, wanted: int, least: int) -> Placement:
    memory = Memory(free, free)
    return place_in_ram(MODEL, memory, "llama.cpp", wanted=wanted, least=least, num_sequences=1)


def test_just_fits_and_just_does_not() -> None:
    exact = memory_needed(MODEL, context=8192, num_sequences=1).total
    assert in_ram(exact, 8192, 2048).context == 8192
    assert in_ram(exact - 1, 8192, 2048).context == 4096


def test_stops_at_the_least_not_at_a_power_of_two() -> None:
    exact = memory_needed(MODEL, context=3000, num_sequences=1).total
    assert in_ram(exact, 10000, 3000).context == 3000
    with pytest.raises(OutOfMemory):
        in_ram(exact - (1 << 20) * 33, 10000, 3000)


def test_on_gpu() -> None:
    free = vram_needed(MODEL, context=4096, num_sequences=1).total
    card = Gpu(0, "GPU-0", "NVIDIA A", free, free, (8, 9), "580", (13, 0))
    placed = place_on_gpu(MODEL, card, wanted=8192, least=2048, num_sequences=1)
    assert isinstance(placed, Placement)
    assert (placed.backend, placed.gpu) == ("torch-cuda", card)
    assert (placed.context, placed.free) == (4096, free)
    refused = place_on_gpu(MODEL, card, wanted=8192, least=8192, num_sequences=1)
    assert isinstance(refused, str)
    assert refused.startswith("NVIDIA A has ")


def test_torch_in_main_memory() -> None:
    exact = torch_ram_needed(MODEL, context=4096, num_sequences=1).total
    size = {"wanted": 8192, "least": 2048, "num_sequences": 1}
    placed = place_in_ram(MODEL, Memory(exact, exact), "torch-cpu", **size)
    assert (placed.backend, placed.gpu, placed.context) == ("torch-cpu", None, 4096)
    with pytest.raises(OutOfMemory, match="with torch") as caught:
        place_in_ram(MODEL, Memory(GIB, GIB), "torch-cpu", **size)
    assert "Choose llama.cpp or a smaller model" in caught.value.hint
