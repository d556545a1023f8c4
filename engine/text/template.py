"""The model's chat template: messages in, prompt text out, whatever the template is like.

Pure. Sources are the model file, a side file or settings, all equally untrusted; every rendering
goes through `engine.text.sandbox`. Neighbours: `engine.text.conversation`, `engine.text.prompt`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import TemplateError, TemplateSyntaxError

from engine.errors import EngineError, InvalidRequest, ModelFormatError
from engine.text import conversation
from engine.text.budget import MAX_TEXT, Budget, LimitError
from engine.text.conversation import Message
from engine.text.sandbox import RefusedError, Sandbox

CHATML = (
    "{% for message in messages %}"
    "<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""The fallback: the form most models have seen, whatever else they were trained on."""

RESERVED = frozenset(
    ["messages", "tools", "bos_token", "eos_token", "raise_exception", "strftime_now", "self"]
)
"""Names a request's template arguments may not take."""

_FOLDED = (
    "This model's chat template has no system role; "
    "the system text was put in front of the first user message."
)
_CHOOSE = "Choose another chat template in the model's settings."
# What a broken template may raise: the sandbox runs code we did not write.
_BROKEN = (
    TemplateError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True, slots=True)
class Rendered:
    """A prompt as text."""

    text: str
    notice: str | None = None
    """What the user should know about how it came about."""


class ChatTemplate:
    """One template, parsed. Thread-safe: renderings of one template take turns."""

    def __init__(
        self, source: str, *, bos_token: str = "", eos_token: str = "", stops: Sequence[str] = ()
    ) -> None:
        """Parse.

        Args:
            source: Jinja, as model files carry it.
            bos_token: text of the begin token; empty if the model has none.
            eos_token: text of the end token.
            stops: texts that end a turn where the vocabulary has no token for that.

        Raises:
            ModelFormatError: the source cannot be read; names the line.
        """
        self.source = source
        self.stops = tuple(stops)
        self._constants = {"bos_token": bos_token, "eos_token": eos_token}
        try:
            self._sandbox = Sandbox(source)
        except TemplateSyntaxError as error:
            raise _unreadable(f"line {error.lineno}: {error.message or ''}") from error
        except LimitError as error:
            raise _unreadable(str(error)) from error
        except _BROKEN as error:
            raise _unreadable(f"it is nested too deeply or malformed ({error})"[:300]) from error

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        /,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = True,
        **template_args: Any,
    ) -> Rendered:
        """Write the prompt.

        Args:
            messages: in the OpenAI form.
            tools: in the OpenAI form.
            add_generation_prompt: open the assistant's turn at the end.
            template_args: further variables of this template, such as enable_thinking.

        Raises:
            InvalidRequest: the template refuses these messages, or they are too long.
            ModelFormatError: the template is broken, or it went beyond its limits.
        """
        prepared = conversation.prepare(messages)
        budget = Budget()
        if budget.weigh([prepared, tools]) > MAX_TEXT:
            raise InvalidRequest(
                f"The conversation is longer than {MAX_TEXT:,} characters.",
                hint="Send less text.",
                param="messages",
            )
        variables = template_args | self._constants
        variables |= {"tools": tools, "add_generation_prompt": add_generation_prompt}
        try:
            return Rendered(self._run(prepared, variables, budget))
        except RefusedError as refusal:
            folded = conversation.fold_system(prepared)
            if folded is None:
                raise _refused(refusal) from refusal
        try:
            return Rendered(self._run(folded, variables, budget), notice=_FOLDED)
        except RefusedError as refusal:
            raise _refused(refusal) from refusal

    def _run(self, messages: list[Message], variables: dict[str, Any], budget: Budget) -> str:
        # Second try for templates that take any content for a text, or any tools for a list.
        simpler = {
            "messages": conversation.without_none(messages),
            "tools": variables["tools"] or [],
        }
        problem: Exception | None = None
        for values in ({"messages": messages}, simpler):
            try:
                return self._sandbox.run(variables | values, budget)
            except LimitError as error:
                raise _failed(f"The model's chat template was stopped: {error}.") from error
            except _BROKEN as error:
                problem = error
        assert problem is not None
        raise self._explain(problem, messages) from problem

    def _explain(self, problem: Exception, messages: list[Message]) -> EngineError:
        if conversation.has_unparsed_arguments(messages):
            return InvalidRequest(
                "The arguments of a tool call are not a JSON object, and the model's chat template"
                " cannot write them.",
                hint="Send the arguments as a JSON object.",
                param="messages",
            )
        line = self._sandbox.line_of(problem)
        place = f" in line {line}" if line else ""
        reason = str(problem)[:300].rstrip(".")
        return _failed(f"The model's chat template failed{place}: {reason}.")


def choose_template(
    from_model: str | None, override: str | None = None, *, bos_token: str = "", eos_token: str = ""
) -> tuple[ChatTemplate, str | None]:
    """The first usable one of: the user's choice, the model's own, ChatML.

    Each is tried on a greeting, so that a template that can only fail is found at load time.

    Returns:
        The template, and a sentence for the user when it is not the one to expect.
    """
    problems: list[str] = []
    for name, source in (("chosen", override), ("model's own", from_model)):
        if not source:
            continue
        try:
            template = ChatTemplate(source, bos_token=bos_token, eos_token=eos_token)
            _try(template)
        except ModelFormatError as error:
            problems.append(f"The {name} chat template cannot be used. {error.message}")
            continue
        return template, f"{problems[0]} The model's own is used." if problems else None
    if not problems:
        problems.append("This model has no chat template; it may not be made for chatting.")
    fallback = ChatTemplate(CHATML, stops=("<|im_end|>",))
    return fallback, " ".join([*problems, "The ChatML template is used instead.", _CHOOSE])


def _try(template: ChatTemplate) -> None:
    try:
        template.render([{"role": "user", "content": "Hello"}])
    except InvalidRequest:
        return  # It wants other messages than a greeting: it works.


def _unreadable(reason: str) -> ModelFormatError:
    return ModelFormatError(
        f"The chat template cannot be read: {reason.rstrip('.')}.", hint=_CHOOSE
    )


def _failed(message: str) -> ModelFormatError:
    return ModelFormatError(message, hint=_CHOOSE)


def _refused(refusal: RefusedError) -> InvalidRequest:
    return InvalidRequest(
        f"The model's chat template refuses these messages: {refusal}".rstrip(" :"),
        hint="Change the messages, or choose another chat template in the model's settings.",
        param="messages",
    )
