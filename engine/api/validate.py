"""Request bodies to checked requests, and their parts to the engine's own values. Pure.

Zone: service. Types and ranges are in `engine.api.requests`; here is what they cannot say. Every
refusal is one sentence, names its field, and comes before anything is computed.
"""

import dataclasses
import secrets
from collections.abc import Mapping
from typing import Any

import msgspec

from engine.api.json_schema import check_schema
from engine.api.requests import ChatRequest, CompletionRequest, Generation, Message
from engine.api.wire import CORRECT_IT, from_json
from engine.errors import InvalidRequest, UnsupportedByBackend
from engine.types import SamplingParams

UNLIMITED = -1
_ANY_OBJECT = {"type": "object"}
"""What `json_object` stands for."""
_ROLES = {"developer": "system"}
"""Names of roles that templates do not know."""


def parse_chat(body: bytes) -> ChatRequest:
    """Check a chat request.

    Raises:
        InvalidRequest: wrong, with the field as `param`.
        UnsupportedByBackend: legal, but we cannot do it.
    """
    request = from_json(body, ChatRequest)
    for index, message in enumerate(request.messages):
        _check_message(message, f"messages[{index}]")
    for index, tool in enumerate(request.tools or ()):
        _check_tool(tool, f"tools[{index}]")
    last = request.messages[-1]
    if request.continue_final_message and (last.role != "assistant" or last.tool_calls):
        raise _invalid(
            "continue_final_message", "needs a last message that is the assistant's text"
        )
    if request.top_logprobs and not request.logprobs:
        raise _invalid("top_logprobs", "needs logprobs to be true")
    _refuse(
        tool_choice=request.tool_choice not in (None, "none", "auto"),
        functions=bool(request.functions),
        function_call=request.function_call not in (None, "none", "auto"),
        audio=request.audio is not None,
    )
    _check_shared(request)
    return request


def parse_completion(body: bytes) -> CompletionRequest:
    """Check a raw completion request. Raises as `parse_chat`."""
    request = from_json(body, CompletionRequest)
    if isinstance(request.prompt, list):
        texts = sum(isinstance(item, str) for item in request.prompt)
        if texts and len(request.prompt) > 1:
            raise _invalid("prompt", "holds several prompts; send one request for each")
        if not request.prompt:
            raise _invalid("prompt", "is empty")
    _refuse(
        echo=bool(request.echo),
        best_of=request.best_of not in (None, request.n or 1),
        suffix=bool(request.suffix),
    )
    _check_shared(request)
    return request


def template_messages(request: ChatRequest) -> list[dict[str, Any]]:
    """The conversation in OpenAI's form, for `engine.text.conversation`; only known fields and roles."""
    return [
        msgspec.to_builtins(message) | {"role": _ROLES.get(message.role, message.role)}
        for message in request.messages
    ]


def sampling_params(
    request: ChatRequest | CompletionRequest, defaults: SamplingParams
) -> SamplingParams:
    """What the request says over what the service does by default; the seed is always settled."""
    fields = SamplingParams.__dataclass_fields__
    given = {name: getattr(request, name, None) for name in fields if name != "logit_bias"}
    given["repetition_penalty"] = _one_of(request, "repetition_penalty", "repeat_penalty")
    if request.top_k is not None:
        given["top_k"] = max(request.top_k, 0)
    if request.repeat_last_n == UNLIMITED:
        given["repeat_last_n"] = 2**31 - 1
    if request.seed is None or request.seed < 0:
        given["seed"] = secrets.randbits(32)
    if request.logit_bias:
        given["logit_bias"] = tuple(sorted(request.logit_bias.items()))
    given["num_logprobs"] = _num_logprobs(request)
    changes = {name: value for name, value in given.items() if value is not None}
    return dataclasses.replace(defaults, **changes)


def token_limit(request: Generation) -> int | None:
    """Most tokens of an answer; None: until the model ends or the context is full."""
    limit = _one_of(request, "max_tokens", "max_completion_tokens")
    return None if limit == UNLIMITED else limit


def stop_strings(request: Generation) -> tuple[str, ...]:
    """The strings that end an answer, in the request's order."""
    if request.stop is None:
        return ()
    return (request.stop,) if isinstance(request.stop, str) else tuple(request.stop)


def priority_of(request: Generation) -> int:
    """As `engine.ipc.messages.Generate.priority`."""
    if request.priority is not None:
        return request.priority
    return int(request.service_tier == "flex")


def answer_schema(request: Generation) -> str:
    """The JSON schema, as JSON, that answers must match; empty: none.

    Raises:
        InvalidRequest: contradictory, or beyond the limits of `engine.api.json_schema`.
    """
    found = _schemas(request)
    if not found:
        return ""
    if isinstance(request, ChatRequest) and request.continue_final_message:
        raise _invalid(
            "continue_final_message", "cannot go with a JSON schema for the whole answer"
        )
    (path, schema), *others = found.items()
    for other, different in others:
        if different != schema:
            raise _invalid(other, f"contradicts {path}; send only one of them")
    return check_schema(schema, path)


def _schemas(request: Generation) -> dict[str, dict[str, Any]]:
    """Schemas by the field that they came in."""
    wanted = request.response_format
    found: dict[str, dict[str, Any]] = {}
    if request.json_schema is not None:
        found["json_schema"] = request.json_schema
    if wanted is None or wanted.type == "text":
        return found
    if wanted.json_schema is not None:
        found["response_format.json_schema.schema"] = wanted.json_schema.schema
    if wanted.schema is not None:
        found["response_format.schema"] = wanted.schema
    if not found and wanted.type == "json_schema":
        raise _invalid("response_format.json_schema", "is missing")
    return found or {"response_format": _ANY_OBJECT}


def _check_shared(request: Generation) -> None:
    for name in ("max_tokens", "max_completion_tokens"):
        if getattr(request, name) == 0:
            raise _invalid(name, "must be at least 1; leave it out for no limit")
    _one_of(request, "max_tokens", "max_completion_tokens")
    _one_of(request, "repetition_penalty", "repeat_penalty")
    _refuse(grammar=bool(request.grammar))


def _check_message(message: Message, path: str) -> None:
    content = message.content
    if content is None and not (message.role == "assistant" and message.tool_calls):
        raise _invalid(f"{path}.content", "is missing")
    if not isinstance(content, list):
        return
    if not content:
        raise _invalid(f"{path}.content", "has no parts")
    for index, part in enumerate(content):
        where = f"{path}.content[{index}]"
        if part.type != "text":
            raise _invalid(
                f"{where}.type", "must be text; images and other media are not supported"
            )
        if part.text is None:
            raise _invalid(f"{where}.text", "is missing")


def _check_tool(tool: dict[str, Any], path: str) -> None:
    function = tool.get("function")
    if tool.get("type") != "function" or not isinstance(function, Mapping):
        raise _invalid(path, "must be an object with type function and a function")
    if not isinstance(function.get("name"), str) or not function["name"]:
        raise _invalid(f"{path}.function.name", "must be a name")


def _num_logprobs(request: ChatRequest | CompletionRequest) -> int | None:
    if isinstance(request, CompletionRequest):
        return request.logprobs
    return (request.top_logprobs or 0) if request.logprobs else None


def _one_of(request: Generation, name: str, alias: str) -> Any:
    """The value of a field that has two names."""
    first, second = getattr(request, name), getattr(request, alias)
    if first is not None and second is not None and first != second:
        raise _invalid(alias, f"contradicts {name}; send only one of them")
    return second if first is None else first


def _refuse(**wishes: bool) -> None:
    for name, wished in wishes.items():
        if wished:
            message = f"The field {name} asks for something Inglenook cannot do yet."
            raise UnsupportedByBackend(message, hint="Leave it out and try again.", param=name)


def _invalid(param: str, complaint: str) -> InvalidRequest:
    message = f"The field {param} {complaint}."
    return InvalidRequest(message, hint=CORRECT_IT, param=param)
