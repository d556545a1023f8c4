"""Interim: stop strings."""

from collections.abc import Sequence


class StopMatcher:
    """Holds back what may become a stop string."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = [s for s in stops if s]
        self._held = ""
        self.matched: str | None = None

    def push(self, text: str) -> str:
        """Released text."""
        if not self._stops:
            return text
        if self.matched is not None:
            return ""
        self._held += text
        found = [(self._held.find(s), s) for s in self._stops if s in self._held]
        if found:
            at, self.matched = min(found)
            released, self._held = self._held[:at], ""
            return released
        keep = max(
            (n for s in self._stops for n in range(1, len(s)) if self._held.endswith(s[:n])),
            default=0,
        )
        released = self._held[: len(self._held) - keep]
        self._held = self._held[len(self._held) - keep :]
        return released

    def flush(self) -> str:
        """The rest."""
        released, self._held = self._held, ""
        return released
