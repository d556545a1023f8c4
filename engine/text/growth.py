"""Operations of templates whose result can be far larger than their operands: measured, then done.

Pure. Every function gets the `Budget` of the running rendering first; operands have passed
`Budget.checked`. Used by `engine.text.sandbox` only.
"""

import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jinja2.environment import Environment
from jinja2.filters import do_indent, do_round, do_title
from jinja2.sandbox import SandboxedFormatter

from engine.text.budget import Budget, LimitError

_MAX_WIDTH = 1_000
"""Of padding, indentation and number formats."""
_MAX_NEEDLE = 100
"""Characters looked for by methods whose search is quadratic in C."""
_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_SPACES = _BREAKS + " \t\x1f\xa0\u1680\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_PERCENT = re.compile(r"%(?:%|(?:\(\w+\))?[-+ #0]?\d{0,3}(?:\.\d{1,2})?[sdifrxX])")


def operate(
    budget: Budget,
    operator: str,
    left: Any,
    right: Any,
    table: Mapping[str, Callable[[Any, Any], Any]],
) -> Any:
    """An arithmetic operator."""
    if operator == "%" and isinstance(left, str):
        return percent(budget, left, right)
    if operator == "+":
        # A message that only calls tools has no content: adding it to a text adds nothing.
        if isinstance(left, str) and right is None:
            return left
        if isinstance(right, str) and left is None:
            return right
    elif operator == "*":
        _allow_product(budget, left, right)
        _allow_product(budget, right, left)
    elif operator == "**":
        _allow_power(budget, left, right)
    return table[operator](left, right)


def _allow_product(budget: Budget, value: object, times: object) -> None:
    if not isinstance(times, int):
        return
    if isinstance(value, int):
        budget.allow_bits(value.bit_length() + times.bit_length())
    elif isinstance(value, str):
        budget.allow_text(len(value) * times)
    elif isinstance(value, Sequence):
        budget.allow_items(len(value) * times)


def _allow_power(budget: Budget, base: object, exponent: object) -> None:
    if isinstance(base, int) and isinstance(exponent, int):
        budget.allow_bits(base.bit_length() * max(exponent, 0))


def percent(budget: Budget, pattern: str, values: Any) -> str:
    """`pattern % values`, simple conversions only."""
    rest, conversions = _PERCENT.subn("", pattern)
    if "%" in rest:
        raise LimitError("it uses an unusual number format")
    budget.allow_text(len(pattern) + conversions * (_MAX_WIDTH + budget.weigh(values)))
    return str(pattern % values)


class Format(SandboxedFormatter):
    """`text.format(...)`, measured."""

    def __init__(self, environment: Environment, budget: Budget, text: str) -> None:
        super().__init__(environment)
        self._budget = budget
        self._text = text

    def __call__(self, *args: Any, **kwargs: Any) -> str:
        """Format; arguments are checked here, so that no field is larger than all of them."""
        weight = sum(self._budget.weigh(value) for value in (*args, *kwargs.values()))
        self._budget.allow_text(
            len(self._text) + self._text.count("{") * (_MAX_WIDTH + weight),
        )
        return self.vformat(self._text, args, kwargs)

    def format_field(self, value: Any, format_spec: str) -> str:
        """One field, after nested fields of its format were filled in."""
        _allow_width(max(map(int, re.findall(r"\d+", format_spec[:100])), default=0))
        return str(super().format_field(value, format_spec))


def allow_str_method(
    budget: Budget, text: str, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """Raise LimitError if `text.name(*args, **kwargs)` would grow too large or search too long."""
    first = args[0] if args else kwargs.get("sep")
    if name in ("center", "ljust", "rjust", "zfill"):
        _allow_width(first)
    elif name == "replace" and len(args) > 1:
        _allow_replace(budget, text, *args[:2])
    elif name == "join":
        budget.allow_text(budget.weigh(first) + len(text) * _length(first))
    elif name in ("rfind", "rindex", "rpartition", "rsplit", "strip", "lstrip", "rstrip"):
        _allow_needle(first)
    if name in ("split", "rsplit", "splitlines"):
        separators = _BREAKS if name == "splitlines" else first or _SPACES
        pieces = text.count(separators) if first else sum(map(text.count, separators))
        budget.allow_items(pieces)


def _allow_replace(budget: Budget, text: str, old: str, new: str) -> None:
    budget.allow_text(len(text) + text.count(old) * max(len(new) - len(old), 0))


def _allow_needle(needle: object) -> None:
    if _length(needle) > _MAX_NEEDLE:
        raise LimitError(f"it looks for a text of more than {_MAX_NEEDLE} characters")


def _allow_width(width: object) -> None:
    if isinstance(width, int) and width > _MAX_WIDTH:
        raise LimitError(f"it pads a text to more than {_MAX_WIDTH} characters")


def _length(value: object) -> int:
    return len(value) if isinstance(value, str | Sequence | Mapping) else 0


# --- filters -----------------------------------------------------------------------------------------


def percent_filter(budget: Budget, pattern: object, *args: Any, **kwargs: Any) -> str:
    """`pattern|format(...)`."""
    return percent(budget, str(pattern), kwargs or args)


def indent(budget: Budget, text: object, width: int | str = 4, *args: Any, **kwargs: Any) -> str:
    """`text|indent`."""
    margin = len(width) if isinstance(width, str) else width
    _allow_width(margin)
    lines = sum(map(str(text).count, _BREAKS)) + 1
    budget.allow_items(lines)
    budget.allow_text(len(str(text)) + lines * margin)
    return do_indent(str(text), width, *args, **kwargs)


def join(budget: Budget, values: Any, glue: object = "", attribute: str | None = None) -> str:
    """`values|join`."""
    if attribute is not None:
        values = [value[attribute] for value in values]
    budget.allow_text(budget.weigh(values) + len(str(glue)) * _length(values))
    return str(glue).join(map(str, values))


def replace(budget: Budget, text: object, old: object, new: object, count: int | None = -1) -> str:
    """`text|replace`."""
    _allow_replace(budget, str(text), str(old), str(new))
    return str(text).replace(str(old), str(new), -1 if count is None else count)


def rounded(_: Budget, value: float, precision: int = 0, method: str = "common") -> float:
    """`value|round`; it computes ten to the power of the precision."""
    _allow_width(precision)
    return float(do_round(value, precision, method))  # type: ignore[arg-type]


def add_up(_: Budget, values: Any, attribute: str | None = None, start: float = 0) -> float:
    """`values|sum`, of numbers only: lists would be copied once for every item."""
    if attribute is not None:
        values = [value[attribute] for value in values]
    numbers = [value for value in values if isinstance(value, int | float)]
    if len(numbers) != len(values) or not isinstance(start, int | float):
        raise TypeError("only numbers can be added up")
    return sum(numbers, start)


def tojson(
    budget: Budget,
    value: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """JSON as `transformers` writes it into prompts: no HTML escapes, letters kept as they are."""
    _allow_width(len(indent) if isinstance(indent, str) else indent)
    _allow_width(sum(map(len, separators or ())))
    encoder = json.JSONEncoder(
        ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )
    pieces: list[str] = []
    total = 0
    for piece in encoder.iterencode(value):
        total += len(piece)
        budget.allow_text(total)
        pieces.append(piece)
    return "".join(pieces)


def trim(_: Budget, text: object, characters: str | None = None) -> str:
    """`text|trim`."""
    _allow_needle(characters)
    return "" if text is None else str(text).strip(characters)


def title(budget: Budget, text: object) -> str:
    """`text|title`; it takes the text apart into words."""
    budget.allow_items(sum(map(str(text).count, _SPACES + "-({[<")))
    return do_title(str(text))


def escape(budget: Budget, text: object) -> str:
    """`text|escape`."""
    budget.allow_text(len(str(text)) + 5 * sum(map(str(text).count, "&<>\"'")))
    return html.escape(str(text))


FILTERS: Mapping[str, Callable[..., Any]] = {
    "e": escape,
    "escape": escape,
    "format": percent_filter,
    "indent": indent,
    "join": join,
    "replace": replace,
    "round": rounded,
    "sum": add_up,
    "title": title,
    "tojson": tojson,
    "trim": trim,
}
