"""Where a system keeps a user's data, settings and caches. Pure: every system's answer can be had on every other."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

System = Literal["linux", "darwin", "win32"]


@dataclass(frozen=True, slots=True)
class Places:
    """One user on one machine. Nothing is looked at."""

    system: System
    home: Path
    environment: Mapping[str, str]
    root: Path = Path("/")
    """Of the file system, for folders that belong to no user."""

    @staticmethod
    def here() -> "Places":
        """Of this process."""
        system: System = "linux"
        if sys.platform in ("win32", "darwin"):
            system = sys.platform
        return Places(system, Path.home(), os.environ)

    @staticmethod
    def nowhere(folder: Path) -> "Places":
        """Of a user who has nothing but this folder."""
        return Places("linux", folder / "nobody", {}, folder / "nobody")

    @property
    def data(self) -> Path:
        """Data of programs; on Windows the part that follows the user to other machines."""
        return self._folder("XDG_DATA_HOME", ".local/share", "APPDATA", "AppData/Roaming")

    @property
    def local_data(self) -> Path:
        """Data of programs that stays on the machine."""
        return self._folder("XDG_DATA_HOME", ".local/share", "LOCALAPPDATA", "AppData/Local")

    @property
    def config(self) -> Path:
        """Settings of programs that do as on Linux on macOS, too."""
        return self._choice("APPDATA", "AppData/Roaming") or (
            self.variable("XDG_CONFIG_HOME") or self.home / ".config"
        )

    @property
    def cache(self) -> Path:
        """Caches."""
        if self.system == "darwin":
            return self.home / "Library/Caches"
        return self._folder("XDG_CACHE_HOME", ".cache", "LOCALAPPDATA", "AppData/Local")

    def variable(self, name: str) -> Path | None:
        """A folder that an environment variable names; None: it is not set."""
        return self.expanded(self.environment.get(name, ""))

    def expanded(self, text: str) -> Path | None:
        """A path as a person writes it, `~` for the home; None for no text or one that is no absolute path."""
        text = text.strip()
        if text == "~" or text.startswith(("~/", "~\\")):
            return self.home / text[2:]
        return Path(text) if text and "\0" not in text and Path(text).is_absolute() else None

    def _folder(self, variable: str, default: str, windows: str, windows_default: str) -> Path:
        if self.system == "darwin":
            return self.home / "Library/Application Support"
        return self._choice(windows, windows_default) or (
            self.variable(variable) or self.home / default
        )

    def _choice(self, variable: str, default: str) -> Path | None:
        if self.system != "win32":
            return None
        return self.variable(variable) or self.home / default
