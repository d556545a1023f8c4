"""Control texts in what people typed: found, and hidden from the tokenizer until they are harmless.

Pure. Used by `engine.text.prompt`. A turn marker inside a message must stay plain text, but one
pass over the rendered prompt cannot tell who wrote it. So markers are taken out of the messages before
rendering, one private character for each, and put back as plain text afterwards.
"""

import bisect
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.text.conversation import ToolArguments

_PRIVATE = re.compile("[\U000f0000-\U0010fffd]")


class ControlTexts:
    """The control texts of one vocabulary, made for searching (some thousand of them are common)."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = frozenset(texts)
        self._sorted = sorted(self._texts)
        self._lengths = sorted({len(text) for text in self._texts}, reverse=True)
        first = "".join(sorted({text[0] for text in self._texts}))
        self._first = re.compile(f"[{re.escape(first)}]") if first else None
        # Beginnings of bare words (some vocabularies have a control token "sop") are everywhere.
        self._opening = re.compile(f"(?![^\\W_])[{re.escape(first)}]") if first else None

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """(start, end) of every control text from left to right; the longest where several begin."""
        if self._first is None:
            return
        end = 0
        for match in self._first.finditer(text):
            start = match.start()
            if start < end:
                continue
            for length in self._lengths:
                if text[start : start + length] in self._texts:
                    end = start + length
                    yield start, end
                    break

    def unfinished(self, text: str) -> int:
        """Where `text` (white space at its end aside) ends in the beginning of a control text.

        A template could put the missing part behind it. Returns the length of `text` if not.
        """
        stem = text.rstrip()
        if self._opening is None:
            return len(text)
        for match in self._opening.finditer(stem, max(0, len(stem) - self._lengths[0])):
            tail = stem[match.start() :]
            place = bisect.bisect_right(self._sorted, tail)
            if place < len(self._sorted) and self._sorted[place].startswith(tail):
                return match.start()
        return len(text)


class Hiding:
    """Replaces control texts in values by private characters that occur nowhere in them."""

    def __init__(self, controls: ControlTexts, *sources: Any) -> None:
        """Prepare for `sources`: every text that will come near the private characters."""
        self._controls = controls
        self._sources = sources
        self._free: Iterator[str] | None = None
        self._private: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        """Private character → the text it stands for."""

    def hide(self, value: Any) -> Any:
        """A copy of `value` (JSON-like) without control texts, keys included."""
        if isinstance(value, str):
            return self._hide_text(value)
        if isinstance(value, ToolArguments):
            hidden = {self._hide_text(key): self.hide(item) for key, item in value.items()}
            return ToolArguments(hidden, self._hide_text(str(value)))
        if isinstance(value, Mapping):
            return {self.hide(key): self.hide(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.hide(item) for item in value]
        return value

    def _hide_text(self, text: str) -> str:
        parts: list[str] = []
        done = 0
        for start, end in self._controls.spans(text):
            parts += [text[done:start], self._stand_in(text[start:end])]
            done = end
        cut = max(done, self._controls.unfinished(text))
        if cut < len(text):
            stem = len(text.rstrip())
            parts += [text[done:cut], self._stand_in(text[cut:stem])]
            done = stem
        return "".join([*parts, text[done:]]) if parts else text

    def _stand_in(self, text: str) -> str:
        if text not in self._private:
            if self._free is None:
                taken = set().union(*map(_private_characters, self._sources))
                candidates = map(chr, range(0xF0000, 0x10FFFE))
                self._free = (c for c in candidates if c not in taken)
            self._private[text] = next(self._free)
            self.texts[self._private[text]] = text
        return self._private[text]

    def reveal(self, text: str) -> str:
        """Put the control texts back."""
        return text.translate({ord(c): shown for c, shown in self.texts.items()})


def _private_characters(value: Any) -> set[str]:
    if isinstance(value, str):
        return set(_PRIVATE.findall(value))
    if isinstance(value, Mapping):
        return set().union(*map(_private_characters, (*value.keys(), *value.values())))
    if isinstance(value, list | tuple):
        return set().union(*map(_private_characters, value))
    return set()
