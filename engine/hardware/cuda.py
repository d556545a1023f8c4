"""Can the torch backend run this model on a GPU of this machine? The GPU, or why not. Pure. Neighbour: `plan`."""

from engine.hardware.facts import ModelFacts
from engine.hardware.gpu import Gpu
from engine.hardware.probe import Hardware
from engine.hardware.units import gigabytes

LEAST_CAPABILITY = (7, 5)
"""What builds of torch for CUDA 13 support."""
LEAST_CUDA = (13, 0)
LEAST_HOST_BYTES = 2 << 30
"""Main memory that a process with torch and a CUDA context takes, whatever the model."""
TORCH_ARCHITECTURES = frozenset(
    {
        "gemma2",
        "gemma3",
        "granite",
        "llama",
        "mistral3",
        "olmo2",
        "phi3",
        "qwen2",
        "qwen3",
        "qwen3moe",
        "smollm3",
    }
)


def pick_gpu(hardware: Hardware, facts: ModelFacts, *, torch_installed: bool) -> Gpu | str:
    """The GPU with the most free memory that can do it, or the reason why there is none."""
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
    if not torch_installed:
        return f"torch is not installed, so {gpu.name} stays unused"
    if facts.architecture not in TORCH_ARCHITECTURES:
        return f"the CUDA backend does not know the architecture “{facts.architecture}”"
    if hardware.memory.free < LEAST_HOST_BYTES:
        return f"a CUDA process does not fit into {gigabytes(hardware.memory.free)} of main memory"
    return gpu


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
