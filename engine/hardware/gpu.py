"""NVIDIA GPUs, asked through NVML (which comes with the driver). Never torch, never a child process.

Zone: any. No driver means no GPUs; a driver that fails means none and a sentence why. Neighbour: `probe`.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Gpu:
    """One NVIDIA GPU."""

    index: int
    """NVML's number, in PCI order."""
    uuid: str
    name: str
    vram_total: int
    """Bytes."""
    vram_free: int
    """Bytes, at the time of asking."""
    compute_capability: tuple[int, int]
    driver: str
    cuda: tuple[int, int]
    """Newest CUDA version the driver can run."""


@dataclass(frozen=True, slots=True)
class GpuList:
    """What NVML said."""

    gpus: tuple[Gpu, ...] = ()
    note: str = ""
    """Why a GPU that may be there is not in the list."""


def read_gpus(nvml: Any = None, environ: Mapping[str, str] = os.environ) -> GpuList:
    """All GPUs that CUDA would let this process use.

    Args:
        nvml: the module to ask; default: `pynvml`.
        environ: `CUDA_VISIBLE_DEVICES` hides GPUs.
    """
    if nvml is None:
        import pynvml

        nvml = pynvml
    try:
        nvml.nvmlInit()
    except nvml.NVMLError_LibraryNotFound:
        return GpuList()
    except nvml.NVMLError as error:
        return GpuList(note=f"the NVIDIA driver does not answer: {error}")
    try:
        found = _read_all(nvml)
    except nvml.NVMLError as error:
        return GpuList(note=f"the NVIDIA driver does not answer: {error}")
    finally:
        _shut_down(nvml)
    visible = _visible(found.gpus, environ.get("CUDA_VISIBLE_DEVICES"))
    hidden = len(found.gpus) - len(visible)
    note = (
        f"CUDA_VISIBLE_DEVICES hides {hidden} of {len(found.gpus)} GPUs" if hidden else found.note
    )
    return GpuList(visible, note)


def _read_all(nvml: Any) -> GpuList:
    driver = str(nvml.nvmlSystemGetDriverVersion())
    version = int(nvml.nvmlSystemGetCudaDriverVersion_v2())
    cuda = (version // 1000, version % 1000 // 10)
    gpus: list[Gpu] = []
    note = ""
    for index in range(min(int(nvml.nvmlDeviceGetCount()), 64)):
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            memory = nvml.nvmlDeviceGetMemoryInfo(handle)
            major, minor = nvml.nvmlDeviceGetCudaComputeCapability(handle)
            gpu = Gpu(
                index=index,
                uuid=str(nvml.nvmlDeviceGetUUID(handle)),
                name=str(nvml.nvmlDeviceGetName(handle)),
                vram_total=int(memory.total),
                vram_free=int(memory.free),
                compute_capability=(int(major), int(minor)),
                driver=driver,
                cuda=cuda,
            )
        except nvml.NVMLError as error:  # one broken or shared-memory GPU does not hide the others
            note = f"GPU {index} does not answer: {error}"
        else:
            gpus.append(gpu)
    return GpuList(tuple(gpus), note)


def _visible(gpus: tuple[Gpu, ...], setting: str | None) -> tuple[Gpu, ...]:
    """Apply `CUDA_VISIBLE_DEVICES`: numbers or identifiers, and the first unknown one ends the list."""
    if setting is None:
        return gpus
    chosen: list[Gpu] = []
    for wish in setting.split(","):
        wanted = wish.strip()
        matches = [
            g for g in gpus if wanted and (wanted == str(g.index) or g.uuid.startswith(wanted))
        ]
        if not matches:
            break
        chosen.extend(gpu for gpu in matches[:1] if gpu not in chosen)
    return tuple(chosen)


def _shut_down(nvml: Any) -> None:
    try:
        nvml.nvmlShutdown()
    except nvml.NVMLError:
        return
