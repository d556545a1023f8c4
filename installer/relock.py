"""`python3 installer lock`: makes the hashed lock files anew from pyproject.toml. For developers; needs uv.

Pins stay as they are where they still fit; `--upgrade` takes the newest, other arguments go to uv.
"""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from installer import layout

ENGINE = "llama-cpp-python"
"""Built here, so it is kept out of base.txt and test.txt; what it depends on stays in."""

# What the sdist's build-system table asks for, and the tools that it takes from wheels.
BUILD_REQUIREMENTS = ("scikit-build-core>=0.9.2", "cmake>=3.21", "ninja")

# From 25.3 on pip tells what it would install without fetching it; `torch_size` depends on that.
PIP_REQUIREMENT = "pip>=25.3"

_OPTIONS = (
    *("--universal", "--python-version", "3.11", "--generate-hashes"),
    *("--no-emit-index-url", "--no-annotate", "--no-header", "--quiet"),
)
_HEADER = "# Made by `python3 installer lock`; do not edit.\n"


def main(arguments: list[str], venv: Path) -> int:
    """Write the five lock files; 0 when all could be resolved."""
    uv = shutil.which("uv", path=str(layout.scripts(venv))) or shutil.which("uv")
    if uv is None:
        python = layout.python(venv)
        sys.stderr.write(f"uv is needed to resolve versions.\n  Run: {python} -m pip install uv\n")
        return 1
    project = "pyproject.toml"
    keep_out = ["--no-emit-package", ENGINE]
    jobs = [
        ("base.txt", [project, *keep_out], None),
        (
            "test.txt",
            [project, "--extra", "test", "-c", "installer/locks/base.txt", *keep_out],
            None,
        ),
        ("llama.txt", ["-", "--no-deps"], engine_requirement()),
        ("build.txt", ["-"], "\n".join(BUILD_REQUIREMENTS)),
        ("pip.txt", ["-"], PIP_REQUIREMENT),
    ]
    for name, inputs, text in jobs:
        target = layout.LOCKS / name
        command = [uv, "pip", "compile", *_OPTIONS, *inputs, *arguments, "-o", str(target)]
        done = subprocess.run(command, input=text, text=True, cwd=layout.ROOT, check=False)
        if done.returncode:
            return done.returncode
        target.write_text(
            _HEADER + target.read_text(encoding="utf-8").removeprefix(_HEADER), "utf-8"
        )
        print(f"installer/locks/{name}")
    return 0


def engine_requirement() -> str:
    """The one requirement of pyproject.toml that we compile ourselves."""
    project = tomllib.loads((layout.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(next(need for need in project["dependencies"] if need.startswith(ENGINE)))
