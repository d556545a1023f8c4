"""Small files of `/proc` and `/sys`, read without surprises. Neighbours: `cgroup`, `cpu`."""

from pathlib import Path


def read(path: Path, max_chars: int = 1 << 20) -> str:
    """The start of a file, stripped; "" when it cannot be read."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(max_chars).strip("\0 \t\n")
    except (OSError, ValueError):
        return ""
