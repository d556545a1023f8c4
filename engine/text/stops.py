"""Stop strings in streamed text. Pure.

Nothing of a stop string reaches the reader, and nothing else waits longer than it must: only text
that may still become a stop string is held back.
"""

from collections import deque
from collections.abc import Iterable


class StopMatcher:
    """The automaton of Aho and Corasick (1975) over characters: linear however stops overlap.

    The stop that is complete first wins; of several complete at the same character, the longest.
    So the result does not depend on how the text was cut.
    """

    def __init__(self, stops: Iterable[str]) -> None:
        """Empty stop strings are ignored."""
        self.matched: str | None = None
        """The stop string that ended the text."""
        self._held = ""
        self._state = 0
        self._children: list[dict[str, int]] = [{}]
        self._depth = [0]
        self._fallback = [0]
        self._ends: list[str | None] = [None]
        for stop in filter(None, stops):
            self._add(stop)
        self._link()

    def push(self, text: str) -> str:
        """Take text; returns what may be shown. After a match, nothing."""
        if len(self._children) == 1:
            return text
        if self.matched is not None:
            return ""
        children, fallback, state = self._children, self._fallback, self._state
        for index, character in enumerate(text):
            while (following := children[state].get(character)) is None and state:
                state = fallback[state]
            state = following or 0
            if (stop := self._ends[state]) is not None:
                shown = self._held + text[: index + 1]
                self.matched, self._held = stop, ""
                return shown[: len(shown) - len(stop)]
        self._state = state
        shown = self._held + text
        cut = len(shown) - self._depth[state]
        self._held = shown[cut:]
        return shown[:cut]

    def flush(self) -> str:
        """At the end: what was held back after all became no stop string."""
        held, self._held, self._state = self._held, "", 0
        return held

    def _add(self, stop: str) -> None:
        state = 0
        for character in stop:
            if character not in self._children[state]:
                self._children[state][character] = len(self._children)
                self._children.append({})
                self._depth.append(self._depth[state] + 1)
                self._fallback.append(0)
                self._ends.append(None)
            state = self._children[state][character]
        self._ends[state] = stop

    def _link(self) -> None:
        """Point every state at the longest proper suffix that is a state, nearest states first."""
        waiting = deque(self._children[0].values())
        while waiting:
            state = waiting.popleft()
            for character, child in self._children[state].items():
                shorter = self._fallback[state]
                while character not in self._children[shorter] and shorter:
                    shorter = self._fallback[shorter]
                self._fallback[child] = self._children[shorter].get(character, 0)
                self._ends[child] = self._ends[child] or self._ends[self._fallback[child]]
                waiting.append(child)
