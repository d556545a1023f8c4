"""Header-only files against real loads, and the closed formulas against both. Real widths, fourteen architectures."""

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from engine.backends.base import MemoryReport
from engine.backends.llamacpp.backend import LlamaBackend
from engine.backends.llamacpp.context import FIRST_CELLS, ContextSize
from engine.backends.llamacpp.loading import load_model
from engine.backends.llamacpp.native import NativeLog
from engine.backends.registry import open_ghost
from engine.errors import ModelFormatError, OutOfMemory
from engine.formats.gguf import read_header
from engine.formats.ghost_file import Allocation, ContextWish, GhostPart, write_ghost
from engine.hardware.facts import facts_of
from engine.hardware.fit import CELLS_AT_LOAD, memory_needed
from engine.supervisor.ghosts import Ghosts
from tests.helpers.ghost_models import MODELS, Model
from tests.helpers.tiny_gguf import I32, TypedArray

MIB = 1 << 20
EXACT_CACHE = 0.01 * MIB
"""llama.cpp prints hundredths, for each of two caches."""


def ghost_of(model: Model, folder: Path) -> Path:
    folder.mkdir()
    return write_ghost(folder, "m.gguf", [model.part()])


def small(name: str) -> Model:
    """Two layers (three where the pattern needs it), so that a real load takes little; the widths stay."""
    model = MODELS[name]
    changes: dict[str, object] = {"layers": 2, "vocab": 4096}
    if model.experts:
        changes["experts"] = max(8, model.used)
    if model.architecture == "lfm2":
        heads = TypedArray(I32, [0, 0, 8])
        changes |= {"layers": 3, "metadata": {**model.metadata, "attention.head_count_kv": heads}}
    if model.architecture == "deepseek2":  # its number of layers says that it is the small one
        changes |= {"layers": 27, "embd": 512, "expert_ff": 256, "ff": 1024}
    return replace(model, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", MODELS)
def test_a_header_tells_what_a_real_load_allocates(name: str, tmp_path: Path) -> None:
    model = small(name)
    ghost = open_ghost(bytes(ghost_of(model, tmp_path / "g")))
    told, repacked = ghost.memory(2048, 4), ghost.repacked_bytes()
    ghost.close()
    real, copied = really_loaded(model.write(tmp_path / "real.gguf"), ContextSize(2048, 4))
    assert told.kv_cache == pytest.approx(real.kv_cache, abs=MIB)
    assert told.compute == pytest.approx(real.compute, abs=MIB)
    assert told.weights == real.weights
    assert repacked == pytest.approx(copied, abs=MIB)


def really_loaded(path: Path, size: ContextSize) -> tuple[MemoryReport, float]:
    """What it allocated, and how much of the weights it copied into another order."""
    log = NativeLog()
    loaded = load_model(bytes(path), log, lambda _: None)
    copied = re.findall(r"REPACK model buffer size\s*=\s*([\d.]+) MiB", "\n".join(log.lines))
    backend = LlamaBackend(loaded, size, log, threads=(1, 1))
    report = backend.memory_report()
    backend.close()
    return report, sum(map(float, copied)) * MIB


@pytest.mark.parametrize("name", MODELS)
def test_formula_against_llama_cpp(name: str, tmp_path: Path) -> None:
    path = ghost_of(MODELS[name], tmp_path / "g")
    header = read_header(path)
    facts = facts_of(header, header.file_bytes)
    ghost = open_ghost(bytes(path))
    for kv_type in ("f16", "q8_0"):
        if kv_type == "q8_0" and facts.state_bytes and not facts.kv_bytes_per_token:
            continue
        told = ghost.memory(8192, 8, kv_type=kv_type)
        need = memory_needed(facts, context=8192, num_sequences=8, kv_type=kv_type)
        assert need.kv_cache == pytest.approx(told.kv_cache, abs=EXACT_CACHE)
        total = told.weights + told.kv_cache + told.compute
        assert need.weights + need.kv_cache + need.compute == pytest.approx(total, rel=0.05)
    ghost.close()


def test_a_worker_begins_with_as_many_cells_as_the_plan_says() -> None:
    assert CELLS_AT_LOAD == FIRST_CELLS


WISHES = [ContextWish(2048, 2), ContextWish(8192, 2)]


def run(ghosts: Ghosts, parts: list[GhostPart]) -> tuple[Allocation, ...]:
    return asyncio.run(ghosts.memory("some/../m\n.gguf", parts, WISHES))


def test_job_answers_for_a_split_model_what_it_does_for_one_file() -> None:
    model = replace(MODELS["Llama 3.2 1B"], layers=4)
    one, split = run(Ghosts(), [model.part()]), run(Ghosts(), model.parts(3))
    assert one == split
    assert one[0].kv_cache * 4 == one[1].kv_cache
    assert one[0].repacked == one[1].repacked


def test_job_asks_once_and_survives_what_llama_cpp_refuses() -> None:
    async def ask() -> None:
        ghosts = Ghosts()
        model = replace(MODELS["Llama 3.2 1B"], layers=1)
        first = await ghosts.memory("m", [model.part()], WISHES)
        ghosts._ask = None  # type: ignore[method-assign,assignment]
        assert await ghosts.memory("other name", [model.part()], WISHES) is first
        del ghosts._ask
        unknown = replace(model, architecture="nosuch")
        with pytest.raises(ModelFormatError, match="nosuch"):
            await ghosts.memory("m", [unknown.part()], WISHES)

    asyncio.run(ask())


def test_job_that_aborts_or_is_slow_or_greedy_is_one_sentence() -> None:
    async def ask() -> None:
        model = replace(MODELS["Llama 3.2 1B"], layers=1)
        hostile = replace(model, heads=7)  # a head of 292.57 numbers: an assertion, or an error
        with pytest.raises(ModelFormatError):
            await Ghosts().memory("m", [hostile.part()], WISHES)
        with pytest.raises(ModelFormatError, match="more than 0 seconds"):
            await Ghosts(time_limit_s=0.001).memory("m", [model.part()], WISHES)
        greedy = replace(MODELS["Mamba 2 370M"], layers=24)
        with pytest.raises((OutOfMemory, ModelFormatError)):
            await Ghosts(memory_bytes=1 << 30).memory("m", [greedy.part()], [ContextWish(512, 64)])

    asyncio.run(ask())


def test_job_that_nobody_waits_for_ends() -> None:
    async def ask() -> None:
        ghosts = Ghosts()
        part = replace(MODELS["Llama 3.2 1B"], layers=1).part()
        asking = asyncio.ensure_future(ghosts.memory("m", [part], WISHES))
        while not (children := psutil.Process().children()):
            await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert not [c for c in children if c.is_running() and c.status() != psutil.STATUS_ZOMBIE]
        assert len(await ghosts.memory("m", [part], WISHES)) == 2, "the next one has its turn"

    asyncio.run(ask())


def test_job_looks_at_a_file_that_is_here(tiny_llama: Path) -> None:
    async def ask() -> tuple[Allocation, ...]:
        return await Ghosts().memory_of_file(tiny_llama, [ContextWish(512, 2)])

    (told,) = asyncio.run(ask())
    assert told.weights < tiny_llama.stat().st_size
    assert told.kv_cache == pytest.approx(2 * 2 * 32 * 2 * 512, abs=EXACT_CACHE)
