"""System packages: what set-up needs from Debian or Ubuntu, what is missing, and how it is got.

As root the missing ones are installed; anybody else is told the one line to run. The lists were found
by trying on a bare Debian 12.
"""

import ctypes
import importlib.util
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.errors import SetupError
from installer import cpu, process, stamp
from installer.progress import Line

APT_INSTALL = ("apt-get", "install", "-y", "--no-install-recommends")

QT_LIBRARIES = {
    "libglib-2.0.so.0": "libglib2.0-0",
    "libGL.so.1": "libgl1",
    "libEGL.so.1": "libegl1",
    "libX11.so.6": "libx11-6",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libbrotlidec.so.1": "libbrotli1",
}
X11_LIBRARIES = {
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
}
"""Only for a window on an X display."""
CJK_FONT = "fonts-wqy-microhei"  # 2 MB, simplified and traditional; Noto's is 56 MB
_CJK_NAMES = ("cjk", "wqy", "droidsansfallback", "sourcehan", "uming", "ukai", "ipag", "vlgothic")
_FONT_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts")


@dataclass(frozen=True, slots=True)
class Need:
    """One package and the test that tells whether its content is there, from whatever source."""

    package: str
    present: Callable[[], bool]
    optional: bool = False


def needs(parts: Iterable[str]) -> list[Need]:
    """What these parts need from the system. Qt's libraries count only for parts that start Qt."""
    found: list[Need] = []
    if sys.platform == "win32":
        return found  # CMake finds Visual Studio by itself; Qt's wheels bring the rest
    if sys.platform != "linux":
        return [Need("g++", lambda: cpu.compiler() is not None)]
    if stamp.BASE in parts:
        found += [
            Need(f"python3.{sys.version_info.minor}-venv", has_ensurepip),
            Need("g++", lambda: cpu.compiler() is not None),
            Need("libgomp1", lambda: loads("libgomp.so.1")),
        ]
    if stamp.QT in parts:
        libraries = QT_LIBRARIES | (X11_LIBRARIES if stamp.X11 in parts else {})
        found += [
            Need(package, lambda name=library: loads(name))  # type: ignore[misc]
            for library, package in libraries.items()
        ]
        found.append(Need(CJK_FONT, has_cjk_font, optional=True))
    return found


def ensure(wanted: Sequence[Need], *, line: Line, log: Path, root: bool) -> None:
    """Install what is missing as root, or name it.

    Raises:
        SetupError: something needed is missing and could not be installed from here.
    """
    missing = [need for need in wanted if not need.present()]
    required = [need.package for need in missing if not need.optional]
    optional = [need.package for need in missing if need.optional]
    if not missing:
        return
    if shutil.which("apt-get") is None:
        _explain_without_apt(required, line)
    elif root:
        _install(required, optional, line=line, log=log)
    elif required:
        raise SetupError(
            "some system packages are missing.",
            hint=f"Run this once, then start again:\n  {command_line(required + optional)}",
        )
    else:
        line.say(f"Hint: Chinese text needs a font. To add one: {command_line(optional)}")


def command_line(packages: Sequence[str]) -> str:
    """What an ordinary user is asked to run."""
    return " ".join(["sudo", *APT_INSTALL, *packages])


def is_root() -> bool:
    """Whether this process may install system packages."""
    return os.name == "posix" and os.geteuid() == 0


def has_ensurepip() -> bool:
    """Whether this Python can make a virtual environment with pip; Debian keeps that apart."""
    return importlib.util.find_spec("ensurepip") is not None


def loads(library: str) -> bool:
    """Whether the system's loader finds a shared library."""
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def has_cjk_font(folders: Iterable[str] = _FONT_FOLDERS) -> bool:
    """Whether a known font with Chinese characters is installed, judged by file names."""
    return any(
        mark in file.name.lower().replace("-", "").replace("_", "")
        for folder in folders
        for file in Path(folder).expanduser().rglob("*.[to]t[fc]")
        for mark in _CJK_NAMES
    )


def _install(required: list[str], optional: list[str], *, line: Line, log: Path) -> None:
    line.say(f"Installing system packages: {' '.join(required + optional)}")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    log.write_text("", encoding="utf-8")
    # A mirror that fails here may still have what is needed: the install decides.
    process.follow(["apt-get", "update", "-q"], log=log, env=env)
    attempts = [required + optional, required] if required and optional else [required + optional]
    for packages in attempts:
        command = [*APT_INSTALL, "-q", "-o", "DPkg::Lock::Timeout=120", *packages]
        if process.follow(command, log=log, env=env, on_line=_shown(line)) == 0:
            line.clear()
            return
    if required:
        lines = "\n".join(process.tail(log))
        raise SetupError(
            f"apt-get could not install {' '.join(required)}.",
            hint=f"Is this machine online? What apt said (all of it: {log}):\n{lines}",
        )
    line.say(
        f"Hint: the font package {CJK_FONT} could not be installed; Chinese text may show as boxes."
    )


def _shown(line: Line) -> Callable[[str], None]:
    def show(text: str) -> None:
        if text.startswith(("Get:", "Unpacking", "Setting up")):
            line.show(f"System packages: {text.strip()}")

    return show


def _explain_without_apt(required: list[str], line: Line) -> None:
    if not required:
        return
    if "g++" in required:
        hint = "On macOS run: xcode-select --install" if sys.platform == "darwin" else ""
        raise SetupError(
            "a C++ compiler is needed and none was found.",
            hint=hint
            or "Install GCC or Clang with your system's package manager, then start again.",
        )
    line.say(f"Hint: this system seems to lack (by Debian's names): {' '.join(required)}")
