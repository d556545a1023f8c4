"""What models did on this machine, in one file: what the speed of others is expected from.

Zone: service process. Kept over restarts; a file that cannot be read is no measurement. Neighbour: `engine.hardware.outlook`.
"""

from pathlib import Path
from typing import Final

import msgspec

from engine.hardware.outlook import Speed, Work

_MOST: Final = 64


class _Line(msgspec.Struct, frozen=True):
    cpu: str
    model: str
    bytes_read: int
    numbers: int
    kv_bytes: int
    fast: bool
    writes: float
    reads: float


class SpeedBook:
    """Speeds by model; the latest measurement counts."""

    def __init__(self, cache_folder: Path | None) -> None:
        """Read what was measured before.

        Args:
            cache_folder: None: nothing is kept.
        """
        self._file = cache_folder / "measured" / "speeds.json" if cache_folder else None
        self._lines: dict[str, _Line] = {line.model: line for line in self._read()}

    def speeds(self, cpu: str) -> list[Speed]:
        """All that were measured on a processor of this name; another one's say nothing."""
        return [
            Speed(
                Work(line.bytes_read, line.numbers, line.kv_bytes, line.fast),
                line.writes,
                line.reads,
            )
            for line in self._lines.values()
            if line.cpu == cpu
        ]

    def note(self, cpu: str, model: str, work: Work, *, writes: float, reads: float) -> None:
        """A model was measured on a processor; tokens a second."""
        if not (0 < writes < 1e9 and 0 < reads < 1e9):
            return
        self._lines.pop(model, None)
        self._lines[model] = _Line(
            cpu,
            model,
            work.bytes_read,
            work.numbers,
            work.kv_bytes,
            work.fast,
            writes,
            reads,
        )
        while len(self._lines) > _MOST:
            self._lines.pop(next(iter(self._lines)))
        self._write()

    def _read(self) -> list[_Line]:
        if self._file is None:
            return []
        try:
            lines = msgspec.json.decode(self._file.read_bytes(), type=list[_Line])
        except (OSError, msgspec.MsgspecError):
            return []
        return [line for line in lines if line.writes > 0 < line.reads and line.bytes_read > 0]

    def _write(self) -> None:
        if self._file is None:
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            partial = self._file.with_suffix(".part")
            partial.write_bytes(msgspec.json.encode(list(self._lines.values())))
            partial.replace(self._file)
        except OSError:
            return  # measured again next time
