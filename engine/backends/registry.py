"""Opens a model on a named backend. The only module that names concrete backends.

Imports happen in the openers: asking for one backend must not load another's native libraries.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from engine.backends.base import Backend
from engine.errors import UnsupportedByBackend
from engine.types import KvType

if TYPE_CHECKING:
    from engine.backends.llamacpp.ghost import LlamaGhost

    # A protocol of a neighbour on the same layer: named in a type, never imported at run time.
    from engine.text.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """What to open and how large."""

    path: bytes
    context: int
    """Token capacity of the KV cache, all sequences together."""
    num_sequences: int
    decode_threads: int
    prefill_threads: int
    exact: bool = False
    """llama.cpp: compute each row the same in every batch, where the file's types allow it."""
    kv_type: KvType = "f16"
    """llama.cpp: of the cache."""
    flash_attention: bool | None = None
    """llama.cpp; None: as it decides itself."""
    pads_from: int = 0
    """llama.cpp; see `ContextSize`."""
    gpu: str = ""
    """torch: UUID of the device to use; empty: the first."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Backend-specific; for tests."""


@dataclass(frozen=True, slots=True)
class OpenedModel:
    """A model that is ready to decode."""

    backend: Backend
    tokenizer: "Tokenizer"
    description: str


def open_model(
    backend: str, request: OpenRequest, progress: Callable[[float], None]
) -> OpenedModel:
    """Load a model on the thread that will decode.

    Raises:
        UnsupportedByBackend: no backend of that name.
        ModelFormatError: the file cannot be used.
        OutOfMemory: it does not fit.
        SetupError: the installed native library is not the expected one.
    """
    match backend:
        case "llama.cpp":
            from engine.backends.llamacpp.context import ContextSize
            from engine.backends.llamacpp.opener import open_llamacpp

            return OpenedModel(
                *open_llamacpp(
                    request.path,
                    ContextSize(
                        request.context,
                        request.num_sequences,
                        exact=request.exact,
                        flash_attention=request.flash_attention,
                        pads_from=request.pads_from,
                        kv_type=request.kv_type,
                    ),
                    threads=(request.decode_threads, request.prefill_threads),
                    progress=progress,
                    poison_outputs=bool(request.options.get("poison_outputs")),
                )
            )
        case "torch-cuda" | "torch-cpu":
            # Read when OpenMP is loaded: its threads must not spin while other programs want the cores.
            os.environ.setdefault("OMP_WAIT_POLICY", "passive")
            if request.gpu:  # read when CUDA starts: the planned device becomes the only one
                os.environ["CUDA_VISIBLE_DEVICES"] = request.gpu
            from engine.backends.llamacpp.opener import open_vocabulary
            from engine.backends.torch_cuda.opener import open_torch

            tokenizer = open_vocabulary(request.path)
            opened, description = open_torch(
                request.path,
                device="cuda" if backend == "torch-cuda" else "cpu",
                context=request.context,
                num_sequences=request.num_sequences,
                threads=max(request.decode_threads, request.prefill_threads),
                progress=progress,
            )
            return OpenedModel(opened, tokenizer, description)
        case "fake":
            from engine.backends.fake import open_fake

            return OpenedModel(
                *open_fake(request.context, request.num_sequences, request.options, progress)
            )
        case _:
            raise UnsupportedByBackend(
                f"There is no backend “{backend}”.",
                hint="Choose llama.cpp, torch-cuda or torch-cpu, or leave the choice open.",
            )


def open_ghost(path: bytes) -> "LlamaGhost":
    """Open a model for llama.cpp that need not have its weights, to ask what it would allocate.

    Raises:
        ModelFormatError: the file cannot be used.
        SetupError: the installed native library is not the expected one.
    """
    from engine.backends.llamacpp.ghost import LlamaGhost

    return LlamaGhost(path)
