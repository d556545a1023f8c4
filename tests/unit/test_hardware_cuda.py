from dataclasses import replace

import pytest

from engine.hardware.cpu import Cpu
from engine.hardware.cuda import pick_gpu
from engine.hardware.facts import ModelFacts
from engine.hardware.gpu import Gpu
from engine.hardware.parts import InstalledParts
from engine.hardware.probe import Hardware, Memory

GIB = 1 << 30
CARD = Gpu(0, "GPU-0", "NVIDIA A", 24 * GIB, 20 * GIB, (8, 9), "580.65", (13, 0))
CPU = Cpu("CPU", "x86_64", 8, 8, None, 8, 8)
BOTH = InstalledParts(torch=True, torch_cuda=True)
MODEL = ModelFacts("qwen3", GIB, 8192, 30, 576, 49152, 9216, 23040, GIB, "")


def machine(*gpus: Gpu, free: int = 16 * GIB, note: str = "") -> Hardware:
    return Hardware("Linux", CPU, Memory(16 * GIB, free), gpus, note)


def test_takes_the_able_gpu_with_most_free_memory() -> None:
    cards = (
        replace(CARD, index=0, vram_free=40 * GIB, compute_capability=(7, 5)),
        replace(CARD, index=1, vram_free=10 * GIB),
        replace(CARD, index=2, vram_free=20 * GIB),
    )
    picked = pick_gpu(machine(*cards), MODEL, BOTH)
    assert picked == cards[2]


@pytest.mark.parametrize(
    ("hardware", "why"),
    [
        (machine(), "no NVIDIA GPU"),
        (machine(note="CUDA_VISIBLE_DEVICES hides 1 of 1 GPUs"), "(CUDA_VISIBLE_DEVICES hides"),
        (
            machine(replace(CARD, compute_capability=(7, 9))),
            "compute capability 7.9, 8.0 is needed",
        ),
        (machine(replace(CARD, cuda=(12, 9))), "CUDA 12.9, 13.0 is needed"),
        (machine(CARD, free=GIB), "1.0 GB of main memory"),
    ],
)
def test_why_not(hardware: Hardware, why: str) -> None:
    picked = pick_gpu(hardware, MODEL, BOTH)
    assert isinstance(picked, str)
    assert why in picked


def test_torch_and_file() -> None:
    hardware = machine(CARD)
    assert "torch is not installed" in str(pick_gpu(hardware, MODEL, InstalledParts()))
    without_cuda = pick_gpu(hardware, MODEL, InstalledParts(torch=True))
    assert "without CUDA, so NVIDIA A stays unused" in str(without_cuda)
    unknown = replace(MODEL, decoder_problem="it is odd")
    for parts in (BOTH, InstalledParts()):  # installing torch would not help
        assert pick_gpu(hardware, unknown, parts) == (
            "our CUDA backend does not compute this file: it is odd"
        )
