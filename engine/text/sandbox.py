"""The one Jinja environment of the code base: runs a stranger's chat template within limits.

Pure. `engine.text.template` puts messages in, `engine.text.budget` counts, `engine.text.growth` measures.
Operators, filters, methods and functions that are not listed are refused; loops pay per turn, and
what could grow is measured before it runs, because one long call inside C could not be stopped.
"""

import functools
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from jinja2 import TemplateSyntaxError, Undefined, nodes, pass_context
from jinja2.environment import Template
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, LoopControlExtension
from jinja2.filters import FILTERS
from jinja2.parser import Parser
from jinja2.runtime import Context, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment, safe_range
from jinja2.tests import TESTS
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer

from engine.text import growth
from engine.text.budget import Budget, LimitError

MAX_SOURCE = 64_000
"""Characters of a template; the longest in use are near 17,000."""
MAX_NODES = 6_000
"""Of its syntax tree, which bounds the work of compiling; the largest in use have 1,300."""
MAX_LOOP_DEPTH = 16
"""Loops inside loops; Python itself allows 20."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PLAIN_FILTERS = _words(
    "abs capitalize count d default dictsort float int items length lower reverse string upper"
)
_ENVIRONMENT_FILTERS = _words("first groupby last max min sort truncate unique")
_CONTEXT_FILTERS = _words("map reject rejectattr select selectattr")
_COMPARING_TESTS = _words(
    "!= < <= == > >= eq equalto ge greaterthan gt in le lessthan lower lt ne upper"
)
_METHODS: tuple[tuple[type, frozenset[str]], ...] = (
    (
        str,
        _words(
            "capitalize casefold center count endswith find index isalnum isalpha isascii isdecimal"
            " isdigit islower isnumeric isspace istitle isupper join ljust lower lstrip partition"
            " removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split"
            " splitlines startswith strip swapcase title upper zfill"
        ),
    ),
    (dict, _words("copy get items keys values")),
    (list, _words("copy count index")),
    (tuple, _words("count index")),
    (LoopContext, _words("changed cycle")),
    (float, _words("is_integer")),
)
_FOREIGN = (
    nodes.Block,
    nodes.EvalContextModifier,
    nodes.Extends,
    nodes.FromImport,
    nodes.Import,
    nodes.Include,
)


class RefusedError(Exception):
    """The template called `raise_exception`: it does not want these messages."""


def raise_exception(message: object = "") -> None:
    """What templates call to refuse messages."""
    raise RefusedError(str(message)[:500])


def strftime_now(pattern: str) -> str:
    """Local time, as the user's clock shows it."""
    return datetime.now(tz=UTC).astimezone().strftime(pattern[:200])


class _Generation(Extension):
    """`{% generation %}` marks what the model wrote, for training; here it only groups."""

    tags = {"generation"}  # noqa: RUF012 - as the base class has it

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _Meter(NodeTransformer):
    """Puts a toll on what the environment's own hooks do not see: loops, literals, comparisons."""

    def __init__(self) -> None:
        self._nodes_left = MAX_NODES
        self._loops = 0

    def visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> nodes.Node:
        self._nodes_left -= 1
        self._loops += isinstance(node, nodes.For)
        if self._nodes_left < 0 or self._loops > MAX_LOOP_DEPTH:
            raise LimitError("it has too many parts or loops inside loops")
        if isinstance(node, _FOREIGN):
            raise TemplateSyntaxError(
                "a chat template may not include, import, extend, autoescape or define blocks",
                node.lineno,
            )
        self.generic_visit(node, *args, **kwargs)
        self._loops -= isinstance(node, nodes.For)
        return _metered(node)


def _metered(node: nodes.Node) -> nodes.Node:
    match node:
        case nodes.For():
            node.body.insert(0, nodes.ExprStmt(_toll("_tick", nodes.Const(None))))
        case nodes.Compare() if not _compares_plainly(node):
            node.expr = _toll("_checked", node.expr)
            for operand in node.ops:
                operand.expr = _toll("_checked", operand.expr)
        case nodes.Pair():
            node.key = _toll("_checked", node.key)
        case nodes.Concat():
            return _toll("_concat", nodes.List(node.nodes))
        case (
            nodes.Getitem(arg=nodes.Slice()) | nodes.List() | nodes.Dict() | nodes.Tuple(ctx="load")
        ):
            return _toll("_made", node)
    return node


def _compares_plainly(node: nodes.Compare) -> bool:
    """Against a short written text or a number nothing deep is compared."""
    return len(node.ops) == 1 and any(
        isinstance(side, nodes.Const) and len(str(side.value)) < 100
        for side in (node.expr, node.ops[0].expr)
    )


def _toll(name: str, value: nodes.Node) -> nodes.Filter:
    # A filter: the one call Jinja writes without a detour through the environment.
    return nodes.Filter(value, name, [], [], None, None, lineno=value.lineno)


class Sandbox(ImmutableSandboxedEnvironment):
    """Compiles one template and renders it, one rendering at a time.

    The constructor raises jinja2.TemplateSyntaxError, SyntaxError, RecursionError or LimitError for
    a source that cannot be read.
    """

    intercepted_binops = frozenset(["+", "-", "*", "/", "//", "%", "**"])

    def __init__(self, source: str) -> None:
        if len(source) > MAX_SOURCE:
            raise LimitError(f"it is longer than {MAX_SOURCE:,} characters")
        # Unoptimized: the optimizer would compute constants while compiling, outside any budget.
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            optimized=False,
            extensions=[LoopControlExtension, _Generation],
            finalize=_printed,
        )
        self.budget = Budget()
        self.globals = {
            "dict": dict,
            "namespace": Namespace,
            "range": safe_range,
            "raise_exception": raise_exception,
            "strftime_now": strftime_now,
        }
        self._functions = frozenset(map(id, self.globals.values()))
        known: dict[str, Any] = FILTERS
        tests: dict[str, Any] = TESTS
        self.filters = self._make_filters(known)
        self.tests = tests | {name: self._toll(tests[name]) for name in _COMPARING_TESTS}
        self._lock = threading.Lock()
        tree = _Meter().visit(self.parse(source))
        assert isinstance(tree, nodes.Template)
        self._template = Template.from_code(self, self.compile(tree), self.globals)

    def run(self, variables: Mapping[str, Any], budget: Budget) -> str:
        """Render. Any thread.

        Raises:
            RefusedError: the template refused the messages.
            LimitError: it went beyond the budget.
            Exception: anything a broken template can cause.
        """
        with self._lock:
            self.budget = budget
            pieces: list[str] = []
            total = 0
            context = self._template.new_context(dict(variables))
            for piece in self._template.root_render_func(context):
                total += len(piece)
                budget.allow_text(total)
                pieces.append(piece)
            return "".join(pieces)

    def line_of(self, error: BaseException) -> int | None:
        """The template's line an error came from, if it came from the template."""
        line = None
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == "<template>":
                line = self._template.get_corresponding_lineno(trace.tb_lineno)
            trace = trace.tb_next
        return line

    # --- hooks of the environment ------------------------------------------------------------------

    def handle_exception(self, source: str | None = None) -> Any:  # noqa: ARG002
        """Re-raise as it is: rewriting tracebacks serves only debugging pages."""
        raise

    def unsafe_undefined(self, obj: Any, attribute: str) -> Undefined:
        """Refuse at once instead of printing nothing."""
        raise SecurityError(f"{attribute!r} of a {type(obj).__name__} is out of bounds")

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Subscript; a key is hashed and, in error messages, printed."""
        if type(argument) not in (str, int):
            argument = self.budget.checked(argument)
        return super().getitem(obj, argument)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """Give out a measured `str.format` and `str.format_map`."""
        if getattr(value, "__name__", "") in ("format", "format_map"):
            text = getattr(value, "__self__", None)
            if isinstance(text, str):
                return growth.Format(self, self.budget, text)
        return None

    def call_binop(self, _context: Context, operator: str, left: Any, right: Any) -> Any:
        """An arithmetic operator."""
        budget = self.budget
        budget.tick()
        result = growth.operate(
            budget, operator, budget.checked(left), budget.checked(right), self.binop_table
        )
        budget.charge(result)
        return result

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """A call: listed methods and functions, and what the template itself defined."""
        budget = self.budget
        budget.tick()
        owner = getattr(obj, "__self__", None)
        if owner is not None:
            args = tuple(map(budget.checked, args))
            self._allow_method(owner, obj.__name__, args, kwargs)
        elif id(obj) in self._functions or isinstance(obj, growth.Format):
            args = tuple(map(budget.checked, args))
        elif not isinstance(obj, Macro | LoopContext | Undefined):
            raise SecurityError(f"a {type(obj).__name__} may not be called")
        result = context.call(obj, *args, **kwargs)
        budget.charge(result)
        return result

    def _allow_method(
        self, owner: Any, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> None:
        for kind, names in _METHODS:
            if isinstance(owner, kind) and name in names:
                if isinstance(owner, str):
                    growth.allow_str_method(self.budget, owner, name, args, kwargs)
                elif not isinstance(owner, LoopContext):
                    self.budget.checked(owner)
                return
        raise SecurityError(f"'{name}' of a {type(owner).__name__} may not be called")

    # --- filters -----------------------------------------------------------------------------------

    def _make_filters(self, known: dict[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
        filters = {name: self._toll(known[name]) for name in _PLAIN_FILTERS}
        for name in _ENVIRONMENT_FILTERS:
            filters[name] = self._toll(functools.partial(known[name], self))
        for name in _CONTEXT_FILTERS:
            filters[name] = self._toll_in_context(known[name])
        for name, function in growth.FILTERS.items():
            filters[name] = self._toll(functools.partial(self._measured, function))
        return filters | {
            "list": self._list,
            "safe": lambda value: value,
            "_checked": lambda value: self.budget.checked(value),
            "_concat": self.concat,
            "_made": self._made,
            "_tick": lambda _: self.budget.tick(),
        }

    def _toll(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def pay(*args: Any, **kwargs: Any) -> Any:
            budget = self.budget
            budget.tick()
            checked = {name: budget.checked(value) for name, value in kwargs.items()}
            result = function(*map(budget.checked, args), **checked)
            budget.charge(result)
            return result

        return pay

    def _toll_in_context(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @pass_context
        def pay(context: Context, *args: Any, **kwargs: Any) -> Any:
            return self._toll(functools.partial(function, context))(*args, **kwargs)

        return pay

    def _measured(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return function(self.budget, *args, **kwargs)

    def _list(self, value: Iterable[Any]) -> list[Any]:
        checked = self.budget.checked(value)
        return checked if isinstance(checked, list) else self.budget.listed(checked)

    def _made(self, value: Any) -> Any:
        self.budget.charge(value)
        return value

    def concat(self, parts: Iterable[Any]) -> str:
        """`a ~ b`, and the text of a macro or of `{% set %}` with a body."""
        budget = self.budget
        budget.tick()
        texts = [_text(budget.checked(part)) for part in parts]
        budget.allow_text(sum(map(len, texts)))
        joined = "".join(texts)
        budget.charge(joined)
        return joined


@pass_context  # which also keeps Jinja from printing constants while it compiles
def _printed(context: Context, value: Any) -> str:
    """`{{ value }}`."""
    if type(value) is str:
        return value
    environment = context.environment
    assert isinstance(environment, Sandbox)
    return _text(environment.budget.checked(value))


def _text(value: object) -> str:
    """None is no text: it is the content of a message that only calls tools."""
    return "" if value is None else str(value)
