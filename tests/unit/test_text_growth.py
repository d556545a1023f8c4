"""Operations that could grow: the results of the harmless ones are Python's and Jinja's own."""

import json
import operator
from typing import Any

import pytest
from jinja2.filters import FILTERS
from jinja2.sandbox import SandboxedEnvironment

from engine.text import growth
from engine.text.budget import Budget, LimitError

OPERATORS = SandboxedEnvironment.default_binop_table


def operate(symbol: str, left: Any, right: Any) -> Any:
    return growth.operate(Budget(), symbol, left, right, OPERATORS)


@pytest.mark.parametrize(
    ("symbol", "left", "right"),
    [
        ("+", 1, 2),
        ("+", "a", "b"),
        ("+", [1], [2]),
        ("*", "ab", 3),
        ("*", 3, [0]),
        ("*", 2.5, 4),
        ("**", 2, 100),
        ("**", 2, -1),
        ("**", 2.0, 0.5),
        ("-", 5, 7),
        ("//", 7, 2),
        ("/", 7, 2),
        ("%", 7, 4),
    ],
)
def test_arithmetic(symbol: str, left: Any, right: Any) -> None:
    assert operate(symbol, left, right) == OPERATORS[symbol](left, right)


def test_none_adds_nothing_to_a_text() -> None:
    assert operate("+", "a", None) == "a"
    assert operate("+", None, "a") == "a"
    with pytest.raises(TypeError):
        operate("+", None, 1)


@pytest.mark.parametrize(
    ("pattern", "values"),
    [
        ("%s and %s", ("a", 1)),
        ("%5.2f%%", 3.14159),
        ("%(a)s%(b)03d", {"a": "x", "b": 7}),
        ("-%-4s-", "x"),
        ("", ()),
    ],
)
def test_percent(pattern: str, values: Any) -> None:
    assert growth.percent(Budget(), pattern, values) == operator.mod(pattern, values)


@pytest.mark.parametrize(
    "pattern",
    ["%*d", "%1000d", "%.100f", "%(a(b)c)1000d", "%c", "50% of", "%\uff11\uff10\uff10\uff10d"],
)
def test_unusual_formats_are_refused(pattern: str) -> None:
    with pytest.raises(LimitError, match="format"):
        growth.percent(Budget(), pattern, (1, 1))


def test_format() -> None:
    def written(text: str, *args: Any, **kwargs: Any) -> str:
        return growth.Format(SandboxedEnvironment(), Budget(), text)(*args, **kwargs)

    assert written("{0} {x:>4} {0!r} {{}}", "a", x=1.5) == "a  1.5 'a' {}"
    assert written("{}{}", "a", 1) == "a1"
    assert written("{:{w}.2f}", 1.0, w=8) == "    1.00"
    for spec in ("{:1001}", "{:.1001f}", "{:{w}}", "{:>\uff11\uff10\uff10\uff11}"):
        with pytest.raises(LimitError, match="pads"):
            written(spec, 1.0, w=1001)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("indent", ("a\nb\n\nc",)),
        ("indent", ("a\nb\n\nc", 2, True, True)),
        ("indent", ("a\nb", "> ")),
        ("round", (2.5,)),
        ("round", (42.55, 1, "floor")),
        ("title", ("hello big-world (and 'it's)",)),
        ("trim", ("  x ",)),
        ("trim", ("--x-", "-")),
    ],
)
def test_filters_are_jinjas(name: str, args: tuple[Any, ...]) -> None:
    known: Any = FILTERS
    assert growth.FILTERS[name](Budget(), *args) == known[name](*args)


def test_filters_of_our_own() -> None:
    assert growth.join(Budget(), [1, "a", None], "-") == "1-a-None"
    assert growth.join(Budget(), [{"n": 1}, {"n": 2}], ", ", attribute="n") == "1, 2"
    assert growth.replace(Budget(), "aaa", "a", "b", 2) == "bba"
    assert growth.replace(Budget(), "aaa", "a", "b", None) == "bbb"
    assert growth.add_up(Budget(), [1, 2.5], start=1) == 4.5
    assert growth.add_up(Budget(), [{"n": 1}, {"n": 2}], "n") == 3
    assert growth.escape(Budget(), "<'\"&>") == "&lt;&#x27;&quot;&amp;&gt;"
    value = {"b": ["ü", 1.5, None], "a": {}}
    assert growth.tojson(Budget(), value, sort_keys=True) == json.dumps(
        value, ensure_ascii=False, sort_keys=True
    )
    assert growth.tojson(Budget(), value, ensure_ascii=True, indent=1) == json.dumps(
        value, indent=1
    )
