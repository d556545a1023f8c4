"""From a file name to a backend. The one entrance of this package; the tokenizer is llama.cpp's."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

import torch

from engine.backends.torch_cuda.backend import TorchBackend
from engine.backends.torch_cuda.kv_cache import KvCache
from engine.backends.torch_cuda.weights import load_weights
from engine.errors import OutOfMemory, UnsupportedByBackend
from engine.formats.decoder_reader import read_decoder
from engine.formats.gguf import read_header
from engine.formats.gguf_header import GgufHeader

_VERSION: Final = "1"
"""Of what a state holds; another network or cache layout gets another number."""


def open_torch(
    path: bytes,
    *,
    device: Literal["cuda", "cpu"],
    context: int,
    num_sequences: int,
    threads: int,
    progress: Callable[[float], None],
) -> tuple[TorchBackend, str]:
    """Load on the calling thread, which becomes the backend's owner.

    Raises:
        ModelFormatError: the file cannot be used.
        UnsupportedByBackend: not one of the networks we compute, or there is no such device.
        OutOfMemory: weights or KV cache do not fit.
    """
    if device == "cuda" and not torch.cuda.is_available():
        raise UnsupportedByBackend(
            "The CUDA backend finds no GPU that it can use.",
            hint="Choose llama.cpp, or update the NVIDIA driver.",
        )
    file = Path(os.fsdecode(path))
    header = read_header(file)
    spec = read_decoder(header)
    if isinstance(spec, str):
        raise UnsupportedByBackend(
            f"The torch backend cannot run this model: {spec}.", hint="Choose llama.cpp."
        )
    torch.set_num_threads(max(1, threads))
    place = torch.device(device)
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    try:
        weights = load_weights(file, header, dtype=dtype, device=place, progress=progress)
        kv = KvCache(
            n_layer=spec.n_layer,
            n_head_kv=spec.n_head_kv,
            head_dim=spec.head_dim,
            n_cells=context,
            n_seq_max=num_sequences,
            dtype=dtype,
            device=place,
        )
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise OutOfMemory(
            "There was not enough memory for this model.",
            hint="Choose a smaller model or a smaller context, or llama.cpp.",
        ) from error
    backend = TorchBackend(
        spec, weights, kv, n_seq_max=num_sequences, fingerprint=_fingerprint(header, dtype, device)
    )
    return backend, f"{spec.architecture} {header.quantization}, torch"


def _fingerprint(header: GgufHeader, dtype: torch.dtype, device: str) -> str:
    """Same network, weights' places and sizes, and layout. Not the tensor data itself."""
    digest = hashlib.sha256(f"{_VERSION} {dtype} {device} {header.file_bytes}".encode())
    for key, value in sorted(header.metadata.items()):
        digest.update(f"{key}={value}\0".encode())
    for tensor in header.tensors:
        digest.update(f"{tensor}\0".encode())
    return digest.hexdigest()
