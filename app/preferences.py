"""What the window reads from and writes to settings.toml: the engine's settings and its own section.

Qt-free. A save changes only the keys it was given: comments, order and what others wrote stay.
Neighbours: `engine.config` (the engine's part, read by the service too), `app.stores.settings`.
"""

import contextlib
import dataclasses
import os
import tempfile
import tomllib
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, cast

import msgspec

from engine import config
from engine.errors import InvalidRequest, SetupError

Language = Literal["system", "en", "zh_CN"]
ThemeMode = Literal["system", "light", "dark"]
Value = str | int | float | Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DesktopSettings:
    """The window's own section; the service ignores it."""

    language: Language = "system"
    theme: ThemeMode = "system"
    max_tokens: int = 0
    """Longest answer; 0: until the model ends or the context is full."""
    read_along: bool = True
    """The model reads a message while it is typed."""


@dataclass(frozen=True, slots=True)
class Preferences:
    """Everything that can be set, as the window sees it."""

    engine: config.Settings = field(default_factory=config.Settings)
    desktop: DesktopSettings = field(default_factory=DesktopSettings)

    def __getitem__(self, name: str) -> Any:
        """The value of `section.field`, such as `models.threads`."""
        section, key = _split(name)
        return getattr(self._section(section), key)

    def with_value(self, name: str, value: Value) -> "Preferences":
        """A copy with one value changed.

        Raises:
            InvalidRequest: the value is outside what the setting allows.
        """
        section, key = _split(name)
        low, high = RANGES.get(name, (None, None))
        if low is not None and high is not None and not low <= cast(float, value) <= high:
            raise InvalidRequest(
                f"{value} is not possible here.",
                hint=f"Choose a number from {low:,} to {high:,}.",
                param=name,
            )
        tree = msgspec.to_builtins(self._section(section)) | {key: value}
        kind = type(self._section(section))
        try:
            changed = msgspec.convert(tree, kind)
        except msgspec.ValidationError as error:
            raise InvalidRequest(f"This is not possible: {error}.", param=name) from error
        if section == "desktop":
            return dataclasses.replace(self, desktop=changed)
        return dataclasses.replace(
            self, engine=dataclasses.replace(self.engine, **{section: changed})
        )

    @staticmethod
    def names() -> list[str]:
        """All settings as `section.field`."""
        return [
            f"{section}.{entry.name}"
            for section, kind in _sections().items()
            for entry in dataclasses.fields(kind)
        ]

    def _section(self, section: str) -> Any:
        return self.desktop if section == "desktop" else getattr(self.engine, section)


RANGES: Final[Mapping[str, tuple[float, float]]] = {
    "desktop.max_tokens": (0, 1_000_000),
    "generation.temperature": (0.0, 2.0),
    "generation.top_p": (0.01, 1.0),
    "generation.top_k": (0, 1000),
    "generation.min_p": (0.0, 1.0),
    "server.port": (0, 65535),
    "models.context": (0, 1 << 24),
    "models.threads": (0, 512),
    "models.idle_timeout_s": (0.0, 604_800.0),
    "models.keep_disk_mib": (512, 1 << 20),
    "network.download_limit_kib_s": (0, 1 << 24),
}
"""Lowest and highest value that the window offers, by setting."""

SERVICE_SECTIONS: Final = frozenset({"server", "models", "network"})
"""Read by the service when it starts: a change waits for the next start."""
TOLD_AT_ONCE: Final = frozenset({"network.offline", "network.download_limit_kib_s"})
"""But for these, which the window also tells the service that runs."""


def load(path: Path) -> Preferences:
    """Read the file, if there is one, and the environment.

    Raises:
        SetupError: what is wrong, and with which file.
    """
    engine = config.load(path)
    try:
        tree = tomllib.loads(path.read_text("utf-8")).get("desktop", {})
    except FileNotFoundError:
        tree = {}
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    try:
        return Preferences(engine, msgspec.convert(tree, DesktopSettings, strict=False))
    except msgspec.ValidationError as error:
        raise SetupError(f"A setting is not valid: {error}.", hint=f"See {path}.") from error


def save(path: Path, changes: Mapping[str, Value]) -> None:
    """Write some settings (`section.field` → value) into the file, whole or not at all.

    Raises:
        SetupError: the file cannot be understood (it is left alone) or cannot be written.
    """
    import tomlkit  # 25 ms: not on the way to the first picture
    import tomlkit.exceptions

    try:
        target = path.resolve()  # a link to a file kept elsewhere stays a link
        document = tomlkit.parse(target.read_text("utf-8") if target.exists() else "")
        for name, value in changes.items():
            section, key = _split(name)
            _table(document, section)[key] = value
        _write(target, tomlkit.dumps(document))
    except (tomlkit.exceptions.TOMLKitError, UnicodeError, TypeError) as error:
        raise _unreadable(path, error) from error
    except OSError as error:
        raise SetupError(
            f"The setting is used now but could not be saved ({error.strerror or error}).",
            hint=f"Check that {path} can be written and its disk is not full, then try again.",
        ) from error


def _sections() -> dict[str, type[Any]]:
    engine = {
        field.name: cast(Any, field.default_factory)
        for field in dataclasses.fields(config.Settings)
    }
    return {"desktop": DesktopSettings} | engine


def _split(name: str) -> tuple[str, str]:
    section, _, key = name.partition(".")
    if name not in Preferences.names():
        raise ValueError(f"no such setting: {name}")
    return section, key


def _table(document: MutableMapping[str, Any], section: str) -> MutableMapping[str, Any]:
    table = document.setdefault(section, {})
    if not isinstance(table, MutableMapping):
        raise TypeError(f"{section} is not a table")
    return table


def _write(target: Path, text: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    # mkstemp makes it readable for its owner only: the file may hold the service's key.
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def _unreadable(path: Path, error: Exception) -> SetupError:
    return SetupError(
        f"The settings file {path.name} cannot be read: {error}.",
        hint=f"Correct or remove {path}, then try again.",
    )
