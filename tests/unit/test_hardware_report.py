import json
from dataclasses import replace

from engine.hardware.cpu import Cpu
from engine.hardware.facts import ModelFacts
from engine.hardware.gpu import Gpu
from engine.hardware.parts import InstalledParts
from engine.hardware.plan import Wishes, make_plan
from engine.hardware.probe import Hardware, Memory, probe
from engine.hardware.report import as_json, plan_as_json, report

GIB = 1 << 30
CPU = Cpu("Ryzen", "x86_64", 16, 8, None, 16, 8, None, frozenset({"avx2", "avx", "fma"}))
CARD = Gpu(0, "GPU-0", "NVIDIA RTX 4090", 24 * GIB, 20 * GIB, (8, 9), "580.65", (13, 0))
PLAIN = Hardware("Linux 6.1", CPU, Memory(16 * GIB, 11 * GIB))
RICH = replace(PLAIN, gpus=(CARD,))
MODEL = ModelFacts("llama", GIB, 8192, 30, 576, 49152, 9216, 23040, GIB, "")


def test_plain_machine() -> None:
    assert report(PLAIN) == [
        ("System", "Linux 6.1, x86_64"),
        ("Processor", "Ryzen"),
        ("Cores", "8 physical, 16 logical; 8 usable"),
        ("Instructions", "avx, avx2, fma"),
        ("Memory", "16.0 GB, 11.0 GB available"),
        ("GPU", "no NVIDIA GPU"),
    ]


def test_container() -> None:
    """C47: the limits are shown."""
    boxed = Cpu("Ryzen", "x86_64", 16, 8, 6, 4, 2, 1.5, frozenset())
    memory = Memory(
        16 * GIB, 11 * GIB, limit=2 * GIB, used_of_limit=GIB // 2, address_space=4 * GIB
    )
    lines = dict(report(Hardware("Linux", boxed, memory)))
    assert lines["Cores"] == (
        "8 physical, 16 logical, 6 fast; limited to 4 of 16 CPUs; CPU quota 1.5; 1 usable"
    )
    assert "no AVX instructions" in lines["Instructions"]
    assert "the container may use 2.0 GB and uses 512 MB" in lines["Memory"]
    assert "address space limited to 4.0 GB" in lines["Memory"]


def test_limit_above_the_memory_is_not_shown() -> None:
    wide = replace(PLAIN, memory=Memory(16 * GIB, 11 * GIB, limit=32 * GIB))
    assert dict(report(wide))["Memory"] == "16.0 GB, 11.0 GB available"


def test_unknown_instructions_and_gpu_note() -> None:
    odd = replace(PLAIN, cpu=replace(CPU, features=None), gpu_note="driver does not answer")
    lines = dict(report(odd))
    assert lines["Instructions"] == "unknown"
    assert lines["GPU"] == "driver does not answer"


def test_gpu() -> None:
    assert (
        "GPU 0",
        "NVIDIA RTX 4090, 24.0 GB, 20.0 GB free; compute capability 8.9, driver 580.65, CUDA 13.0",
    ) in report(RICH)


def test_json_is_builtin_values_only() -> None:
    for hardware in (PLAIN, RICH, probe()):
        wire = as_json(hardware)
        assert json.loads(json.dumps(wire)) == wire
    wire = as_json(RICH)
    assert wire["cpu"]["usable_cores"] == 8
    assert wire["cpu"]["features"] == ["avx", "avx2", "fma"]
    assert wire["memory"]["free"] == 11 * GIB
    assert wire["gpus"][0]["compute_capability"] == [8, 9]
    assert as_json(replace(PLAIN, cpu=replace(CPU, features=None)))["cpu"]["features"] is None


def test_plan_json() -> None:
    for parts in (InstalledParts(), InstalledParts(torch=True, torch_cuda=True)):
        plan = make_plan(RICH, MODEL, parts, Wishes())
        wire = plan_as_json(plan)
        assert json.loads(json.dumps(wire)) == wire
        assert wire["needed"]["total"] == plan.needed.total
        assert wire["reasons"] == list(plan.reasons)
        assert (wire["gpu"] is None) != parts.torch_cuda
