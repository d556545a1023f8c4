"""What each process loads: no Qt and no native code in the service, no torch anywhere."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def modules_after(code: str) -> set[str]:
    command = f"{code}\nimport sys; print(' '.join(sys.modules))"
    result = subprocess.run(
        [sys.executable, "-c", command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return {name.split(".")[0] for name in result.stdout.split()}


@pytest.mark.parametrize(
    "module",
    [
        "engine.server.run",
        "engine.supervisor.supervisor",
        "engine.cli",
        "engine.client.client",
        "app.cli",
    ],
)
def test_fronts_load_no_native_code_and_no_qt(module: str) -> None:
    assert not modules_after(f"import {module}") & {"llama_cpp", "torch", "PySide6", "numpy"}


def test_the_worker_loads_no_torch_no_qt_and_no_server() -> None:
    loaded = modules_after("import engine.worker.__main__, engine.backends.llamacpp.opener")
    assert "llama_cpp" in loaded
    assert not loaded & {"torch", "PySide6", "starlette", "uvicorn"}


def test_the_command_line_starts_light() -> None:
    assert not modules_after("import app.cli") & {"msgspec", "starlette", "psutil", "httpx2"}
