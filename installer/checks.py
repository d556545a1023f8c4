"""`python3 installer check`: every static check in one command, cheapest first; all run, all failures are told."""

import re
import subprocess
import sys
from pathlib import Path

from installer import layout

_HOST = re.compile(r"://|--(?:extra-)?index-url|--find-links")


def main(arguments: list[str], venv: Path) -> int:
    """Run the checks in the repository; `--fix` lets ruff repair what it can. 0 when all pass."""
    unknown = [word for word in arguments if word != "--fix"]
    if unknown:
        sys.stderr.write(f"check: unknown argument {unknown[0]}; the only one is --fix.\n")
        return 2
    failed = [
        name for name, command in commands(venv, fix=bool(arguments)) if not _passes(name, command)
    ]
    hosts = sorted(
        lock.name for lock in layout.LOCKS.glob("*.txt") if names_host(lock.read_text("utf-8"))
    )
    if hosts:
        print(f"lock files name a host: {', '.join(hosts)}")
        failed.append("lock files")
    print(f"FAILED: {', '.join(failed)}" if failed else "All checks passed.")
    return 1 if failed else 0


def commands(venv: Path, *, fix: bool) -> list[tuple[str, list[str]]]:
    """Name and command line of each tool."""
    scripts = layout.scripts(venv)
    lint = ["check", "--fix"] if fix else ["check"]
    style = ["format"] if fix else ["format", "--check"]
    return [
        ("ruff check", [str(scripts / "ruff"), *lint, "."]),
        ("ruff format", [str(scripts / "ruff"), *style, "."]),
        ("import borders", [str(scripts / "lint-imports")]),
        ("mypy", [str(layout.python(venv)), "-m", "mypy"]),
    ]


def names_host(lock: str) -> bool:
    """Whether a lock file says where packages come from; that is each machine's own business."""
    return bool(_HOST.search(lock))


def _passes(name: str, command: list[str]) -> bool:
    print(f"-- {name}", flush=True)
    return subprocess.run(command, cwd=layout.ROOT, check=False).returncode == 0
