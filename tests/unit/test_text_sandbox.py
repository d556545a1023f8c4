"""A stranger's template can refuse to work, and nothing else (C36)."""

import re
import time
import tracemalloc
from pathlib import Path

import pytest

from engine.errors import EngineError, ModelFormatError
from engine.text import budget
from engine.text.sandbox import MAX_SOURCE
from engine.text.template import ChatTemplate

MESSAGES = [{"role": "user", "content": "hi"}]
BOMB = "{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}{% endfor %}"
"""Two small values whose text, comparison or hash would take 2^60 steps."""
DOUBLING = (
    "{{% set ns = namespace(x={}) %}}{{% for i in range(100) %}}{{% set ns.x = {} %}}{{% endfor %}}"
)


def attempt(source: str) -> str:
    return ChatTemplate(source).render(MESSAGES).text


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__ }}",
        "{{ ''['__class__'] }}",
        "{{ cycler.__init__ }}",
        "{{ lipsum.__globals__ }}",
        "{{ range.__globals__ }}",
        "{{ raise_exception['__globals__'] }}",
        "{{ namespace.__init__.__globals__ }}",
        "{{ dict.__base__ }}",
        "{{ dict.mro() }}",
        "{{ dict.fromkeys(messages) }}",
        "{{ self.__init__ }}",
        "{{ loop.__init__ }}",
        "{{ messages|map(attribute='__class__')|list }}",
        "{{ messages|map('attr', '__class__')|list }}",
        "{{ messages|sort(attribute='__class__') }}",
        "{{ '{0.__class__}'.format(1) }}",
        "{{ '{a.__class__}'.format_map({'a': 1}) }}",
        "{{ '{0.__class__}'['format'](1) }}",
        "{% set f = '{0.__class__}'.format %}{{ f(1) }}",
        "{{ [''.format] }}",
        "{{ (1).to_bytes(10, 'little') }}",
        "{{ 'x'.encode() }}",
        "{{ messages.append(1) }}",
        "{{ messages.clear() }}",
        "{{ messages[0].update(role='x') }}",
        "{{ messages[0].pop('role') }}",
        "{% set messages.x = 1 %}",
        "{% include 'x' %}",
        "{% import 'os' as os %}",
        "{% from 'os' import path %}",
        "{% extends 'x' %}",
        "{% block a %}{% endblock %}",
        "{% autoescape true %}{% endautoescape %}",
        "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}",
        "{% macro m() %}{% endmacro %}{{ m }}",
    ],
)
def test_out_of_bounds(source: str) -> None:
    with pytest.raises(ModelFormatError):
        attempt(source)
    assert MESSAGES == [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    "source",
    [
        "{{ 'x' * 10**10 }}",
        "{{ 10**10 * 'x' }}",
        "{{ [0] * 10**10 }}",
        "{{ 9**(9**9) }}",
        DOUBLING.format("3", "ns.x * ns.x"),
        DOUBLING.format("'x'", "ns.x + ns.x"),
        DOUBLING.format("'x'", "ns.x ~ ns.x"),
        DOUBLING.format("'x'", "[ns.x, ns.x]|join"),
        DOUBLING.format("'x'", "'%s%s' % (ns.x, ns.x)"),
        DOUBLING.format("'x'", "'{0}{0}'.format(ns.x)"),
        DOUBLING.format("'x'", "ns.x.replace('x', 'xx')"),
        DOUBLING.format("'x'", "ns.x|replace('x', 'xx')"),
        DOUBLING.format("[1]", "ns.x + ns.x"),
        "{% set ns = namespace(x='x') %}{% for i in range(99) %}{% set ns.x %}{{ ns.x }}{{ ns.x }}{% endset %}{% endfor %}",
        "{% set ns = namespace(l=[]) %}{% for i in range(1000) %}{% set ns.l = ns.l + [i ~ 'x' * 999999] %}{% endfor %}",
        "{% for i in range(1000) %}{% set x = '\U0001f600' * 3900000 %}{% endfor %}",
        "{% set l = range(100000)|list %}{% for i in range(9999) %}{% set x = l[:] %}{% endfor %}",
        "{% macro f(a=range(100000)|list) %}{% endmacro %}{% for i in range(9999) %}{{ f() }}{% endfor %}",
        BOMB + "{{ ns.x }}",
        BOMB + "{{ ns.x == ns.y }}",
        BOMB + "{{ ns.x in [ns.y] }}",
        BOMB + "{{ ns.x is eq(ns.y) }}",
        BOMB + "{{ [ns.x].index(ns.y) }}",
        BOMB + "{{ [ns.x, ns.y]|sort }}",
        BOMB + "{{ [ns.x, ns.y]|max }}",
        BOMB + "{{ ns.x|string }}",
        BOMB + "{{ ns.x|upper }}",
        BOMB + "{{ ns.x|tojson }}",
        BOMB + "{{ '%s' % (ns.x,) }}",
        BOMB + "{{ '' ~ ns.x }}",
        BOMB + "{{ raise_exception(ns.x) }}",
        BOMB + "{{ {}[ns.x] }}",
        BOMB + "{% for i in [1, 2] %}{{ loop.changed(ns.x if i == 1 else ns.y) }}{% endfor %}",
        BOMB.replace("[1]", "(1,)").replace("[", "(").replace("]", ")") + "{{ {ns.x: 1} }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ '%(n)1000000000d' % {'n': 1} }}",
        "{{ '%*d' % (1000000000, 1) }}",
        "{{ '%1000000000d'|format(1) }}",
        "{{ '{:1000000000}'.format(1) }}",
        "{{ '{:{w}}'.format(1, w=1000000000) }}",
        "{{ ('{0}' * 100000).format('x' * 100000) }}",
        "{{ ('%(a)s' * 100000) % {'a': 'x' * 100000} }}",
        "{{ 'x'.ljust(10**10) }}",
        "{{ 'x'.center(10**10) }}",
        "{{ 'x'.zfill(10**10) }}",
        "{{ 'x'|indent(10**9, true) }}",
        "{{ ('\n' * 1000000)|indent(1000) }}",
        "{{ [1]|tojson(indent=10**9) }}",
        "{{ range(9999)|list|tojson(separators=('x' * 100000, ':')) }}",
        "{{ range(100000)|join('x' * 100000) }}",
        "{{ ('x' * 1000).join('a' * 1000000) }}",
        "{{ ('<' * 3900000)|e }}",
        "{{ ('x' * 4000000)|list }}",
        "{{ ('x,' * 1900000).split(',') }}",
        "{{ ('x,' * 1900000).split(sep=',') }}",
        "{{ ('x ' * 1900000).split() }}",
        "{{ ('x\x1c' * 1900000).splitlines() }}",
        "{{ ('a ' * 1900000)|title }}",
        "{{ ('a' * 4000000).rfind('b' + 'a' * 2000000) }}",
        "{{ ('a' * 4000000).rsplit(sep='b' + 'a' * 2000000) }}",
        "{{ ('a' * 4000000)|trim('b' * 3999999 + 'a') }}",
        "{{ ('a' * 4000000).strip('b' * 3999999 + 'a') }}",
        "{{ 1.5|round(10**9, 'ceil') }}",
        "{{ ('f' * 3000000)|int(0, 16) // 7 }}",
        "{{ [[1]]|sum(start=[]) }}",
        "{% for i in range(10**9) %}x{% endfor %}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(9999) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x == [1] }}",
        "{% for i in range(9) %}" * 200 + "x" + "{% endfor %}" * 200,
        "{{ " + "(" * 9000 + "1" + ")" * 9000 + " }}",
        "{{ " + "+".join(["1"] * 4000) + " }}",
        "{{ a }}" * 7000,
        "{{ " + "9" * 9999 + " }}",
        "x" * (MAX_SOURCE + 1),
    ],
    ids=lambda source: source[-60:],
)
def test_growth_is_stopped_before_it_costs(source: str) -> None:
    started = time.monotonic()
    with pytest.raises(EngineError):
        attempt(source)
    assert time.monotonic() - started < 2
    tracemalloc.start()  # which is slow itself
    try:
        with pytest.raises(EngineError):
            attempt(source)
        assert tracemalloc.get_traced_memory()[1] < 150 << 20
    finally:
        tracemalloc.stop()


ENDLESS = [
    "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "{% for i in range(99999) %}{% for j in range(99999) if false %}{% endfor %}{% endfor %}",
    "{% for i in range(9) %}" * 15 + "x" + "{% endfor %}" * 15,
    "{% macro m() %}{{ caller() }}{{ caller() }}{% endmacro %}"
    + "{% call m() %}" * 40
    + "x"
    + "{% endcall %}" * 40,
    "{% for i in range(99999) %}{{ range(99999)|map('string')|list|length }}{% endfor %}",
    "{% for i in range(99999) %}{{ range(99999)|sort(reverse=true)|first }}{% endfor %}",
    "{{ range(99999)|select('in', range(99999)|list)|list }}",
    "{% set ns = namespace(x=1) %}{% for i in range(99999) %}{% for j in range(99) %}{% set ns.x = [ns.x, 1] %}{% endfor %}{% endfor %}",
]


@pytest.mark.parametrize("source", ENDLESS, ids=lambda source: source[:60])
def test_time_is_limited_also_where_nothing_is_printed(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "DEADLINE_S", 0.1)
    started = time.monotonic()
    with pytest.raises(ModelFormatError, match="did not finish"):
        attempt(source)
    assert time.monotonic() - started < 10  # without the limit: hours


def test_the_real_deadline_holds_over_all_tries_of_one_request() -> None:
    template = ChatTemplate(
        "{% for i in range(99999) %}{% for j in range(5) %}{% endfor %}{% endfor %}{{ raise_exception('x') }}"
        * 9
    )
    started = time.monotonic()
    with pytest.raises(EngineError):
        template.render([{"role": "system", "content": "s"}, *MESSAGES])
    assert time.monotonic() - started < 2


def test_a_stopped_template_works_again() -> None:
    template = ChatTemplate("{{ 'x' * (10**9 if messages[0].content == 'big' else 3) }}")
    with pytest.raises(ModelFormatError, match="stopped"):
        template.render([{"role": "user", "content": "big"}])
    assert template.render(MESSAGES).text == "xxx"


def test_long_chats_cost_little() -> None:
    template = ChatTemplate(
        "{% for m in messages %}{{ '<' + m['role'] + '>' + m['content'] }}{% endfor %}"
    )
    messages = [{"role": "user", "content": "some words " * 20}] * 2000
    started = time.perf_counter()
    template.render(messages)
    assert (
        time.perf_counter() - started < 3
    )  # 0.02 s on an idle machine; minutes where it grew with the square


def test_there_is_one_jinja_environment_in_the_code() -> None:
    root = Path(__file__).resolve().parents[2]
    sources = {
        path.relative_to(root).as_posix(): path.read_text()
        for package in ("app", "engine", "resources", "installer")
        for path in (root / package).rglob("*.py")
    }
    assert {p for p, text in sources.items() if "jinja2" in text} == {
        "engine/text/budget.py",
        "engine/text/growth.py",
        "engine/text/sandbox.py",
        "engine/text/template.py",
    }
    makers = re.compile(
        r"\b(Template|\w*Environment)\(\s*[^)\s]|from_string\(|compile_expression\("
    )
    assert [p for p, text in sources.items() if "jinja2" in text and makers.search(text)] == []
    assert "class Sandbox(ImmutableSandboxedEnvironment)" in sources["engine/text/sandbox.py"]
