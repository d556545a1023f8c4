"""Splits Markdown, while it is being written, into finished blocks and the block still growing.

Pure and Qt-free. A text block ends at a blank line outside lists and fences, a code block at its closing
fence; lists stay whole unless a fenced block stands in them. Fences follow CommonMark 0.31 §4.5, except
that a list item's code may be less indented than its fence, as models often write it.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

_TAB = 4
_MARKER = re.compile(r"([-+*]|\d{1,9}[.)])(?:([ \t]+)(?=\S)|[ \t]*\r?\n?$)")
_FENCE = re.compile(r"(?:(`{3,})([^`\n]*)|(~{3,})([^\n]*))\n?$")
_DEFINITION = re.compile(r"^ {0,3}\[[^\]\n]+\]:[ \t]*\S.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of the source. Sources, concatenated, are the source again."""

    kind: Literal["text", "code"]
    source: str
    language: str = ""
    """First word of the fence's info string."""
    code: str = ""
    """What stands between the fences, without the line end before the closing one."""
    indent: int = 0
    """Columns by which the list item that the block continues is indented."""

    @property
    def markdown(self) -> str:
        """A text block's source without that indentation, to be rendered alone."""
        if not self.indent:
            return self.source
        return "\n".join(_dedented(line, self.indent) for line in self.source.split("\n"))

    @property
    def blank(self) -> bool:
        """Nothing to show."""
        return self.kind == "text" and not self.source.strip()


@dataclass(frozen=True, slots=True)
class _Fence:
    mark: str
    language: str
    indent: int
    base: int

    def closed_by(self, line: str) -> bool:
        mark = line.strip()
        return (
            len(mark) >= len(self.mark)
            and not mark.strip(self.mark[0])
            and _indent(line) - self.base <= 3
        )


class BlockSplitter:
    """One answer's source, pushed piece by piece; how it is cut into pieces makes no difference."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._partial = ""
        self._fence: _Fence | None = None
        self._code: list[str] = []
        self._indent = 0
        self._offsets: list[int] = []
        self._has_text = False
        self._after_blank = False
        self._done: list[Block] = []

    def push(self, text: str) -> list[Block]:
        """Take more source; returns the blocks that it finished."""
        lines = (self._partial + text).split("\n") if "\n" in text else [self._partial + text]
        self._partial = lines.pop()
        for line in lines:
            self._take(line + "\n")
        done, self._done = self._done, []
        return done

    @property
    def tail(self) -> Block:
        """The unfinished block as it would be if the source ended here."""
        source = "".join(self._lines) + self._partial
        fence = self._fence
        if fence is None:
            return Block("text", source, indent=self._indent)
        code = list(self._code)
        if not fence.closed_by(self._partial):
            code.append(_dedented(self._partial, fence.indent))
        return _code_block(source, fence, code)

    def _take(self, line: str) -> None:
        if self._fence is not None:
            self._lines.append(line)
            if self._fence.closed_by(line):
                self._done.append(_code_block("".join(self._lines), self._fence, self._code))
                self._fence = None
                self._restart()
            else:
                self._code.append(_dedented(line, self._fence.indent))
        elif line.isspace():
            self._lines.append(line)
            self._after_blank = True
            if self._has_text and not self._offsets:
                self._commit()
        else:
            self._take_text(line)

    def _take_text(self, line: str) -> None:
        indent = _indent(line)
        base = max((o for o in self._offsets if o <= indent), default=0)
        text = line.lstrip(" \t")
        fence = _FENCE.match(text) if indent - base <= 3 else None
        marker = _MARKER.match(text) if fence is None and indent - base <= 3 else None
        if fence or marker or self._after_blank:
            while self._offsets and self._offsets[-1] > indent:
                self._offsets.pop()
        if self._has_text and (fence or self._leaves_block(indent, marker is not None)):
            self._commit()
        if not self._has_text:
            self._indent = base
        if fence:
            self._open(fence, line, indent, base)
        elif marker:
            self._take_item(line, indent, marker)
        else:
            self._add_text(line)

    def _leaves_block(self, indent: int, is_item: bool) -> bool:
        if self._indent:
            return indent < self._indent and (is_item or self._after_blank)
        return self._after_blank and not self._offsets and not is_item

    def _take_item(self, line: str, indent: int, marker: re.Match[str]) -> None:
        gap = len((marker[2] or " ").expandtabs(_TAB))
        offset = indent + len(marker[1]) + (gap if gap <= 4 else 1)
        self._offsets.append(offset)
        text = line.lstrip(" \t")[marker.end() :]
        fence = _FENCE.match(text) if gap <= 4 else None
        if fence is None:
            self._add_text(line)
            return
        # "- ```": the marker becomes a block of its own; after a paragraph it would be an underline.
        if self._has_text:
            self._commit()
        self._lines.append(line[: len(line) - len(text)])
        self._commit()
        self._open(fence, text, offset, offset)

    def _add_text(self, line: str) -> None:
        self._lines.append(line)
        self._has_text = True
        self._after_blank = False

    def _open(self, fence: re.Match[str], line: str, indent: int, base: int) -> None:
        info = (fence[2] or fence[4] or "").split()
        self._fence = _Fence(fence[1] or fence[3], info[0] if info else "", indent, base)
        self._lines.append(line)

    def _commit(self) -> None:
        self._done.append(Block("text", "".join(self._lines), indent=self._indent))
        self._restart()

    def _restart(self) -> None:
        self._lines = []
        self._code = []
        self._indent = 0
        self._has_text = False
        self._after_blank = False


def split(source: str) -> list[Block]:
    """All blocks of a whole source, its end included."""
    splitter = BlockSplitter()
    blocks = splitter.push(source)
    tail = splitter.tail
    return [*blocks, tail] if tail.source else blocks


def merged(blocks: Iterable[Block], limit: int) -> Iterator[Block]:
    """The same source in fewer blocks: neighbouring text joined up to `limit` characters."""
    held: Block | None = None
    for block in blocks:
        joined = held.source + block.source if held else block.source
        if held and block.kind == "text" and not block.indent and len(joined) <= limit:
            held = Block("text", joined)
            continue
        if held:
            yield held
        held = block if block.kind == "text" and not block.indent else None
        if held is None:
            yield block
    if held:
        yield held


def definitions(source: str) -> str:
    """The link definitions ("[1]: https://…") in a source, one a line: blocks may use each other's."""
    return "\n".join(_DEFINITION.findall(source)) if "]:" in source else ""


def _indent(line: str) -> int:
    """Columns of white space before the text, tabs counted to stops of 4."""
    blank = line[: len(line) - len(line.lstrip(" \t"))]
    return len(blank.expandtabs(_TAB))


def _dedented(line: str, columns: int) -> str:
    """The line without up to `columns` of its indentation; what is left of a tab becomes spaces."""
    at = position = 0
    while position < columns and at < len(line) and line[at] in " \t":
        position += 1 if line[at] == " " else _TAB - position % _TAB
        at += 1
    return " " * max(0, position - columns) + line[at:]


def _code_block(source: str, fence: _Fence, code: list[str]) -> Block:
    text = "".join(code)
    text = text[: -2 if text.endswith("\r\n") else -1] if text.endswith("\n") else text
    return Block("code", source, language=fence.language, code=text, indent=fence.base)
