"""What a model would allocate, by llama.cpp's own account, without its weights: the file may be all hole behind its header.

Zone: a job's process (`engine.worker.ghost`). Two looks: contexts are made over weights that were never allocated (`no_alloc`);
how much would be repacked, only a real load says, which is ended after it has reserved its buffers and before it reads a tensor.
"""

import os
import re
from typing import Any, Final

import llama_cpp.llama_cpp as lib

from engine.backends.base import MemoryReport
from engine.backends.llamacpp.context import ContextSize
from engine.backends.llamacpp.loading import explain_failure
from engine.backends.llamacpp.memory import memory_report
from engine.backends.llamacpp.native import NativeLog, check_version
from engine.types import KvType

_MIB: Final = 1 << 20
_WEIGHTS: Final = re.compile(r"(\S+) model buffer size\s*=\s*([\d.]+) MiB")
_CACHE: Final = re.compile(r"size\s*=\s*([\d.]+) MiB \(\s*\d+ cells")
"""What was laid out; the buffer behind it was not allocated and says 0."""
_PLAIN: Final = ("CPU", "CPU_Mapped")
"""Buffers whose weights stay as in the file; all others hold copies in another order."""


class LlamaGhost:
    """A model without weights."""

    def __init__(self, path: bytes) -> None:
        """Open it.

        Raises:
            ModelFormatError: llama.cpp cannot read the file.
            SetupError: another llama.cpp than the expected one is installed.
        """
        os.environ["GGML_NO_BACKTRACE"] = "1"
        check_version()
        self._log = NativeLog()
        lib.llama_backend_init()
        self._path = path
        params = _params()
        params.no_alloc = True
        self._log.clear()
        self._model = lib.llama_model_load_from_file(path, params)
        if not self._model:
            raise explain_failure(path, self._log.lines)
        self.weights_bytes = int(lib.llama_model_size(self._model))
        """Of all tensors."""

    def memory(
        self,
        context: int,
        num_sequences: int,
        *,
        kv_type: KvType = "f16",
        exact: bool = False,
        flash_attention: bool | None = None,
    ) -> MemoryReport:
        """What a context takes that has grown to all its cells; see `engine.backends.registry.OpenRequest`.

        Raises:
            OutOfMemory: it cannot be made.
        """
        size = ContextSize(
            context,
            num_sequences,
            exact=exact,
            flash_attention=flash_attention,
            kv_type=kv_type,
        )
        params = size.params(size.n_ctx, (1, 1), (lib.ggml_abort_callback(), None))
        self._log.clear()
        context = lib.llama_init_from_model(self._model, params)
        lines = self._log.lines
        if not context:
            raise explain_failure(self._path, [*lines, "out of memory"])
        lib.llama_free(context)
        cache = sum(float(match[1]) for line in lines for match in _CACHE.finditer(line))
        compute = memory_report(self.weights_bytes, lines).compute
        return MemoryReport(self.weights_bytes, int(cache * _MIB), compute)

    def repacked_bytes(self) -> int | None:
        """Weights that would be copied into another order; None where so much memory cannot even be reserved."""
        params = _params()
        stop = lib.llama_progress_callback(lambda _fraction, _data: False)
        params.progress_callback = stop
        self._log.clear()
        model: Any = lib.llama_model_load_from_file(self._path, params)
        if model:  # it had nothing to read
            lib.llama_model_free(model)
        found = [match for line in self._log.lines for match in _WEIGHTS.finditer(line)]
        if not found:
            return None
        return int(sum(float(m[2]) * _MIB for m in found if m[1] not in _PLAIN))

    def close(self) -> None:
        """Free it. Idempotent."""
        if self._model:
            lib.llama_model_free(self._model)
            self._model = None


def _params() -> Any:
    params = lib.llama_model_default_params()
    params.load_mode = lib.LLAMA_LOAD_MODE_NONE
    return params
