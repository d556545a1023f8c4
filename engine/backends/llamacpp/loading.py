"""Opening a GGUF file with llama.cpp, and turning its log into a sentence when that fails."""

import os
import re
from collections.abc import Callable
from typing import Any

import llama_cpp.llama_cpp as lib

from engine.backends.llamacpp.native import NativeLog
from engine.errors import EngineError, ModelFormatError, OutOfMemory

_REASONS: tuple[tuple[str, str, str], ...] = (
    (
        r"unknown (?:model )?architecture:? '?([^'\s]*)'?",
        "Its architecture “{0}” is not known to this version.",
        "Update the app, or choose another model.",
    ),
    (
        r"not within the file bounds|corrupted or incomplete|failed to read|unexpectedly reached end",
        "The file is incomplete or damaged.",
        "Download it again.",
    ),
    (
        r"invalid magic|failed to read magic|not a GGUF",
        "The file is not a GGUF model.",
        "Choose a file that ends in .gguf and comes from a model page.",
    ),
    (
        r"(?:key not found in model|missing tensor|tensor '[^']*' (?:has wrong|not found))[^\n]*",
        "The file lacks something that its architecture needs.",
        "It may be an adapter or a vision part, or made for a newer version.",
    ),
)
_NO_MEMORY = re.compile(
    r"failed to allocate|unable to allocate|out of memory|bad_alloc|cannot allocate"
)


def explain_failure(path: bytes, lines: list[str]) -> EngineError:
    """The error for a model that did not load, from llama.cpp's last lines."""
    name = os.path.basename(path).decode("utf-8", "replace")  # noqa: PTH119 - bytes, Path takes none
    text = "\n".join(lines)
    if _NO_MEMORY.search(text):
        return OutOfMemory(
            f"There was not enough memory to load {name}.",
            hint="Choose a smaller context or a smaller quantization, or close other programs.",
        )
    for pattern, sentence, hint in _REASONS:
        if match := re.search(pattern, text, re.IGNORECASE):
            return ModelFormatError(
                f"{name} cannot be loaded. {sentence.format(*match.groups())}", hint=hint, file=name
            )
    last = next((line for line in reversed(lines) if "error" in line.lower()), "")
    return ModelFormatError(
        f"{name} cannot be loaded.", hint="The log has the details.", file=name, native=last
    )


def load_model(
    path: bytes, log: NativeLog, progress: Callable[[float], None], *, vocab_only: bool = False
) -> Any:
    """Open a model file; returns llama.cpp's pointer.

    Args:
        path: any legal file name, also one that is not valid UTF-8.
        log: where the reason of a failure is found.
        progress: called with 0 … 1 from this thread.
        vocab_only: read the tokenizer and the metadata only.

    Raises:
        ModelFormatError: the file is not what it should be.
        OutOfMemory: it does not fit.
    """
    params = lib.llama_model_default_params()
    params.vocab_only = vocab_only

    @lib.llama_progress_callback  # type: ignore[untyped-decorator]
    def on_progress(fraction: float, _data: object) -> bool:
        progress(fraction)
        return True

    params.progress_callback = on_progress
    log.clear()
    model = lib.llama_model_load_from_file(path, params)
    if not model:
        raise explain_failure(path, log.lines)
    return model
