"""Which GPU can use torch, asked of a libcuda that is made up."""

import ctypes
from collections.abc import Callable
from typing import Any

import pytest

from installer import nvidia
from installer.nvidia import Found, Gpu

H200 = Found((Gpu("NVIDIA H200", (9, 0)),), (13, 0))
NONE = Found(note="there is no NVIDIA driver (libcuda.so.1 was not found)")


class Driver:
    """libcuda's functions, called through ctypes' own references."""

    def __init__(
        self, *gpus: tuple[bytes, int, int], cuda: int = 13000, failing: str = "", code: int = 999
    ) -> None:
        self._gpus, self._cuda, self._failing, self._code = gpus, cuda, failing, code

    def __getattr__(self, name: str) -> Callable[..., int]:
        work = getattr(type(self), f"_{name}")
        return lambda *arguments: (
            self._code if name == self._failing else work(self, *arguments) or 0
        )

    def _cuInit(self, flags: int) -> None:
        assert flags == 0

    def _cuDriverGetVersion(self, version: Any) -> None:
        version._obj.value = self._cuda

    def _cuDeviceGetCount(self, count: Any) -> None:
        count._obj.value = len(self._gpus)

    def _cuDeviceGet(self, device: Any, ordinal: int) -> None:
        device._obj.value = ordinal

    def _cuDeviceGetName(self, name: Any, length: int, device: ctypes.c_int) -> None:
        assert len(name) == length
        name.value = self._gpus[device.value][0]

    def _cuDeviceGetAttribute(self, value: Any, attribute: int, device: ctypes.c_int) -> None:
        value._obj.value = self._gpus[device.value][{75: 1, 76: 2}[attribute]]


def look(driver: object) -> Found:
    return nvidia.look(load=lambda _name: driver, platform="linux")


def test_the_driver_tells_gpus_and_version() -> None:
    found = look(Driver((b"NVIDIA H200", 9, 0), (b"Tesla T4", 7, 5), cuda=13010))
    assert found == Found((Gpu("NVIDIA H200", (9, 0)), Gpu("Tesla T4", (7, 5))), (13, 1))
    assert nvidia.suitable(found, "linux") == found.gpus[0]


@pytest.mark.parametrize(
    ("driver", "why"),
    [
        (Driver((b"Tesla T4", 7, 5)), "Tesla T4 is too old"),
        (Driver((b"NVIDIA A10", 8, 6), cuda=12080), "driver is too old (CUDA 12.8, 13.0"),
        (Driver(), "shows no GPU"),
        (Driver(failing="cuInit", code=100), "shows no GPU"),
        (Driver(failing="cuInit", code=803), "does not answer (CUDA error 803)"),
        (Driver((b"x", 9, 0), failing="cuDeviceGetAttribute"), "CUDA error 999"),
        (object(), "does not answer as expected"),
    ],
)
def test_every_other_answer_is_a_reason(driver: object, why: str) -> None:
    reason = nvidia.suitable(look(driver), "linux")
    assert isinstance(reason, str)
    assert why in reason


def test_no_driver_is_a_reason_too() -> None:
    def load(name: str) -> None:
        raise OSError(name)

    assert "nvcuda.dll was not found" in nvidia.look(load, "win32").note
    assert nvidia.suitable(nvidia.look(load, "linux")) == NONE.note
    assert "Linux only" in str(nvidia.suitable(H200, "win32"))
