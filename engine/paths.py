"""Where things live on disk. The only module that asks platformdirs."""

import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs

APP_NAME = "inglenook"
DATA_DIR_VARIABLE = "INGLENOOK_DATA_DIR"


@dataclass(frozen=True, slots=True)
class Paths:
    """The folders of one installation. Nothing is created by looking."""

    data: Path
    """Models, history: what the user would miss."""
    config: Path
    cache: Path
    logs: Path
    hub: Path | None = None
    """Where downloads go; None: the Hugging Face cache, which other tools use too."""

    @property
    def models(self) -> Path:
        """The model library's own folder."""
        return self.data / "models"

    @property
    def connections(self) -> Path:
        """The ledger of connections."""
        return self.data / "connections.json"

    @property
    def downloads(self) -> Path:
        """The queue of downloads."""
        return self.data / "downloads.json"

    @property
    def checksums(self) -> Path:
        """SHA-256 of model files that were read whole."""
        return self.data / "checksums.json"

    @property
    def model_defaults(self) -> Path:
        """What was chosen for single models."""
        return self.config / "models.json"

    @property
    def token(self) -> Path:
        """The hub's token (mode 0600)."""
        return self.config / "hub-token"

    @property
    def settings(self) -> Path:
        """The settings file."""
        return self.config / "settings.toml"

    @staticmethod
    def find(data_dir: str | Path | None = None) -> "Paths":
        """Resolve the folders: argument, then environment, then the system's convention.

        A data folder that is given holds everything (portable use, tests).
        """
        chosen = data_dir or os.environ.get(DATA_DIR_VARIABLE)
        if chosen:
            root = Path(chosen).expanduser().absolute()
            return Paths(root, root / "config", root / "cache", root / "logs", root / "hub")
        dirs = platformdirs.PlatformDirs(APP_NAME, appauthor=False)
        return Paths(
            Path(dirs.user_data_dir),
            Path(dirs.user_config_dir),
            Path(dirs.user_cache_dir),
            Path(dirs.user_log_dir),
        )
