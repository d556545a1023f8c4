"""The borders hold, and the contracts that guard them bite."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLANTED = [
    ("engine/scheduler/scheduler.py", "import torch"),
    ("engine/hardware/plan.py", "import llama_cpp"),
    ("engine/supervisor/host.py", "import engine.worker.loop"),
    ("engine/hub/library.py", "import PySide6.QtCore"),
    ("engine/types.py", "import app.cli"),
    ("engine/backends/fake.py", "import engine.backends.llamacpp.batch"),
    ("engine/worker/loop.py", "import engine.backends.llamacpp.backend"),
    ("engine/client/client.py", "import engine.server.application"),
    ("engine/api/sse.py", "import engine.supervisor.answer"),
    ("app/cli.py", "import engine.supervisor.supervisor"),
    ("resources/__init__.py", "import engine.paths"),
    ("engine/supervisor/hub.py", "import urllib3"),
]


def lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    command = "from importlinter.cli import lint_imports_command as c; c()"
    return subprocess.run(
        [sys.executable, "-c", command, "--no-cache"],
        cwd=root,
        env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=100,
    )


def test_one_module_opens_connections_to_other_machines() -> None:
    """`network` makes the clients (the hub library gets its own from it), so the offline switch and the ledger see everything."""
    makes = re.compile(
        r"\b(PoolManager|ProxyManager|HTTPConnection|urlopen|create_connection|Client)\("
    )
    makers = {
        path.name
        for path in (ROOT / "engine" / "hub").rglob("*.py")
        if makes.search(path.read_text())
    }
    assert makers == {"network.py"}


def test_the_contracts_hold() -> None:
    result = lint_imports(ROOT)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(("module", "line"), PLANTED)
def test_a_planted_violation_fails(module: str, line: str, tmp_path: Path) -> None:
    import shutil

    for package in ("app", "engine", "resources"):
        shutil.copytree(ROOT / package, tmp_path / package)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    target = tmp_path / module
    target.write_text(target.read_text() + f"\n{line}\n")
    result = lint_imports(tmp_path)
    assert result.returncode == 1, result.stdout
    assert "BROKEN" in result.stdout
