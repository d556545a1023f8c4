"""The hub's token: ours in a file of its own (mode 0600), else one that the user has given to other tools. Never logged, never told."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from engine.errors import SetupError

Source = Literal["none", "app", "environment", "hub"]


class TokenStore:
    """Where the token comes from, asked anew each time."""

    def __init__(self, file: Path, environment: Mapping[str, str] = os.environ) -> None:
        """Look at nothing yet.

        Args:
            file: of our own token.
            environment: `HF_TOKEN`, `HUGGING_FACE_HUB_TOKEN`, `HF_TOKEN_PATH`, `HF_HOME`.
        """
        self._file = file
        self._environment = environment

    def read(self) -> tuple[str, Source]:
        """The token and where it comes from; ("", "none"): there is none."""
        if own := _text(self._file):
            return own, "app"
        for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
            if token := self._environment.get(name, "").strip():
                return token, "environment"
        if token := _text(self._hub_file()):
            return token, "hub"
        return "", "none"

    def write(self, token: str) -> None:
        """Keep a token of our own; an empty one is forgotten.

        Raises:
            SetupError: it cannot be written.
        """
        token = token.strip()
        try:
            if not token:
                self._file.unlink(missing_ok=True)
                return
            self._file.parent.mkdir(parents=True, exist_ok=True)
            partial = self._file.with_name(f".{self._file.name}.new")
            partial.unlink(missing_ok=True)
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(token)
            partial.replace(self._file)
        except OSError as error:
            raise SetupError(
                f"The token could not be saved ({error.strerror}).",
                hint="Check that the settings folder can be written.",
            ) from error

    def _hub_file(self) -> Path:
        if path := self._environment.get("HF_TOKEN_PATH"):
            return Path(path).expanduser()
        home = self._environment.get("HF_HOME")
        return (Path(home).expanduser() if home else Path.home() / ".cache/huggingface") / "token"


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8").strip()
    except (OSError, ValueError):
        return ""
