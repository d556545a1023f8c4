"""Can our decoder run this model on a GPU of this machine? The GPU, or why not. Pure.

Neighbours: `placement` (does it fit), `plan`.
"""

from engine.hardware.facts import ModelFacts
from engine.hardware.gpu import Gpu
from engine.hardware.parts import InstalledParts
from engine.hardware.probe import Hardware
from engine.hardware.units import gigabytes

LEAST_CAPABILITY = (8, 0)
"""Ampere: the first that computes in bfloat16, the type our decoder keeps weights and cache in."""
LEAST_CUDA = (13, 0)
"""Of the driver: torch's builds that the installer takes bring libraries of CUDA 13."""
LEAST_HOST_BYTES = 2 << 30
"""Main memory that a process with torch and a CUDA context takes, whatever the model."""


def pick_gpu(hardware: Hardware, facts: ModelFacts, parts: InstalledParts) -> Gpu | str:
    """The GPU with the most free memory that can do it, or the reason why there is none.

    The machine comes first: without such a GPU nothing about the file matters. Then the file: where it is not for
    us, installing torch would not help.
    """
    if not hardware.gpus:
        note = f" ({hardware.gpu_note})" if hardware.gpu_note else ""
        return f"no NVIDIA GPU{note}"
    able = [gpu for gpu in hardware.gpus if gpu.compute_capability >= LEAST_CAPABILITY]
    if not able:
        old = hardware.gpus[0]
        has, needs = _dotted(old.compute_capability), _dotted(LEAST_CAPABILITY)
        return f"{old.name} is too old (compute capability {has}, {needs} is needed)"
    gpu = max(able, key=lambda g: g.vram_free)
    if gpu.cuda < LEAST_CUDA:
        has, needs = _dotted(gpu.cuda), _dotted(LEAST_CUDA)
        return f"the NVIDIA driver {gpu.driver} is too old (CUDA {has}, {needs} is needed)"
    if facts.decoder_problem:
        return f"our CUDA backend does not compute this file: {facts.decoder_problem}"
    if not parts.torch:
        return f"torch is not installed, so {gpu.name} stays unused"
    if not parts.torch_cuda:
        return f"torch is installed without CUDA, so {gpu.name} stays unused"
    if hardware.memory.free < LEAST_HOST_BYTES:
        return f"a CUDA process does not fit into {gigabytes(hardware.memory.free)} of main memory"
    return gpu


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
