"""From a file name to a backend and its tokenizer, or to the tokenizer alone. The one entrance of this package."""

import ctypes
import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import llama_cpp.llama_cpp as lib

from engine.backends.llamacpp.backend import LlamaBackend
from engine.backends.llamacpp.context import ContextSize
from engine.backends.llamacpp.loading import load_model
from engine.backends.llamacpp.native import NativeLog, check_version
from engine.backends.llamacpp.vocab import LlamaVocab
from engine.formats.gguf import read_header

EXACT_TYPES: Final = frozenset({"Q4_0", "Q4_1", "Q8_0"})
"""Measured by `tests/backends/test_llamacpp_exact.py`. K types are not: their kernels for many rows sum otherwise."""


def open_llamacpp(
    path: bytes,
    size: ContextSize,
    *,
    threads: tuple[int, int],
    progress: Callable[[float], None],
    poison_outputs: bool = False,
) -> tuple[LlamaBackend, LlamaVocab, str]:
    """Load on the calling thread, which becomes the backend's owner.

    Args:
        path: the file.
        size: of the context; exact where it is asked for and the file's types allow it, and prompts are slower.
        threads: for decode and for prefill.
        progress: told 0 … 1.
        poison_outputs: tests: see `LlamaBackend`.

    Raises:
        ModelFormatError: the file cannot be used.
        OutOfMemory: weights or KV cache do not fit.
        SetupError: another llama.cpp than the expected one is installed.
        UnsupportedByBackend: its KV cache cannot be of that type.
    """
    log = _start_library()
    model = load_model(path, log, progress)
    backend = LlamaBackend(
        model,
        dataclasses.replace(size, exact=size.exact and _is_measured(path)),
        log,
        threads=threads,
        poison_outputs=poison_outputs,
    )
    description = ctypes.create_string_buffer(256)
    lib.llama_model_desc(model, description, len(description))
    return backend, LlamaVocab(model), description.value.decode("utf-8", "replace")


def open_vocabulary(path: bytes) -> LlamaVocab:
    """Read a model's tokenizer without its weights; never decode in a process that computes with torch.

    Both bring an OpenMP runtime, and their threads would wait for each other. The vocabulary stays for the
    life of the process.

    Raises:
        ModelFormatError: the file cannot be used.
        SetupError: another llama.cpp than the expected one is installed.
    """
    log = _start_library()
    return LlamaVocab(load_model(path, log, _ignore, vocab_only=True))


def _is_measured(path: bytes) -> bool:
    """Are all matrices of types whose rows were measured to be independent of their batch?"""
    types = {t.type for t in read_header(Path(os.fsdecode(path))).tensors if len(t.shape) > 1}
    return types <= EXACT_TYPES


def _ignore(fraction: float) -> None:
    """Progress that nobody waits for."""


def _start_library() -> NativeLog:
    # on a failed assertion ggml would start gdb for a backtrace before it aborts
    os.environ["GGML_NO_BACKTRACE"] = "1"
    check_version()
    log = NativeLog()
    lib.llama_backend_init()
    return log
