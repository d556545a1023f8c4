import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from engine.hardware.gpu import GpuList, read_gpus


class NVMLError(Exception):
    pass


class LibraryNotFound(NVMLError):
    pass


class FakeNvml:
    """Two GPUs; `fails` names calls that raise."""

    NVMLError = NVMLError
    NVMLError_LibraryNotFound = LibraryNotFound

    def __init__(
        self, *, fails: str = "", error: type[NVMLError] = NVMLError, count: int = 2
    ) -> None:
        self.fails, self.error, self.count = fails, error, count
        self.running = 0

    def _maybe(self, call: str) -> None:
        if call == self.fails:
            raise self.error("Driver/library version mismatch")

    def nvmlInit(self) -> None:
        self._maybe("init")
        self.running += 1

    def nvmlShutdown(self) -> None:
        self.running -= 1
        self._maybe("shutdown")

    def nvmlSystemGetDriverVersion(self) -> str:
        self._maybe("driver")
        return "580.65.06"

    def nvmlSystemGetCudaDriverVersion_v2(self) -> int:
        return 13020

    def nvmlDeviceGetCount(self) -> int:
        return self.count

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:
        self._maybe(f"memory{handle}")
        return SimpleNamespace(total=24 << 30, free=(20 + handle) << 30, used=1)

    def nvmlDeviceGetCudaComputeCapability(self, handle: int) -> tuple[int, int]:
        return (8, 9)

    def nvmlDeviceGetUUID(self, handle: int) -> str:
        return f"GPU-{handle}aaa-bbb"

    def nvmlDeviceGetName(self, handle: int) -> str:
        return "NVIDIA GeForce RTX 4090"


def indices(found: GpuList) -> list[int]:
    return [gpu.index for gpu in found.gpus]


def test_reads_and_shuts_down() -> None:
    nvml = FakeNvml()
    found = read_gpus(nvml, {})
    assert indices(found) == [0, 1]
    gpu = found.gpus[1]
    assert (gpu.name, gpu.vram_total, gpu.vram_free) == (
        "NVIDIA GeForce RTX 4090",
        24 << 30,
        21 << 30,
    )
    assert (gpu.compute_capability, gpu.driver, gpu.cuda) == ((8, 9), "580.65.06", (13, 2))
    assert found.note == ""
    assert nvml.running == 0


def test_no_driver_is_no_gpu_and_no_complaint() -> None:
    assert read_gpus(FakeNvml(fails="init", error=LibraryNotFound), {}) == GpuList()


@pytest.mark.parametrize("fails", ["init", "driver"])
def test_driver_that_fails_says_so(fails: str) -> None:
    nvml = FakeNvml(fails=fails)
    found = read_gpus(nvml, {})
    assert found.gpus == ()
    assert "mismatch" in found.note
    assert nvml.running == 0


def test_one_broken_gpu_does_not_hide_the_other() -> None:
    found = read_gpus(FakeNvml(fails="memory0"), {})
    assert indices(found) == [1]
    assert "GPU 0" in found.note


def test_failing_shutdown_is_ignored() -> None:
    assert indices(read_gpus(FakeNvml(fails="shutdown"), {})) == [0, 1]


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("", []),
        ("-1", []),
        ("0", [0]),
        ("1,0", [1, 0]),
        ("GPU-1aaa", [1]),
        ("1,9,0", [1]),
        ("NoDevFiles", []),
        (" 0 , 0", [0]),
    ],
)
def test_cuda_visible_devices(setting: str, expected: list[int]) -> None:
    found = read_gpus(FakeNvml(), {"CUDA_VISIBLE_DEVICES": setting})
    assert indices(found) == expected
    assert ("hides" in found.note) == (len(expected) < 2)


def test_no_gpu_in_the_machine() -> None:
    assert read_gpus(FakeNvml(count=0), {"CUDA_VISIBLE_DEVICES": ""}) == GpuList()


def test_importing_does_not_load_nvml() -> None:
    code = "import sys, engine.hardware.gpu; sys.exit('pynvml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
