"""Separates what a model thinks from what it answers. Pure; the only parser of thinking tags.

::

    START ──<think>──▶ THOUGHT ──</think>──▶ ANSWER        prefilled: begins in THOUGHT
      └──anything else────────────────────────▲
"""


class ReasoningSplitter:
    """Splits streamed text in (reasoning, content); the same for every way the text is cut.

    The opening tag counts only at the very start of an answer, white space before it is dropped then;
    anywhere else, and after the thought, tags are text like any other. Line breaks directly after
    a tag belong to the tag. What was returned once never changes.
    """

    def __init__(self, *, prefilled: bool, start: str = "<think>", end: str = "</think>") -> None:
        """Begin an answer.

        Args:
            prefilled: the prompt already opened the thought.
            start: opening tag.
            end: closing tag.
        """
        self._start, self._end = start, end
        self._undecided = not prefilled
        self._in_thought = prefilled
        self._after_tag = prefilled
        self._held = ""

    @property
    def in_thought(self) -> bool:
        """Is the text so far inside a thought? At the end: it was cut off there."""
        return self._in_thought

    def push(self, text: str) -> tuple[str, str]:
        """Take text; returns (reasoning, content) that it settled."""
        if self._undecided:
            text = self._held + text
            self._held = ""
            stem = text.lstrip()
            if stem.startswith(self._start):
                text = stem[len(self._start) :]
                self._undecided, self._in_thought, self._after_tag = False, True, True
            elif self._start.startswith(stem):
                self._held = text
                return "", ""
            else:
                self._undecided = False
        if not self._in_thought:
            return "", self._without_breaks(text)
        return self._push_thought(self._without_breaks(self._held + text))

    def flush(self) -> tuple[str, str]:
        """At the end: what was held back was no tag."""
        held, self._held, self._undecided = self._held, "", False
        return (held, "") if self._in_thought else ("", held)

    def _push_thought(self, text: str) -> tuple[str, str]:
        thought, tag, answer = text.partition(self._end)
        if tag:
            self._held, self._in_thought, self._after_tag = "", False, True
            return thought, self._without_breaks(answer)
        cut = _possible_tag(text, self._end)
        self._held = text[cut:]
        return text[:cut], ""

    def _without_breaks(self, text: str) -> str:
        if self._after_tag:
            text = text.lstrip("\n")
            self._after_tag = not text
        return text


def _possible_tag(text: str, tag: str) -> int:
    """Where `text` ends in a beginning of `tag`; its length if it does not."""
    at = text.find(tag[0], max(0, len(text) - len(tag) + 1))
    while at >= 0 and not tag.startswith(text[at:]):
        at = text.find(tag[0], at + 1)
    return at if at >= 0 else len(text)
