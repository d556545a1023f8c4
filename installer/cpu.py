"""What this machine's CPU can execute: cheaply for the stamp, exactly (as the compiler sees it) for the wheel."""

import os
import platform
import re
import subprocess
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
# Nothing but speed depends on these, and virtual machines report them differently from boot to boot.
_TUNING = re.compile(r'--param "?l[12]-cache-(line-)?size=\d+"?')
# Search paths and the parsed command line repeated: noise.
_NOISE = re.compile(r"^(COMPILER_PATH|LIBRARY_PATH|COLLECT_\w+|InstalledDir)\b.*$", re.MULTILINE)


def flags(cpuinfo: Path = CPUINFO) -> str:
    """The first core's feature flags, or the best name the system has without /proc."""
    try:
        with cpuinfo.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                name, _, value = line.partition(":")
                if name.strip() in {"flags", "Features", "isa"}:
                    return " ".join(sorted(value.split()))
    except OSError:
        pass
    return platform.processor() or platform.machine()


def compiler() -> str | None:
    """The C++ compiler's command, the one that CMake will choose; None where there is none."""
    from shutil import which

    for name in (os.environ.get("CXX"), "c++", "g++", "clang++"):
        if name and which(name.split()[0]):
            return name
    return None


def compiler_view(command: str) -> str:
    """The compiler's version and the instruction sets that -march=native means to it, as one text.

    A dry run prints the resolved options, so kernels that rename or add flags cause no rebuild.
    """
    dry_run = ["-march=native", "-E", "-x", "c++", os.devnull, "-###"]
    shown = _output([*command.split(), *dry_run])
    if shown is None:  # no "native" on this processor or compiler
        shown = f"{_output([*command.split(), '--version'])}\n{flags()}"
    return simplify(shown)


def simplify(dry_run: str) -> str:
    """Drop what does not change the machine code's needs."""
    kept = _NOISE.sub("", _TUNING.sub("", dry_run))
    return "\n".join(" ".join(line.split()) for line in kept.splitlines() if line.strip())


def _output(command: list[str]) -> str | None:
    env = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    except OSError:
        return None
    return done.stdout + done.stderr if done.returncode == 0 else None
