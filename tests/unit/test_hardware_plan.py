"""Made-up machines and models: what is chosen, and which reasons are given."""

from dataclasses import dataclass, replace

import pytest

from engine.errors import InvalidRequest, OutOfMemory, SetupError, UnsupportedByBackend
from engine.hardware.cpu import Cpu
from engine.hardware.facts import ModelFacts, facts_from_gguf
from engine.hardware.fit import memory_needed
from engine.hardware.gpu import Gpu
from engine.hardware.parts import InstalledParts
from engine.hardware.plan import Plan, Wishes, make_plan
from engine.hardware.probe import Hardware, Memory
from engine.hardware.torch_fit import torch_ram_needed, vram_needed

GIB = 1 << 30
AVX2 = frozenset({"avx", "avx2", "fma", "f16c"})
ARM = frozenset({"neon", "dotprod"})

TINY = ModelFacts(
    "llama", 98_362_432, 8192, 30, 576, 49152, 9216, 23040, 134_515_008, "", repackable=False
)
"""SmolLM2-135M Q4_1."""
THREE_B = ModelFacts(
    "llama", 2_019_377_440, 131072, 28, 3072, 128256, 49152, 112 << 10, 3_212_749_888, ""
)
"""Llama-3.2-3B Q4_K_M."""
EIGHT_B = ModelFacts(
    "llama", 4_920_000_000, 131072, 32, 4096, 128256, 75776, 128 << 10, 8_030_261_312, ""
)
"""Llama-3.1-8B Q4_K_M."""
SEVENTY_B = ModelFacts(
    "llama", 42_500_000_000, 131072, 80, 8192, 128256, 151552, 320 << 10, 70_553_706_560, ""
)
GEMMA = replace(
    ModelFacts("gemma3", 2_500_000_000, 131072, 34, 2560, 262144, 51200, 20480, 3_880_099_328, ""),
    window=1024,
    window_bytes_per_token=118784,
    notes=("28 of 34 layers keep a sliding window only",),
)
HYBRID = ModelFacts(
    *("qwen35", 2_700_000_000, 262144, 32, 2560, 248320, 50000, 32768, 4_200_000_000),
    "its architecture qwen35 is not one of ours",
    state_bytes=24 << 20,
)
SHORT = replace(TINY, n_ctx_train=1024)
SILENT = replace(TINY, n_ctx_train=None, notes=("guessed",))
MILLION = replace(TINY, n_ctx_train=1_000_000)


def cpu(cores: int, threads: int = 0, **more: object) -> Cpu:
    threads = threads or cores
    return replace(Cpu("CPU", "x86_64", threads, cores, None, threads, cores, None, AVX2), **more)  # type: ignore[arg-type]


def ram(total: float, available: float, **more: int) -> Memory:
    return Memory(int(total * GIB), int(available * GIB), **more)


def gpu(name: str, total: float, free: float, capability: tuple[int, int], cuda: int = 130) -> Gpu:
    version = (cuda // 10, cuda % 10)
    return Gpu(
        0,
        "GPU-0",
        f"NVIDIA {name}",
        int(total * GIB),
        int(free * GIB),
        capability,
        "580.65",
        version,
    )


def pc(cpu: Cpu, memory: Memory, *gpus: Gpu, note: str = "") -> Hardware:
    return Hardware("Linux 6.1", cpu, memory, gpus, note)


RTX_4090 = gpu("GeForce RTX 4090", 23.99, 22.5, (8, 9))
RTX_3060 = gpu("GeForce RTX 3060", 12, 11.2, (8, 6))
GTX_1080 = gpu("GeForce GTX 1080", 8, 7.5, (6, 1))
A100 = gpu("A100-SXM4-40GB", 39.5, 39, (8, 0))
H200 = gpu("H200", 140.4, 139, (9, 0))
OLD_DRIVER = gpu("GeForce RTX 4090", 23.99, 22.5, (8, 9), cuda=124)
LAPTOP_GPU = gpu("GeForce RTX 3050 Laptop GPU", 4, 3.4, (8, 6))
BOTH = InstalledParts(torch=True, torch_cuda=True)
CPU_ONLY = InstalledParts()

WORKSTATION = pc(cpu(16, 32), ram(64, 55), RTX_4090)
LAPTOP = pc(cpu(8, 16), ram(16, 11))


@dataclass(frozen=True)
class Case:
    """One machine with one model, and what should come out."""

    name: str
    hardware: Hardware
    facts: ModelFacts
    threads: int
    reasons: tuple[str, ...]
    """Each is a part of one reason; all reasons are listed."""
    backend: str = "llama.cpp"
    context: int = 8192
    parts: InstalledParts = CPU_ONLY


CASES = [
    Case("laptop", LAPTOP, EIGHT_B, 8, ("no NVIDIA GPU: llama.cpp on up to 8 of 8 cores",)),
    Case("two cores", pc(cpu(2), ram(4, 3)), TINY, 2, ("llama.cpp on up to 2 of 2 cores",)),
    Case("one core", pc(cpu(1), ram(2, 1.5)), TINY, 1, ("llama.cpp on 1 of 1 core",)),
    Case("server", pc(cpu(64, 128), ram(512, 480)), SEVENTY_B, 64, ("64 of 64 cores",)),
    Case(
        "quota 1.5",
        pc(cpu(8, 16, quota=1.5), ram(16, 11)),
        TINY,
        1,
        ("llama.cpp on 1 of 8 cores", "CPU quota 1.5: 1 thread"),
    ),
    Case(
        "quota 4",
        pc(cpu(8, 16, quota=4.0), ram(16, 11)),
        TINY,
        4,
        ("4 of 8 cores", "CPU quota 4: up to 4 threads"),
    ),
    Case("wide quota", pc(cpu(8, 16, quota=32.0), ram(16, 11)), TINY, 8, ("8 of 8 cores",)),
    Case(
        "taskset -c 0",
        pc(cpu(8, 16, allowed_cpus=1, allowed_cores=1), ram(16, 11)),
        TINY,
        1,
        ("1 of 8 cores", "limited to 1 of 16 CPUs: 1 thread"),
    ),
    Case(
        "both threads of two cores",
        pc(cpu(8, 16, allowed_cpus=4, allowed_cores=2), ram(16, 11)),
        TINY,
        2,
        ("2 of 8 cores", "limited to 4 of 16 CPUs: up to 2 threads"),
    ),
    Case(
        "hybrid",
        pc(cpu(14, 20, performance_cores=6, allowed_cores=6), ram(32, 25)),
        EIGHT_B,
        6,
        ("6 of 14 cores", "6 of 14 cores are fast ones: up to 6 threads"),
    ),
    Case(
        "no AVX2",
        pc(cpu(4, features=frozenset({"avx"})), ram(8, 6)),
        TINY,
        4,
        ("4 of 4 cores", "no AVX2 instructions: it runs, slowly"),
    ),
    Case(
        "no AVX",
        pc(cpu(2, features=frozenset()), ram(4, 3)),
        TINY,
        2,
        ("2 of 2 cores", "no AVX instructions: it runs, very slowly"),
    ),
    Case("unknown SIMD", pc(cpu(4, features=None), ram(8, 6)), TINY, 4, ("4 of 4 cores",)),
    Case(
        "Raspberry Pi 5",
        pc(cpu(4, machine="aarch64", features=ARM), ram(8, 7)),
        EIGHT_B,
        4,
        ("4 of 4 cores",),
    ),
    Case(
        "old ARM board",
        pc(cpu(4, machine="aarch64", features=frozenset({"neon"})), ram(2, 1.5)),
        TINY,
        4,
        ("4 of 4 cores", "no dot-product instructions"),
    ),
    Case(
        "Apple silicon",
        pc(cpu(8, machine="arm64", features=ARM), ram(16, 9)),
        EIGHT_B,
        8,
        ("8 of 8 cores",),
    ),
    Case(
        "RTX 4090",
        WORKSTATION,
        EIGHT_B,
        15,
        ("NVIDIA GeForce RTX 4090, 24 GB: CUDA backend",),
        backend="torch-cuda",
        parts=BOTH,
    ),
    Case(
        "RTX 4090, torch missing",
        WORKSTATION,
        EIGHT_B,
        16,
        (
            "torch is not installed, so NVIDIA GeForce RTX 4090 stays unused: llama.cpp on up to 16 of 16",
        ),
    ),
    Case(
        "RTX 3060",
        pc(cpu(6, 12), ram(32, 20), RTX_3060),
        THREE_B,
        5,
        ("RTX 3060, 12 GB: CUDA backend",),
        backend="torch-cuda",
        parts=BOTH,
    ),
    Case(
        "GTX 1080",
        pc(cpu(6, 12), ram(32, 20), GTX_1080),
        EIGHT_B,
        6,
        ("NVIDIA GeForce GTX 1080 is too old (compute capability 6.1, 8.0 is needed): llama.cpp",),
        parts=BOTH,
    ),
    Case(
        "A100, just new enough",
        pc(cpu(4, 8), ram(16, 13), A100),
        EIGHT_B,
        3,
        ("A100-SXM4-40GB, 40 GB: CUDA backend",),
        backend="torch-cuda",
        parts=BOTH,
    ),
    Case(
        "H200",
        pc(cpu(16, 16), ram(128, 120), H200),
        EIGHT_B,
        15,
        ("NVIDIA H200, 140 GB: CUDA backend",),
        backend="torch-cuda",
        parts=BOTH,
    ),
    Case(
        "old and new GPU",
        pc(cpu(8, 16), ram(32, 20), GTX_1080, replace(RTX_3060, index=1)),
        THREE_B,
        7,
        ("RTX 3060, 12 GB: CUDA backend",),
        backend="torch-cuda",
        parts=BOTH,
    ),
    Case(
        "driver too old",
        pc(cpu(16, 32), ram(64, 55), OLD_DRIVER),
        EIGHT_B,
        16,
        (
            "the NVIDIA driver 580.65 is too old (CUDA 12.4, 13.0 is needed): llama.cpp on up to 16 of 16",
        ),
        parts=BOTH,
    ),
    Case(
        "driver broken",
        pc(cpu(16, 32), ram(64, 55), note="the NVIDIA driver does not answer: mismatch"),
        EIGHT_B,
        16,
        ("no NVIDIA GPU (the NVIDIA driver does not answer: mismatch); llama.cpp",),
        parts=BOTH,
    ),
    Case(
        "VRAM too small",
        pc(cpu(8, 16), ram(32, 20), LAPTOP_GPU),
        EIGHT_B,
        8,
        (
            "RTX 3050 Laptop GPU has 3.4 GB free, 16.8 GB are needed: llama.cpp on up to 8 of 8 cores",
        ),
        parts=BOTH,
    ),
    Case(
        "VRAM for half the context",
        pc(cpu(8, 16), ram(32, 20), gpu("GeForce RTX 3070", 8, 7.6, (8, 6))),
        THREE_B,
        7,
        ("RTX 3070, 8 GB: CUDA", "context 4,096 instead of 8,192: 7.6 GB GPU memory free"),
        backend="torch-cuda",
        context=4096,
        parts=BOTH,
    ),
    Case(
        "not for our decoder",
        WORKSTATION,
        HYBRID,
        16,
        (
            "our CUDA backend does not compute this file: its architecture qwen35 is not one of "
            "ours; llama.cpp on up to 16 of 16 cores",
        ),
        parts=BOTH,
    ),
    Case(
        "little main memory beside a GPU",
        pc(cpu(4), ram(64, 55, limit=GIB, used_of_limit=GIB // 4), RTX_4090),
        TINY,
        4,
        (
            "a CUDA process does not fit into 768 MB of main memory: llama.cpp on up to 4 of 4 cores",
        ),
        parts=BOTH,
    ),
    Case(
        "8 GB laptop",
        pc(cpu(4, 8), ram(8, 5.5)),
        EIGHT_B,
        4,
        ("4 of 4 cores", "context 4,096 instead of 8,192: 5.5 GB free"),
        context=4096,
    ),
    Case(
        "container of 600 MB",
        pc(cpu(8), ram(16, 12, limit=600 << 20, used_of_limit=80 << 20)),
        MILLION,
        8,
        ("8 of 8 cores",),
        context=8192,
    ),
    Case(
        "container of 500 MB",
        pc(cpu(8), ram(16, 12, limit=500 << 20, used_of_limit=80 << 20)),
        TINY,
        8,
        ("8 of 8 cores", "context 4,096 instead of 8,192: 420 MB free"),
        context=4096,
    ),
    Case("sliding window", LAPTOP, GEMMA, 8, ("8 of 8 cores", "28 of 34 layers")),
    Case("recurrent", LAPTOP, HYBRID, 8, ("8 of 8 cores",)),
    Case("trained for less", LAPTOP, SHORT, 8, ("8 of 8 cores",), context=1024),
    Case("claims a million", LAPTOP, MILLION, 8, ("8 of 8 cores",)),
    Case(
        "says nothing",
        LAPTOP,
        SILENT,
        8,
        ("8 of 8 cores", "does not say for which context", "guessed"),
        context=2048,
    ),
]


NEEDED = {
    "llama.cpp": memory_needed,
    "torch-cuda": vram_needed,
    "torch-cpu": torch_ram_needed,
}


def expect_reasons(plan: Plan, parts: tuple[str, ...]) -> None:
    assert len(plan.reasons) == len(parts), plan.reasons
    for reason, part in zip(plan.reasons, parts, strict=True):
        assert part in reason


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_machines(case: Case) -> None:
    plan = make_plan(case.hardware, case.facts, case.parts, Wishes())
    assert (plan.backend, plan.context) == (case.backend, case.context)
    assert (plan.decode_threads, plan.prefill_threads) == (case.threads, case.threads)
    assert plan.num_sequences == 8
    expect_reasons(plan, case.reasons)
    need = NEEDED[plan.backend]
    assert plan.needed == need(case.facts, context=plan.context, num_sequences=8)
    assert (plan.gpu is not None) == (plan.backend == "torch-cuda")


def test_does_not_fit() -> None:
    with pytest.raises(OutOfMemory) as caught:
        make_plan(LAPTOP, SEVENTY_B, CPU_ONLY, Wishes())
    error = caught.value
    least = memory_needed(SEVENTY_B, context=2048, num_sequences=8).total
    assert error.details == {"needed_bytes": least, "free_bytes": 11 * GIB}
    assert "11.0 GB are free" in error.message
    assert "smaller quantization" in error.hint
    assert "close other programs" in error.hint


def test_does_not_fit_into_a_container() -> None:
    small = pc(cpu(8), ram(16, 12, limit=GIB))
    with pytest.raises(OutOfMemory) as caught:
        make_plan(small, EIGHT_B, CPU_ONLY, Wishes())
    assert "1.0 GB are free within the limit" in caught.value.message
    assert "raise the limit" in caught.value.hint


def test_wished_context() -> None:
    plan = make_plan(LAPTOP, EIGHT_B, CPU_ONLY, Wishes(context=16384))
    assert plan.context == 16384
    expect_reasons(plan, ("8 of 8 cores",))


def test_wished_context_that_does_not_fit_is_halved_and_said() -> None:
    plan = make_plan(LAPTOP, EIGHT_B, CPU_ONLY, Wishes(context=131072))
    assert plan.context == 32768
    expect_reasons(plan, ("8 of 8", "context 32,768 instead of 131,072: 11.0 GB free"))


def test_wished_context_under_the_least_is_taken() -> None:
    assert make_plan(LAPTOP, EIGHT_B, CPU_ONLY, Wishes(context=64)).context == 64


def test_wished_context_beyond_training_is_warned_about() -> None:
    plan = make_plan(LAPTOP, SHORT, CPU_ONLY, Wishes(context=4096))
    assert plan.context == 4096
    expect_reasons(plan, ("8 of 8", "context 4,096 is more than the 1,024 tokens"))


def test_wished_context_moves_the_model_to_main_memory() -> None:
    machine = pc(cpu(8, 16), ram(64, 50), gpu("GeForce RTX 3070", 8, 7.6, (8, 6)))
    plan = make_plan(machine, THREE_B, BOTH, Wishes(context=32768))
    assert (plan.backend, plan.context) == ("llama.cpp", 32768)
    expect_reasons(plan, ("RTX 3070 has 7.6 GB free",))
    forced = make_plan(machine, THREE_B, BOTH, Wishes(context=32768, backend="torch-cuda"))
    assert (forced.backend, forced.context) == ("torch-cuda", 4096)


def test_wished_threads_win() -> None:
    plan = make_plan(LAPTOP, TINY, CPU_ONLY, Wishes(decode_threads=3))
    assert (plan.decode_threads, plan.prefill_threads) == (3, 7)
    assert not plan.follows_load
    expect_reasons(plan, ("llama.cpp on 3 of 8 cores", "7 threads, as chosen"))
    limited = pc(cpu(8, quota=1.5), ram(16, 11))
    plan = make_plan(limited, TINY, CPU_ONLY, Wishes(decode_threads=6, prefill_threads=6))
    assert (plan.decode_threads, plan.prefill_threads) == (6, 6)
    expect_reasons(plan, ("6 of 8", "6 threads, as chosen, on 1 usable core: expect it slow"))


def test_wished_sequences() -> None:
    plan = make_plan(LAPTOP, HYBRID, CPU_ONLY, Wishes(num_sequences=2))
    eight = make_plan(LAPTOP, HYBRID, CPU_ONLY, Wishes())
    assert plan.num_sequences == 2
    assert eight.needed.kv_cache - plan.needed.kv_cache == 6 * HYBRID.state_bytes


def test_llama_cpp_as_chosen() -> None:
    plan = make_plan(WORKSTATION, EIGHT_B, BOTH, Wishes(backend="llama.cpp"))
    assert plan.backend == "llama.cpp"
    expect_reasons(plan, ("as chosen: llama.cpp on up to 16 of 16 cores",))


@pytest.mark.parametrize(
    ("hardware", "facts", "parts", "why"),
    [
        (LAPTOP, EIGHT_B, BOTH, "no NVIDIA GPU"),
        (WORKSTATION, EIGHT_B, CPU_ONLY, "torch is not installed"),
        (WORKSTATION, HYBRID, BOTH, "its architecture qwen35 is not"),
        (WORKSTATION, SEVENTY_B, BOTH, "22.5 GB free"),
    ],
)
def test_cuda_as_chosen_but_impossible(
    hardware: Hardware, facts: ModelFacts, parts: InstalledParts, why: str
) -> None:
    with pytest.raises(UnsupportedByBackend, match=why) as caught:
        make_plan(hardware, facts, parts, Wishes(backend="torch-cuda"))
    assert "llama.cpp" in caught.value.hint


def test_torch_on_the_cpu_as_chosen() -> None:
    wishes = Wishes(backend="torch-cpu")
    plan = make_plan(WORKSTATION, GEMMA, InstalledParts(torch=True), wishes)
    assert (plan.backend, plan.gpu, plan.context) == ("torch-cpu", None, 8192)
    assert plan.needed == torch_ram_needed(GEMMA, context=8192, num_sequences=8)
    expect_reasons(plan, ("torch on the CPU, as chosen: exact, and slower than llama.cpp",))
    roomy = pc(cpu(8, 16), ram(24, 15))
    assert make_plan(roomy, THREE_B, BOTH, replace(wishes, context=1 << 15)).context == 1 << 13
    with pytest.raises(OutOfMemory, match="of memory with torch"):
        make_plan(LAPTOP, EIGHT_B, BOTH, wishes)
    with pytest.raises(UnsupportedByBackend, match="its architecture qwen35 is not"):
        make_plan(WORKSTATION, HYBRID, BOTH, wishes)
    with pytest.raises(UnsupportedByBackend, match="torch is not installed"):
        make_plan(WORKSTATION, TINY, CPU_ONLY, wishes)


@pytest.mark.parametrize("backend", [None, "llama.cpp", "torch-cuda", "torch-cpu"])
def test_llama_cpp_not_installed(backend: str | None) -> None:
    """It reads the vocabulary for all backends."""
    with pytest.raises(SetupError, match="not installed"):
        make_plan(WORKSTATION, TINY, InstalledParts(False, True, True), Wishes(backend=backend))


@pytest.mark.parametrize(
    ("wishes", "param"),
    [
        (Wishes(context=0), "context"),
        (Wishes(context=-5), "context"),
        (Wishes(context=1 << 25), "context"),
        (Wishes(num_sequences=0), "num_sequences"),
        (Wishes(num_sequences=257), "num_sequences"),
        (Wishes(decode_threads=0), "decode_threads"),
        (Wishes(prefill_threads=10_000), "prefill_threads"),
        (Wishes(backend="cuda"), "backend"),
        (Wishes(backend=""), "backend"),
    ],
)
def test_impossible_wishes(wishes: Wishes, param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        make_plan(LAPTOP, TINY, CPU_ONLY, wishes)
    assert caught.value.details["param"] == param
    assert caught.value.hint


def test_file_without_any_metadata_still_gets_a_plan() -> None:
    plan = make_plan(LAPTOP, facts_from_gguf({}, 98_362_432), CPU_ONLY, Wishes())
    assert plan.context == 2048
    assert any("guessed" in reason for reason in plan.reasons)
