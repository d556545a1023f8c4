"""What the worker measures of its model and what follows from it: threads, draft lengths, chunks.

Zone: worker process, owner thread. Figures come from a file or are made in spare time; afterwards each step corrects them.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from engine.backends.base import Backend, SeqId
from engine.hardware.attention import AttentionFigures, attention_file, read_attention
from engine.hardware.load import LoadMeter, allowed_cpus
from engine.ipc.messages import Load, Measured
from engine.scheduler.compute import Compute
from engine.scheduler.measuring import Figures, Measuring
from engine.scheduler.pacing import Pacing
from engine.scheduler.threads import ThreadControl
from engine.speculative.row_costs import RowCosts
from engine.worker.keeping import figures_file


class Tuning:
    """The controls of one loaded model."""

    def __init__(self, load: Load, backend: Backend, send: Callable[[Measured], None]) -> None:
        """Make the controls, with figures if there are any.

        Args:
            load: how it was loaded.
            backend: the loaded model.
            send: takes what the user should see.
        """
        self.costs = RowCosts()
        self.pacing = Pacing(backend.caps.n_batch_max)
        self._send = send
        self._told: Measured | None = None
        self._attention = _attention(load)
        meter = LoadMeter()
        most = (load.decode_threads, load.prefill_threads)
        self._control = None
        # where the user chose a number, and where there is nothing to choose, it stays
        if load.follow_load and load.backend == "llama.cpp":
            cores = len(allowed_cpus())
            self._control = ThreadControl(backend.set_threads, most=most, cores=cores, meter=meter)
        self.compute = Compute(backend, self._control)
        self._measuring: Measuring | None = None
        if load.measure and load.backend != "fake":
            self._measuring = Measuring(
                backend,
                threads=_numbers(max(most)) if self._control else (),
                file=figures_file(load, backend.caps),
                attention=attention_file(*self._attention) if self._attention else None,
                attention_done=self._tell,
                others=lambda: meter.others(time.monotonic()),
                done=self._apply,
            )
            if self._measuring.figures is not None:
                self._apply(self._measuring.figures)

    def measure(self, empty: SeqId | None) -> bool:
        """Measure a little in spare time; see `Measuring.step`."""
        return self._measuring is not None and self._measuring.step(empty)

    def _apply(self, figures: Figures) -> None:
        self.costs.learn(figures.rows)
        self.compute.seed(figures)
        prompt_row_s = min(figures.prefill.values())
        self.pacing.saw_read(0, figures.chunk, figures.chunk * prompt_row_s)
        self.pacing.saw_decode(figures.rows[1])
        self._told = Measured(writes=1 / figures.rows[1], reads=1 / prompt_row_s)
        self._tell()

    def _tell(self) -> None:
        """What is known now."""
        if self._told is None:
            return
        found = read_attention(*self._attention) if self._attention else AttentionFigures()
        self._send(msgspec.structs.replace(self._told, attention=list(found.told)))


def _attention(load: Load) -> tuple[Path, Path] | None:
    """Cache folder and model; None where attention is computed in one way only, or nothing is kept."""
    if load.backend != "llama.cpp" or load.exact or not load.cache_folder:
        return None
    return Path(os.fsdecode(load.cache_folder)), Path(os.fsdecode(load.path))


def _numbers(most: int) -> tuple[int, ...]:
    """Threads to try: all there may be, half of them, … one."""
    numbers = []
    while most >= 1:
        numbers.append(most)
        most //= 2
    return tuple(numbers)
