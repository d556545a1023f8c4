from dataclasses import replace

from engine.hardware.cpu import Cpu
from engine.hardware.facts import ModelFacts
from engine.hardware.fit import MemoryNeed
from engine.hardware.placement import Placement
from engine.hardware.reasons import backend_reasons, context_reasons, thread_reasons

CPU = Cpu("CPU", "x86_64", 16, 8, None, 16, 8, None, frozenset({"avx", "avx2", "fma"}))
MODEL = ModelFacts("llama", 1, 8192, 30, 576, 49152, 9216, 23040, 1, "")
PLACED = Placement("llama.cpp", None, 8192, MemoryNeed(1, 1, 1, 1), 4 << 30)


def test_plain_machine_needs_one_sentence() -> None:
    assert backend_reasons(CPU, PLACED, "no NVIDIA GPU", 7) == [
        "no NVIDIA GPU: llama.cpp on 7 of 8 cores"
    ]
    assert thread_reasons(CPU, 7, chosen=False) == []
    assert context_reasons(MODEL, PLACED, 8192) == []


def test_threads_that_follow_the_load_are_the_most() -> None:
    (reason,) = backend_reasons(CPU, PLACED, "no NVIDIA GPU", 8, at_most=True)
    assert reason == "no NVIDIA GPU: llama.cpp on up to 8 of 8 cores"
    limited = replace(CPU, quota=4.0)
    assert thread_reasons(limited, 4, chosen=False, at_most=True) == [
        "CPU quota 4: up to 4 threads"
    ]
    assert thread_reasons(replace(CPU, quota=1.5), 1, chosen=False, at_most=True) == [
        "CPU quota 1.5: 1 thread"
    ]


def test_a_reason_with_a_colon_stays_readable() -> None:
    assert backend_reasons(CPU, PLACED, "no: it is split", 7) == [
        "no: it is split; llama.cpp on 7 of 8 cores"
    ]


def test_torch_on_the_cpu() -> None:
    placed = replace(PLACED, backend="torch-cpu")
    assert backend_reasons(CPU, placed, "as chosen", 7) == [
        "torch on the CPU, as chosen: exact, and slower than llama.cpp"
    ]
    noted = replace(MODEL, notes=("5 of 6 layers keep a sliding window only",))
    assert context_reasons(noted, placed, 8192) == []  # they keep everything there


def test_quota_that_does_not_bind_is_not_a_reason() -> None:
    assert thread_reasons(replace(CPU, quota=8.0), 7, chosen=False) == []
    assert thread_reasons(replace(CPU, quota=7.5), 6, chosen=False) == ["CPU quota 7.5: 6 threads"]


def test_chosen_threads() -> None:
    assert thread_reasons(CPU, 8, chosen=True) == ["8 threads, as chosen"]
    assert "on 8 usable cores: expect it slow" in thread_reasons(CPU, 9, chosen=True)[0]


def test_one_is_singular() -> None:
    one = replace(CPU, physical_cores=1, allowed_cores=1, logical_cpus=1, allowed_cpus=1)
    assert backend_reasons(one, PLACED, "x", 1) == ["x: llama.cpp on 1 of 1 core"]
    assert thread_reasons(one, 1, chosen=True) == ["1 thread, as chosen"]


def test_context() -> None:
    assert context_reasons(MODEL, replace(PLACED, context=4096), 8192) == [
        "context 4,096 instead of 8,192: 4.0 GB free"
    ]
    assert len(context_reasons(MODEL, replace(PLACED, context=8193), 8193)) == 1
    assert context_reasons(replace(MODEL, notes=("n",)), PLACED, 8192) == ["n"]
