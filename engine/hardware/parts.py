"""Which backends this installation has: `InstalledParts`, found out without importing any of them.

Zone: service; reads package metadata in under 2 ms, and again for each plan, as a part may be installed meanwhile.
Neighbours: `plan`, `cuda`.
"""

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

_CUDA_LIBRARIES = ("libtorch_cuda.so", "torch_cuda.dll")
"""What only a build for CUDA has; builds for AMD's and Intel's GPUs have libraries of other names."""


@dataclass(frozen=True, slots=True)
class InstalledParts:
    """What can be imported by a worker."""

    llama_cpp: bool = True
    """Computes most files, and reads the vocabulary of all."""
    torch: bool = False
    torch_cuda: bool = False
    """Torch is a build for CUDA."""

    @property
    def backends(self) -> list[str]:
        """What is installed, by the names that `--backend` takes; whether it suits this machine, each plan says."""
        if not self.llama_cpp:  # nothing works without its vocabularies
            return []
        return ["llama.cpp", *["torch-cuda"] * self.torch_cuda, *["torch-cpu"] * self.torch]


def installed_parts() -> InstalledParts:
    """Look for them."""
    folder = _folder("torch")
    built_for = None if folder is None else _version("torch")
    return InstalledParts(
        llama_cpp=_folder("llama_cpp") is not None,
        torch=built_for is not None,
        torch_cuda=folder is not None and built_for is not None and _for_cuda(built_for, folder),
    )


def _for_cuda(number: str, folder: Path) -> bool:
    """`2.9.0+cu130` and `2.9.0+cpu` say it; a plain `2.9.0` is for CUDA on Linux and not so elsewhere."""
    _, _, label = number.partition("+")
    if label:
        return label.startswith("cu")
    return any((folder / "lib" / name).exists() for name in _CUDA_LIBRARIES)


def _folder(package: str) -> Path | None:
    """Where a package would be imported from; None: nowhere."""
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):  # a half-removed package, or one that a test has replaced
        return None
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except (PackageNotFoundError, KeyError):
        return None
