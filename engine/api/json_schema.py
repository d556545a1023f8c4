"""JSON schemas of answers: what is refused before native code sees it, and where in a schema a fault is. Pure.

Zone: service (`check_schema`) and worker (`read_complaint`). `engine.sampling.grammar` compiles schemas; the limits here keep
that short (below a second) and its recursion shallow.
"""

import math
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

from engine.api.wire import CORRECT_IT, to_json
from engine.errors import InvalidRequest

MOST_BYTES: Final = 128 * 1024
"""Of the schema as JSON. OpenAI's limit is 120,000 characters."""
MOST_DEPTH: Final = 100
"""Levels of objects and lists; llguidance's reader ends at 128."""
MOST_LINKED_DEPTH: Final = 4000
"""Different references times depth, which bounds the recursion through references: 8 kB of stack each, of 64 MB."""
MOST_PATTERN: Final = 2000
"""Characters of a regular expression."""
MOST_GROUPS: Final = 50
"""Levels of groups in a regular expression."""
MOST_MULTIPLE: Final = 10_000
"""Least common multiple of all `multipleOf`: an automaton of so many states."""

_SHOWN: Final = 200
"""Characters of a path."""
_PROCESSING: Final = "\n  while processing json-schema:///#"
"""Then comes the JSON pointer of the definition that the complaint is about."""
_MOST_READ: Final = 3000
"""Characters of a complaint; a pattern is in it whole."""
_OF_NAMES: Final = ("properties", "patternProperties", "$defs", "definitions")
"""Keywords that hold subschemas by name: the names are no keywords."""
_OF_DATA: Final = ("const", "enum", "default", "examples")
"""Keywords that hold no schemas."""
_REPEATED: Final = ("$ref", "pattern", "type", "format")
"""Keywords whose value a complaint repeats."""


def check_schema(schema: dict[str, Any], path: str) -> str:
    """Hold a schema against the limits.

    Args:
        schema: as the client sent it.
        path: the field it came in.

    Returns:
        The schema as JSON, its properties in the order given: answers have them in that order.

    Raises:
        InvalidRequest: beyond a limit, with the spot as `param`.
    """
    text = _json(schema, path)
    depth = _depth(schema, path)
    references: set[str] = set()
    multiples: list[float] = []
    for where, key, value in _keywords(schema, path):
        _check_keyword(where, key, value)
        if key == "$ref" and isinstance(value, str):
            references.add(value)
        elif key == "multipleOf":
            multiples.append(value)
            if _common_multiple(multiples) > MOST_MULTIPLE:
                raise _invalid(where, f"makes the common multiple larger than {MOST_MULTIPLE:,}")
    if len(references) * depth > MOST_LINKED_DEPTH:
        raise _invalid(path, f"has too many references ({len(references)}) for its depth ({depth})")
    return text


def read_complaint(schema: Any, complaint: str) -> tuple[str, str]:
    """Read a complaint of llguidance.

    Returns:
        Where in the schema it comes from (at a value that it repeats, else at a keyword that it names;
        empty: nobody knows), and the reason as one line.
    """
    complaint, _, pointer = complaint.partition(_PROCESSING)
    complaint = complaint[:_MOST_READ]
    inside = pointer.partition("\n")[0].strip("/").replace("/", ".")
    found = [one for one in _keywords(schema, "") if one[0].startswith(inside)]
    # A pattern's complaint draws the pattern and an arrow first.
    reason = complaint.rpartition("\nerror: ")[2].partition("\n")[0]
    for path, key, value in found:
        if key in _REPEATED and isinstance(value, str):
            repeated = re.escape(value.removeprefix("#"))
            if re.search(rf"(: |'|\n    ){repeated}('|\n|$)", complaint):
                return path, reason
    for path, key, _ in found:
        if re.search(rf"(?<![\w$]){re.escape(key)}(?!\w)", complaint):
            return path, reason
    return "", reason


def _json(schema: dict[str, Any], path: str) -> str:
    try:
        data = to_json(schema)
    except RecursionError:
        raise _too_deep(path) from None
    if len(data) > MOST_BYTES:
        raise _invalid(path, f"is larger than {MOST_BYTES:,} bytes")
    return data.decode()


def _depth(schema: Any, path: str) -> int:
    """Levels of the deepest part; without recursion, as it is what makes recursion safe."""
    deepest = 0
    left = [(schema, path, 1)]
    while left:
        node, where, level = left.pop()
        if level > MOST_DEPTH:
            raise _too_deep(where)
        deepest = max(deepest, level)
        below = node.items() if isinstance(node, dict) else enumerate(node)
        left += [
            (value, _below(where, step), level + 1)
            for step, value in below
            if isinstance(value, dict | list)
        ]
    return deepest


def _keywords(node: Any, path: str) -> Iterator[tuple[str, str, Any]]:
    """(path, keyword, value) of all subschemas, in the order of the text."""
    if isinstance(node, list):
        for i, item in enumerate(node):
            yield from _keywords(item, _below(path, i))
    if not isinstance(node, dict):
        return
    for key, value in node.items():
        below = _below(path, key)
        yield below, key, value
        if key in _OF_NAMES and isinstance(value, dict):
            for name, item in value.items():
                yield from _keywords(item, _below(below, name))
        elif key not in _OF_DATA:
            yield from _keywords(value, below)


def _below(path: str, step: str | int) -> str:
    """Cut where nobody reads it any more: a long name may stand above thousands of others."""
    return (f"{path}[{step}]" if isinstance(step, int) else f"{path}.{step}".lstrip("."))[:_SHOWN]


def _check_keyword(where: str, key: str, value: Any) -> None:
    if key == "$ref" and isinstance(value, str) and not value.startswith("#"):
        raise _invalid(where, "must point into the schema itself (#/…)")
    if key == "pattern":
        _check_pattern(value, where)
    elif key == "patternProperties" and isinstance(value, dict):
        for pattern in value:
            _check_pattern(pattern, where)
    elif key == "multipleOf" and (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not 0 < value <= MOST_MULTIPLE
    ):
        raise _invalid(where, f"must be a number above 0, up to {MOST_MULTIPLE:,}")


def _check_pattern(pattern: Any, path: str) -> None:
    if not isinstance(pattern, str):
        raise _invalid(path, "must be a text")
    if len(pattern) > MOST_PATTERN:
        raise _invalid(path, f"is longer than {MOST_PATTERN:,} characters")
    level = 0
    for mark in re.findall(r"\\.|[()]", pattern, re.DOTALL):
        level += {"(": 1, ")": -1}.get(mark, 0)
        if level > MOST_GROUPS:
            raise _invalid(path, f"has groups nested more than {MOST_GROUPS} levels deep")


def _common_multiple(numbers: list[float]) -> int:
    """In steps of their last decimal place, as an automaton over digits counts."""
    exact = [Decimal(str(number)) for number in numbers]
    scale = max(0, *(-int(number.as_tuple().exponent) for number in exact))
    return math.lcm(*(int(number.scaleb(scale)) for number in exact))


def _too_deep(where: str) -> InvalidRequest:
    return _invalid(where, f"is nested more than {MOST_DEPTH} levels deep")


def _invalid(where: str, complaint: str) -> InvalidRequest:
    return InvalidRequest(f"The field {where} {complaint}.", hint=CORRECT_IT, param=where)
