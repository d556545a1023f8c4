"""Files of the library on made-up machines: header, settings and installed parts meet in one plan."""

from dataclasses import replace
from pathlib import Path

import pytest

from engine.config import ModelSettings
from engine.errors import ModelFormatError, OutOfMemory, UnsupportedByBackend
from engine.hardware.cpu import Cpu
from engine.hardware.gpu import Gpu
from engine.hardware.parts import InstalledParts, installed_parts
from engine.hardware.probe import Hardware, Memory
from engine.hub.library import Library, LibraryModel
from engine.supervisor.eviction import Resident, choose_victims
from engine.supervisor.planning import (
    draft_of,
    load_message,
    plan_model,
    settings_after_death,
    shortfall,
)
from tests.helpers.synthetic_model import write_model
from tests.helpers.tiny_gguf import tiny_split

GIB = 1 << 30
CARD = Gpu(0, "GPU-0", "NVIDIA A", 24 * GIB, 20 * GIB, (8, 9), "580.65", (13, 0))
BARE = Hardware("Linux", Cpu("CPU", "x86_64", 8, 8, None, 8, 8), Memory(16 * GIB, 8 * GIB))
WITH_GPU = replace(BARE, gpus=(CARD,))
ALL = InstalledParts(torch=True, torch_cuda=True)
TORCH_CPU = ModelSettings(backend="torch-cpu")


@pytest.fixture
def qwen(tmp_path: Path) -> LibraryModel:
    write_model(tmp_path / "qwen.gguf", "qwen3")
    return Library(tmp_path).get("qwen")


def test_the_gpu_computes_what_our_decoder_knows(qwen: LibraryModel) -> None:
    plan = plan_model(qwen, WITH_GPU, ModelSettings(), parts=ALL)
    assert (plan.backend, plan.gpu, plan.context) == ("torch-cuda", CARD, 512)
    assert plan.needed.weights == qwen.header.tensor_bytes / 2  # type: ignore[union-attr]
    assert plan_model(qwen, BARE, ModelSettings(), parts=ALL).backend == "llama.cpp"


def test_a_setting_wins(qwen: LibraryModel) -> None:
    plan = plan_model(qwen, WITH_GPU, TORCH_CPU, parts=ALL)
    assert plan.backend == "torch-cpu"
    assert plan.reasons[0].startswith("torch on the CPU, as chosen")


def test_a_split_file_goes_to_llama_cpp(tmp_path: Path) -> None:
    tiny_split(tmp_path, "big", 2)
    model = Library(tmp_path).get("big")
    plan = plan_model(model, WITH_GPU, ModelSettings(), parts=ALL)
    assert plan.backend == "llama.cpp"
    assert "it is split into several files; llama.cpp on" in plan.reasons[0]
    with pytest.raises(UnsupportedByBackend, match="split"):
        plan_model(model, WITH_GPU, TORCH_CPU, parts=ALL)


def test_memory_of_idle_models_counts(qwen: LibraryModel) -> None:
    full = replace(BARE, memory=Memory(16 * GIB, GIB // 4, limit=8 * GIB, used_of_limit=8 * GIB))
    with pytest.raises(OutOfMemory):
        plan_model(qwen, full, TORCH_CPU, parts=ALL)
    assert (
        plan_model(qwen, full, TORCH_CPU, parts=ALL, idle=[Resident("x", GIB, 0.0)]).backend
        == "torch-cpu"
    )


def test_what_is_installed_is_looked_up(qwen: LibraryModel) -> None:
    for hardware in (BARE, WITH_GPU):
        found = plan_model(qwen, hardware, ModelSettings())
        assert found == plan_model(qwen, hardware, ModelSettings(), parts=installed_parts())


def test_a_broken_file_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "bad.gguf").write_bytes(b"")
    with pytest.raises(ModelFormatError):
        plan_model(Library(tmp_path).get("bad"), BARE, ModelSettings(), parts=ALL)


def test_what_died_on_the_gpu_goes_on_with_llama_cpp(qwen: LibraryModel) -> None:
    """Its CUDA context may be poisoned; what died elsewhere is loaded as before."""
    chosen = ModelSettings(backend="torch-cuda")
    last = plan_model(qwen, WITH_GPU, chosen, parts=ALL)
    again = settings_after_death(chosen, last, died=True)
    plan = plan_model(qwen, WITH_GPU, again, parts=ALL)
    assert plan.backend == "llama.cpp"
    assert settings_after_death(chosen, last, died=False) == chosen
    assert settings_after_death(chosen, None, died=True) == chosen
    on_cpu = plan_model(qwen, BARE, TORCH_CPU, parts=ALL)
    assert settings_after_death(TORCH_CPU, on_cpu, died=True) == TORCH_CPU


def test_the_worker_is_told_which_gpu_was_planned_with(qwen: LibraryModel) -> None:
    settings = ModelSettings(speculation="off", exact=True)
    told = load_message(qwen, plan_model(qwen, WITH_GPU, settings, parts=ALL), settings)
    assert (told.gpu, told.speculation, told.exact) == ("GPU-0", "off", True)
    assert load_message(qwen, plan_model(qwen, BARE, settings, parts=ALL), settings).gpu == ""


def test_the_cache_is_loaded_as_planned(qwen: LibraryModel) -> None:
    small = ModelSettings(kv_type="q8_0")
    told = load_message(qwen, plan_model(qwen, BARE, small, parts=ALL), small)
    assert (told.kv_type, told.flash_attention) == ("q8_0", None)
    exact = ModelSettings(kv_type="q8_0", exact=True)  # exact was measured with 16 bits
    assert plan_model(qwen, BARE, exact, parts=ALL).kv_type == "f16"


def test_a_draft_model_is_smaller_and_its_memory_stays_free(tmp_path: Path) -> None:
    write_model(tmp_path / "large.gguf", "llama", layers=6)
    write_model(tmp_path / "small.gguf", "llama", layers=1)
    library = Library(tmp_path)
    large, small = library.get("large"), library.get("small")
    assert draft_of(library, large, ModelSettings(draft_model="small")) == small
    for name in ("large", "gone", ""):
        assert draft_of(library, large, ModelSettings(draft_model=name)) is None
    alone = plan_model(large, BARE, ModelSettings(), parts=ALL)
    tight = replace(BARE, memory=Memory(16 * GIB, alone.needed.total + (1 << 20)))
    assert plan_model(large, tight, ModelSettings(), parts=ALL).backend == "llama.cpp"
    with pytest.raises(OutOfMemory):
        plan_model(large, tight, ModelSettings(), draft=small, parts=ALL)


def test_a_choice_for_one_model_goes_before_the_choice_for_all(qwen: LibraryModel) -> None:
    settings = ModelSettings(backend="torch-cuda", backend_for={"qwen": "llama.cpp", "x": "y"})
    plan = plan_model(qwen, WITH_GPU, settings, parts=ALL)
    assert plan.backend == "llama.cpp"
    assert plan.reasons[0].startswith("as chosen")


def test_an_idle_model_on_the_gpu_makes_room_there_and_nobody_else_leaves(
    qwen: LibraryModel,
) -> None:
    need = plan_model(qwen, WITH_GPU, ModelSettings(), parts=ALL).needed.total
    full = replace(WITH_GPU, gpus=(replace(CARD, vram_free=need // 2),))
    assert plan_model(qwen, full, ModelSettings(), parts=ALL).backend == "llama.cpp"
    on_cpu = Resident("longest idle", 8 * GIB, 1.0)
    elsewhere = Resident("other card", GIB, 2.0, "GPU-1", 20 * GIB)
    here = Resident("this card", GIB, 3.0, "GPU-0", need)
    plan = plan_model(qwen, full, ModelSettings(), idle=[on_cpu, elsewhere, here], parts=ALL)
    assert plan.backend == "torch-cuda"
    missing, gpu = shortfall(plan, full)
    assert (missing, gpu) == (need - need // 2, "GPU-0")
    assert choose_victims(missing, [on_cpu, elsewhere, here], gpu) == ["this card"]
    assert choose_victims(missing, [on_cpu, elsewhere], gpu) is None
