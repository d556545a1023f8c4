"""What a problem report needs: versions, machine, folders, as text. No prompts, no answers, no key.

Zone: GUI thread. Neighbours: `calls`, `app.widgets.settings.about`.
"""

import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import PySide6
from PySide6.QtCore import QObject, Signal, Slot

from app.stores.calls import Calls
from engine.errors import EngineError

_MB: Final = 1 << 20


class _Cpu(msgspec.Struct, frozen=True):
    name: str = ""
    machine: str = ""
    physical_cores: int = 0
    logical_cpus: int = 0
    usable_cores: int = 0
    features: list[str] | None = None


class _Memory(msgspec.Struct, frozen=True):
    total: int = 0
    free: int = 0


class _Gpu(msgspec.Struct, frozen=True):
    name: str = ""
    vram_total: int = 0
    vram_free: int = 0
    driver: str = ""


class _Machine(msgspec.Struct, frozen=True):
    system: str = ""
    cpu: _Cpu = _Cpu()
    memory: _Memory = _Memory()
    gpus: list[_Gpu] = []
    gpu_note: str | None = None
    backends: list[str] | None = None
    """None: the service is of an older version."""


class DiagnosticsStore(QObject):
    """The text and how fresh it is.

    Args:
        calls: the bridge.
        version: the window's.
        places: folders and files by what they are called.
        parent: as Qt's.

    Signals:
        changed(): `text` is different now.
    """

    changed = Signal()

    def __init__(
        self,
        calls: Calls,
        version: str,
        places: Mapping[str, Path],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._calls = calls
        self._version = version
        self._places = dict(places)
        self._machine: list[tuple[str, str]] = []
        self._service = ""

    @property
    def text(self) -> str:
        """Aligned lines."""
        software = (
            f"Inglenook {self._version}, Python {platform.python_version()}, "
            f"PySide6 {PySide6.__version__}"
        )
        lines = [
            *self._machine,
            ("Software", software),
            ("Service", self._service or "…"),
            *((name, str(path)) for name, path in self._places.items()),
        ]
        width = max(len(name) for name, _ in lines)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in lines)

    @Slot()
    def refresh(self) -> None:
        """Ask the service for the machine and its version."""
        self._calls.call(lambda client: client.hardware(), self._take_hardware, self._lost)
        self._calls.call(lambda client: client.version(), self._take_version, self._lost)

    def _take_hardware(self, hardware: dict[str, Any]) -> None:
        try:
            self._machine = _lines(msgspec.convert(hardware, _Machine))
        except msgspec.ValidationError as error:
            self._machine = [("Machine", f"not understood: {error}")]
        self.changed.emit()

    def _take_version(self, version: str) -> None:
        self._service = f"Inglenook {version}"
        self.changed.emit()

    def _lost(self, error: EngineError) -> None:
        self._service = str(error)
        self.changed.emit()


def _lines(machine: _Machine) -> list[tuple[str, str]]:
    cpu, memory = machine.cpu, machine.memory
    cores = f"{cpu.physical_cores} physical, {cpu.logical_cpus} logical, {cpu.usable_cores} usable"
    lines = [
        ("System", f"{machine.system}, {cpu.machine}"),
        ("Processor", cpu.name),
        ("Cores", cores),
        ("Instructions", ", ".join(cpu.features or ()) or "unknown"),
        ("Memory", f"{memory.total // _MB:,} MB, {memory.free // _MB:,} MB free"),
    ]
    lines += [
        (
            f"GPU {number}",
            f"{gpu.name}, {gpu.vram_total // _MB:,} MB, {gpu.vram_free // _MB:,} MB free, "
            f"driver {gpu.driver}",
        )
        for number, gpu in enumerate(machine.gpus)
    ]
    if machine.gpu_note or not machine.gpus:
        lines.append(("GPU", machine.gpu_note or "no NVIDIA GPU"))
    if machine.backends is not None:
        lines.append(("Backends", ", ".join(machine.backends) or "none: run the installer again"))
    return lines
