"""What is installed, seen in made-up installations; nothing of it is imported."""

import subprocess
import sys
from pathlib import Path

import pytest

from engine.hardware.parts import InstalledParts, installed_parts

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation with no package in it."""
    for name in ("torch", "llama_cpp"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    return tmp_path


def install(site: Path, package: str, version: str = "", *files: str) -> None:
    folder = site / package
    folder.mkdir()
    (folder / "__init__.py").write_text("raise AssertionError('it was imported')")
    for name in files:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    if version:
        info = site / f"{package}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"
        )


def test_nothing(site: Path) -> None:
    assert installed_parts() == InstalledParts(llama_cpp=False)


@pytest.mark.parametrize(
    ("version", "files", "for_cuda"),
    [
        ("2.13.0+cpu", (), False),
        ("2.13.0+cpu", ("lib/libtorch_cuda.so",), False),
        ("2.13.0+cu130", (), True),
        ("2.13.0+rocm7.1", ("lib/libtorch_hip.so",), False),
        ("2.13.0+xpu", (), False),
        ("2.13.0", ("lib/libtorch_cuda.so",), True),
        ("2.13.0", ("lib/torch_cuda.dll",), True),
        ("2.13.0", ("lib/libtorch_cpu.dylib",), False),
    ],
)
def test_torch(site: Path, version: str, files: tuple[str, ...], for_cuda: bool) -> None:
    install(site, "llama_cpp")
    install(site, "torch", version, *files)
    assert installed_parts() == InstalledParts(True, True, for_cuda)


def test_remains_of_an_installation_are_none(site: Path) -> None:
    (site / "torch" / "lib").mkdir(parents=True)
    assert installed_parts() == InstalledParts(llama_cpp=False)
    (site / "torch" / "__init__.py").touch()
    assert not installed_parts().torch  # a folder of that name, not the package


def test_a_replaced_module_is_no_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", type(sys)("torch"))
    assert not installed_parts().torch


def test_looking_imports_nothing() -> None:
    code = (
        "from engine.hardware.parts import installed_parts; import sys; parts = installed_parts();"
        "assert parts.llama_cpp; assert not {'torch', 'llama_cpp', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)
