"""Does a load take the private memory that was predicted, and the second prediction what the first load taught?

Real workers, loaded as the service does it; memory is read after the load, and after a long prompt and an answer, which fill the buffers
of a step (they have to stay below what the plan reserves). Predicted from llama.cpp's own figures for the cells a worker begins with
(`engine.supervisor.ghosts`) and our estimate of the process around them. Gate: 5 % for each, 2 % once the same model was loaded
before, with other settings. Yardstick: the kernel's RssAnon + RssShmem.
"""

import argparse
import asyncio
import os
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks import harness
from engine.errors import EngineError
from engine.formats.gguf import read_header
from engine.formats.ghost_file import ContextWish
from engine.hardware.facts import facts_of
from engine.hardware.fit import CELLS_AT_LOAD, MemoryNeed, need_of
from engine.hardware.reality import Outcome, Resident, corrected, resident
from engine.ipc.messages import Failed, Generate, Load, Loaded, Step, TextPrompt
from engine.paths import Paths
from engine.supervisor.ghosts import Ghosts
from engine.supervisor.process import WorkerProcess
from engine.types import KvType, SamplingParams

_LOAD_S = 120.0


@dataclass(frozen=True)
class Case:
    """One way to load one model."""

    model: str
    context: int
    num_sequences: int
    kv_type: KvType


CASES = [
    Case(model, context, num_sequences, kv_type)
    for model in ("SmolLM2-135M-Instruct.Q4_0", "SmolLM2-135M-Instruct.Q4_1")
    for context, num_sequences, kv_type in (
        *((2048, 1, "f16"), (8192, 8, "f16")),
        *((2048, 8, "q8_0"), (8192, 32, "f16")),
    )
] + [
    Case(model, context, num_sequences, kv_type)
    for model in ("Random-llama-1B.Q4_0", "Random-llama-1B.Q4_K_M")
    for context, num_sequences, kv_type in ((2048, 1, "f16"), (8192, 8, "f16"), (2048, 8, "q8_0"))
]


async def predicted(ghosts: Ghosts, path: Path, case: Case) -> MemoryNeed:
    """Without any earlier load."""
    cells = min(case.context, CELLS_AT_LOAD)
    (told,) = await ghosts.memory_of_file(
        path, [ContextWish(cells, case.num_sequences, case.kv_type)]
    )
    header = read_header(path)
    return need_of(told, facts_of(header, header.file_bytes), case.num_sequences)


async def loaded(path: Path, case: Case, cache: Path) -> tuple[Resident, Resident]:
    """What a worker takes once it is ready, and after an answer of 16 tokens."""
    worker = await WorkerProcess.start(case.model)
    try:
        worker.send(
            Load(
                path=os.fsencode(path),
                backend="llama.cpp",
                context=case.context,
                num_sequences=case.num_sequences,
                decode_threads=1,
                prefill_threads=1,
                kv_type=case.kv_type,
                cache_folder=os.fsencode(cache),
                kept_memory_bytes=256 << 20,
            )
        )
        ready: Resident | None = None
        async with asyncio.timeout(_LOAD_S):
            async for message in worker.messages():
                if isinstance(message, Failed):
                    raise EngineError.from_wire(message.error)
                if isinstance(message, Loaded):
                    ready = resident(worker.pid)
                    sampling = SamplingParams(temperature=0.0)
                    prompt = TextPrompt("The quick brown fox " * 60)
                    worker.send(Generate("r", prompt, sampling, max_tokens=16))
                elif isinstance(message, Step) and any(d.finish for d in message.deltas):
                    break
        answered = resident(worker.pid)
    finally:
        await worker.stop()
    assert ready is not None
    assert answered is not None
    return ready, answered


async def main(models: Path, only: str) -> None:
    """Load every case once, in order."""
    ghosts = Ghosts()
    taught: dict[str, Outcome] = {}
    rows = []
    for case in CASES:
        path = models / f"{case.model}.gguf"
        if only not in case.model or not path.exists():
            continue
        need = await predicted(ghosts, path, case)
        with tempfile.TemporaryDirectory() as cache:
            ready, answered = await loaded(path, case, Path(cache))
        before = taught.get(case.model)
        better = corrected(need, before)
        taught.setdefault(case.model, Outcome(need.private, ready.private, ready.file))
        rows.append(
            {
                "case": f"{case.model} {case.context} x{case.num_sequences} {case.kv_type}",
                "predicted_mib": round(need.private / 2**20, 1),
                "private_mib": round(ready.private / 2**20, 1),
                "answered_mib": round(answered.private / 2**20, 1),
                "most_mib": round((need.private + need.compute) / 2**20, 1),
                "file_mib": round(ready.file / 2**20, 1),
                "error": round(need.private / ready.private - 1, 4),
                "error_taught": before and round(better.private / ready.private - 1, 4),
            }
        )
    errors = [abs(float(row["error"])) for row in rows]  # type: ignore[arg-type]
    again = [abs(float(row["error_taught"])) for row in rows if row["error_taught"] is not None]  # type: ignore[arg-type]
    harness.report(
        "memory_prediction",
        worst=max(errors, default=0.0),
        median=statistics.median(errors or [0.0]),
        worst_taught=max(again, default=0.0),
        gate=max(errors, default=0.0) <= 0.05 and max(again, default=0.0) <= 0.02,
        rows=rows,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, default=Paths.find().cache / "test-models")
    parser.add_argument("--only", default="", help="part of a model's name")
    arguments = parser.parse_args()
    asyncio.run(main(arguments.models, arguments.only))
