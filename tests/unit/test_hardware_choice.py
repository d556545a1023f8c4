"""Which backend, for machines, files and wishes: a table. Files come out of the real reader, sizes are made up."""

from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import EngineError, InvalidRequest, OutOfMemory, SetupError, UnsupportedByBackend
from engine.formats.gguf import read_header
from engine.hardware.cpu import Cpu
from engine.hardware.facts import ModelFacts, facts_of
from engine.hardware.gpu import Gpu
from engine.hardware.parts import InstalledParts
from engine.hardware.plan import Wishes, make_plan
from engine.hardware.probe import Hardware, Memory
from tests.helpers.synthetic_model import write_model
from tests.helpers.tiny_gguf import TINY_TENSORS, gguf_bytes, tiny_metadata, tiny_model, tiny_split

GIB = 1 << 30
CPU = Cpu("CPU", "x86_64", 16, 8, None, 16, 8, None, frozenset({"avx", "avx2", "fma"}))

# GPU: (memory free in GiB, compute capability, CUDA of the driver)
GPUS: dict[str, list[tuple[float, tuple[int, int], tuple[int, int]]]] = {
    "none": [],
    "GTX 1080": [(7.5, (6, 1), (12, 8))],
    "V100": [(31.5, (7, 0), (13, 0))],
    "T4": [(14.7, (7, 5), (13, 0))],
    "A100": [(79.0, (8, 0), (13, 0))],
    "RTX 3050": [(3.4, (8, 6), (13, 0))],
    "RTX 3060": [(11.2, (8, 6), (13, 1))],
    "RTX 4090": [(22.5, (8, 9), (13, 0))],
    "RTX 4090, busy": [(1.0, (8, 9), (13, 0))],
    "RTX 4090, CUDA 12.4": [(22.5, (8, 9), (12, 4))],
    "H200": [(139.0, (9, 0), (13, 0))],
    "B200": [(178.0, (10, 0), (13, 0))],
    "RTX 5090": [(30.5, (12, 0), (13, 0))],
    "GTX 1080 + RTX 3060": [(7.5, (6, 1), (13, 0)), (11.2, (8, 6), (13, 0))],
    "RTX 3050 + RTX 4090": [(3.4, (8, 6), (13, 0)), (22.5, (8, 9), (13, 0))],
}

# What is installed
PARTS = {
    "none": InstalledParts(),
    "cpu": InstalledParts(torch=True),
    "cuda": InstalledParts(torch=True, torch_cuda=True),
    "no llama": InstalledParts(llama_cpp=False, torch=True, torch_cuda=True),
}

# File: (architecture, numbers and file in 10^9, kB of 16-bit cache a token, width, vocabulary)
SIZES = {
    "llama 135M": ("llama", 0.1345, 0.098, 22.5, 576, 49152),
    "llama 3B": ("llama", 3.213, 2.02, 112, 3072, 128256),
    "llama 8B": ("llama", 8.03, 4.92, 128, 4096, 128256),
    "llama 8B F16": ("llama", 8.03, 16.1, 128, 4096, 128256),
    "llama 70B": ("llama", 70.55, 42.5, 320, 8192, 128256),
    "qwen2 7B": ("qwen2", 7.62, 4.68, 56, 3584, 152064),
    "qwen3 4B": ("qwen3", 4.02, 2.5, 144, 2560, 151936),
    "qwen3 32B": ("qwen3", 32.76, 19.8, 256, 5120, 151936),
    "gemma3 4B": ("gemma3", 3.88, 2.5, 136, 2560, 262144),
    "gemma3 27B": ("gemma3", 27.0, 16.5, 496, 5376, 262144),
}

GONE = OutOfMemory
NOT_SO = UnsupportedByBackend

# GPU, GiB of main memory free, torch, file, wish → backend or error, words in the first reason or the message
ROWS: list[tuple[str, float, str, str, str, str | type[EngineError], str]] = [
    # --- the GPU decides ---
    ("none", 11, "none", "llama 8B", "", "llama.cpp", "no NVIDIA GPU: llama.cpp on up to 8 of 8"),
    ("none", 11, "cpu", "llama 8B", "", "llama.cpp", "no NVIDIA GPU"),
    ("none", 11, "cuda", "llama 8B", "", "llama.cpp", "no NVIDIA GPU"),
    ("none", 11, "cuda", "mamba", "", "llama.cpp", "no NVIDIA GPU: llama.cpp"),
    ("GTX 1080", 20, "cuda", "llama 135M", "", "llama.cpp", "capability 6.1, 8.0 is needed"),
    ("V100", 20, "cuda", "llama 8B", "", "llama.cpp", "capability 7.0, 8.0 is needed"),
    ("T4", 20, "cuda", "llama 3B", "", "llama.cpp", "capability 7.5, 8.0 is needed"),
    ("A100", 50, "cuda", "llama 8B", "", "torch-cuda", "A100"),
    ("RTX 3060", 20, "cuda", "llama 3B", "", "torch-cuda", "RTX 3060"),
    ("RTX 4090", 50, "cuda", "llama 8B", "", "torch-cuda", "RTX 4090, 23 GB: CUDA backend"),
    ("RTX 5090", 50, "cuda", "llama 8B", "", "torch-cuda", "RTX 5090"),
    ("H200", 120, "cuda", "qwen3 32B", "", "torch-cuda", "H200"),
    ("RTX 4090, CUDA 12.4", 50, "cuda", "llama 8B", "", "llama.cpp", "driver 580 is too old"),
    ("GTX 1080 + RTX 3060", 20, "cuda", "llama 3B", "", "torch-cuda", "RTX 3060"),
    ("GTX 1080 + RTX 3060", 20, "cuda", "llama 8B", "", "llama.cpp", "11.2 GB free"),
    ("RTX 3050 + RTX 4090", 20, "cuda", "llama 8B", "", "torch-cuda", "RTX 4090"),
    # --- what is installed ---
    ("RTX 4090", 50, "none", "llama 8B", "", "llama.cpp", "torch is not installed, so"),
    ("RTX 4090", 50, "cpu", "llama 8B", "", "llama.cpp", "without CUDA, so"),
    ("RTX 4090", 50, "no llama", "llama 8B", "", SetupError, "llama.cpp is not installed"),
    ("RTX 4090", 50, "no llama", "llama 8B", "torch-cuda", SetupError, "llama.cpp is not"),
    ("none", 50, "no llama", "llama 8B", "torch-cpu", SetupError, "llama.cpp is not"),
    # --- room: 2 bytes a number, whatever the file is packed in ---
    ("RTX 3050", 20, "cuda", "llama 135M", "", "torch-cuda", "RTX 3050"),
    ("RTX 3050", 20, "cuda", "llama 3B", "", "llama.cpp", "3.4 GB free"),
    ("RTX 3060", 20, "cuda", "llama 8B", "", "llama.cpp", "11.2 GB free, 16.8 GB are needed"),
    ("RTX 3060", 20, "cuda", "qwen3 4B", "", "torch-cuda", "RTX 3060"),
    ("RTX 3060", 20, "cuda", "gemma3 4B", "", "torch-cuda", "RTX 3060"),
    ("RTX 4090", 50, "cuda", "qwen2 7B", "", "torch-cuda", "RTX 4090"),
    ("RTX 4090", 50, "cuda", "llama 8B F16", "", "torch-cuda", "RTX 4090"),
    ("RTX 4090", 50, "cuda", "qwen3 32B", "", "llama.cpp", "22.5 GB free"),
    ("RTX 4090", 50, "cuda", "gemma3 27B", "", "llama.cpp", "22.5 GB free"),
    ("RTX 4090, busy", 50, "cuda", "llama 135M", "", "torch-cuda", "RTX 4090, busy"),
    ("RTX 4090, busy", 50, "cuda", "llama 3B", "", "llama.cpp", "1.0 GB free"),
    ("A100", 50, "cuda", "qwen3 32B", "", "torch-cuda", "A100"),
    ("A100", 50, "cuda", "gemma3 27B", "", "torch-cuda", "A100"),
    ("H200", 120, "cuda", "llama 70B", "", "llama.cpp", "139.0 GB free"),
    ("B200", 120, "cuda", "llama 70B", "", "torch-cuda", "B200"),
    ("RTX 4090", 1, "cuda", "llama 135M", "", "llama.cpp", "1.0 GB of main memory"),
    ("RTX 4090", 20, "cuda", "llama 70B", "", GONE, "20.0 GB are free"),
    # --- files that our decoder does not compute ---
    ("RTX 4090", 50, "cuda", "mamba", "", "llama.cpp", "architecture mamba is not one of ours"),
    ("RTX 4090", 50, "cuda", "qwen3moe", "", "llama.cpp", "architecture qwen3moe"),
    ("RTX 4090", 50, "none", "mamba", "", "llama.cpp", "does not compute this file: its"),
    ("RTX 4090", 50, "cuda", "experts", "", "llama.cpp", "llama.expert_count"),
    ("RTX 4090", 50, "cuda", "yarn", "", "llama.cpp", "scaled by yarn; llama.cpp on up to 8"),
    ("RTX 4090", 50, "cuda", "unknown tensor", "", "llama.cpp", "tensor blk.0.attn_sinks.weight"),
    ("RTX 4090", 50, "cuda", "lacks tensors", "", "llama.cpp", "lacks the tensor"),
    ("RTX 4090", 50, "cuda", "split", "", "llama.cpp", "split into several files"),
    ("RTX 4090", 50, "cuda", "silent", "", "llama.cpp", "architecture unknown"),
    # --- wishes ---
    (
        "RTX 4090",
        50,
        "cuda",
        "llama 8B",
        "llama.cpp",
        "llama.cpp",
        "as chosen: llama.cpp on up to 8",
    ),
    ("RTX 4090", 50, "cuda", "llama 8B", "torch-cuda", "torch-cuda", "CUDA backend"),
    ("none", 50, "cuda", "llama 8B", "torch-cuda", NOT_SO, "no NVIDIA GPU"),
    ("T4", 50, "cuda", "llama 3B", "torch-cuda", NOT_SO, "7.5, 8.0 is needed"),
    ("RTX 4090", 50, "cpu", "llama 8B", "torch-cuda", NOT_SO, "without CUDA"),
    ("RTX 4090", 50, "cuda", "qwen3 32B", "torch-cuda", NOT_SO, "22.5 GB free"),
    ("RTX 4090", 50, "cuda", "mamba", "torch-cuda", NOT_SO, "run this model: its architecture"),
    ("none", 50, "cuda", "split", "torch-cuda", NOT_SO, "run this model: it is split"),
    ("none", 2, "cpu", "llama 135M", "torch-cpu", "torch-cpu", "torch on the CPU, as chosen"),
    ("RTX 4090", 50, "cuda", "llama 8B", "torch-cpu", "torch-cpu", "slower than llama.cpp"),
    ("none", 11, "cpu", "llama 8B", "torch-cpu", GONE, "with torch, and 11.0 GB are free"),
    ("none", 50, "none", "llama 135M", "torch-cpu", NOT_SO, "torch is not installed"),
    ("none", 50, "cpu", "experts", "torch-cpu", NOT_SO, "which our decoder does not know"),
    ("none", 50, "cpu", "unknown tensor", "torch-cpu", NOT_SO, "blk.0.attn_sinks.weight"),
    ("none", 50, "cuda", "llama 8B", "cuda", InvalidRequest, "no backend “cuda”"),
]


def machine(gpu: str, free: float) -> Hardware:
    names = gpu.split(" + ") if " + " in gpu else [gpu]
    gpus = [
        Gpu(i, f"GPU-{i}", f"NVIDIA {name}", int(room * GIB) + GIB // 2, int(room * GIB), *rest)
        for i, (name, (room, capability, cuda)) in enumerate(zip(names, GPUS[gpu], strict=False))
        for rest in [(capability, "580", cuda)]
    ]
    memory = Memory(256 * GIB, int(free * GIB))
    return Hardware("Linux", CPU, memory, tuple(gpus))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ModelFacts]:
    """Facts by the table's names."""
    folder = tmp_path_factory.mktemp("files")

    def read(path: Path) -> ModelFacts:
        header = read_header(path)
        return facts_of(header, header.file_bytes)

    small = {
        name: read(write_model(folder / f"{name}.gguf", name))
        for name in ("llama", "qwen2", "qwen3", "gemma3")
    }
    facts = {
        name: replace(
            small[architecture],
            n_parameters=int(numbers * 1e9),
            weights_bytes=int(packed * 1e9),
            kv_bytes_per_token=int(cache * 1024),
            window=0,
            window_bytes_per_token=0,
            n_embd=width,
            row_width=20 * width,
            n_vocab=vocabulary,
            n_ctx_train=131072,
        )
        for name, (architecture, numbers, packed, cache, width, vocabulary) in SIZES.items()
    }
    odd = {
        "experts": {"expert_count": 8, "expert_used_count": 2},
        "yarn": {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0},
    }
    for name, metadata in odd.items():
        facts[name] = read(write_model(folder / f"{name}.gguf", "llama", metadata=metadata))
    sinks = [*TINY_TENSORS, replace(TINY_TENSORS[1], name="blk.0.attn_sinks.weight")]
    path = folder / "sinks.gguf"
    path.write_bytes(gguf_bytes(tiny_metadata(), sinks))
    facts["unknown tensor"] = read(path)
    facts["lacks tensors"] = read(tiny_model(folder / "tiny.gguf"))
    for name in ("mamba", "qwen3moe"):
        facts[name] = read(tiny_model(folder / f"{name}.gguf", general__architecture=name))
    path = folder / "silent.gguf"
    path.write_bytes(gguf_bytes({"general.name": "x"}, TINY_TENSORS))
    facts["silent"] = read(path)
    facts["split"] = read(tiny_split(folder, "split", 2)[0])
    return facts


@pytest.mark.parametrize(
    ("gpu", "free", "torch", "file", "wish", "outcome", "words"),
    ROWS,
    ids=[f"{r[0]}, {r[1]:g} GB, {r[2]}, {r[3]}, {r[4] or '-'}" for r in ROWS],
)
def test_choice(
    gpu: str,
    free: float,
    torch: str,
    file: str,
    wish: str,
    outcome: str | type[EngineError],
    words: str,
    files: dict[str, ModelFacts],
) -> None:
    wishes = Wishes(backend=wish or None)
    if isinstance(outcome, str):
        plan = make_plan(machine(gpu, free), files[file], PARTS[torch], wishes)
        assert plan.backend == outcome
        assert words in plan.reasons[0]
        return
    with pytest.raises(outcome) as caught:
        make_plan(machine(gpu, free), files[file], PARTS[torch], wishes)
    assert type(caught.value) is outcome
    assert words in caught.value.message
    assert caught.value.hint


def test_the_table_is_as_long_as_it_should_be() -> None:
    assert len({row[:5] for row in ROWS}) == len(ROWS) >= 60
