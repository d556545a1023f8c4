"""Which NVIDIA GPUs are there, and is one good enough for torch? Asked through the driver's own library.

Works before anything is installed: ctypes only, no nvidia-smi. A missing or broken driver is an answer, not an error.
(The engine asks NVML, which also knows memory: `engine.hardware.gpu`.)
"""

import ctypes
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

LEAST_CAPABILITY = (8, 0)
"""Ampere: the oldest GPUs that compute with bfloat16, which the CUDA backend uses."""
LEAST_CUDA = (13, 0)
"""torch 2.13 comes from the package index with the libraries of CUDA 13.0."""

_NO_DEVICE = 100  # CUDA_ERROR_NO_DEVICE
_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
_NAME_BYTES = 256


class _CudaError(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU that CUDA shows to this process."""

    name: str
    capability: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Found:
    """What the driver said."""

    gpus: tuple[Gpu, ...] = ()
    cuda: tuple[int, int] = (0, 0)
    """Newest CUDA version the driver can run."""
    note: str = ""
    """Why there are no GPUs."""


def look(load: Callable[[str], Any] = ctypes.CDLL, platform: str = sys.platform) -> Found:
    """Ask the driver; never raises.

    Args:
        load: opens a shared library by name, as `ctypes.CDLL` does.
        platform: as `sys.platform`.
    """
    library = "nvcuda.dll" if platform == "win32" else "libcuda.so.1"
    try:
        driver = load(library)
    except OSError:
        return Found(note=f"there is no NVIDIA driver ({library} was not found)")
    try:
        return _ask(driver)
    except _CudaError as failed:
        if failed.code == _NO_DEVICE:
            return Found(note="the NVIDIA driver shows no GPU")
        return Found(note=f"the NVIDIA driver does not answer (CUDA error {failed.code})")
    except (AttributeError, OSError, ctypes.ArgumentError):  # not what NVIDIA ships, or very old
        return Found(note="the NVIDIA driver does not answer as expected")


def suitable(found: Found, platform: str = sys.platform) -> Gpu | str:
    """The first GPU that the CUDA part can use, or why there is none."""
    if not found.gpus:
        return found.note
    if platform != "linux":
        return "the package index has torch with CUDA for Linux only"
    best = max(found.gpus, key=lambda gpu: gpu.capability)
    if best.capability < LEAST_CAPABILITY:
        has, needs = _dotted(best.capability), _dotted(LEAST_CAPABILITY)
        return f"{best.name} is too old (compute capability {has}, {needs} is needed)"
    if found.cuda < LEAST_CUDA:
        has, needs = _dotted(found.cuda), _dotted(LEAST_CUDA)
        return f"the NVIDIA driver is too old (CUDA {has}, {needs} is needed): update it"
    return best


def _ask(driver: Any) -> Found:
    _check(driver.cuInit(0))
    version = ctypes.c_int()
    _check(driver.cuDriverGetVersion(ctypes.byref(version)))
    count = ctypes.c_int()
    _check(driver.cuDeviceGetCount(ctypes.byref(count)))
    cuda = (version.value // 1000, version.value % 1000 // 10)
    gpus = tuple(_gpu(driver, ordinal) for ordinal in range(min(count.value, 64)))
    return Found(gpus, cuda, "" if gpus else "the NVIDIA driver shows no GPU")


def _gpu(driver: Any, ordinal: int) -> Gpu:
    device = ctypes.c_int()
    _check(driver.cuDeviceGet(ctypes.byref(device), ordinal))
    name = ctypes.create_string_buffer(_NAME_BYTES)
    _check(driver.cuDeviceGetName(name, _NAME_BYTES, device))
    major, minor = ctypes.c_int(), ctypes.c_int()
    _check(driver.cuDeviceGetAttribute(ctypes.byref(major), _MAJOR, device))
    _check(driver.cuDeviceGetAttribute(ctypes.byref(minor), _MINOR, device))
    return Gpu(name.value.decode("utf-8", "replace"), (major.value, minor.value))


def _check(code: int) -> None:
    if code:
        raise _CudaError(code)


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
