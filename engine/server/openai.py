"""Routes of the OpenAI-compatible API: chat, completions, models.

Neighbours: `engine.api.validate` (what may be asked), `engine.server.answering` (how it is answered).
"""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from engine.api.requests import ChatRequest, CompletionRequest
from engine.api.validate import (
    answer_schema,
    parse_chat,
    parse_completion,
    priority_of,
    sampling_params,
    stop_strings,
    template_messages,
    token_limit,
)
from engine.errors import ModelNotFound
from engine.ipc.messages import ChatPrompt, TextPrompt, TokenPrompt
from engine.server.answering import StreamedAnswer, WholeAnswer
from engine.server.body import read_json_body
from engine.server.chat_shape import ChatShape
from engine.server.errors import JsonReply
from engine.server.service import Service
from engine.server.shape import Shape
from engine.server.text_shape import TextShape
from engine.supervisor.answer import AnswerRequest, ModelStatus
from engine.types import SamplingParams

EVENTS_HEADER = "x-inglenook-events"
"""Our own client sends it with "1" to get progress events between the chunks."""


async def chat_completions(request: Request) -> Response:
    """POST /v1/chat/completions."""
    wanted = parse_chat(await read_json_body(request))
    return await _reply(request, wanted, chat_prompt(wanted), ChatShape)


async def completions(request: Request) -> Response:
    """POST /v1/completions."""
    wanted = parse_completion(await read_json_body(request))
    return await _reply(request, wanted, _raw_prompt(wanted), TextShape)


async def list_models(request: Request) -> Response:
    """GET /v1/models."""
    models = [_model_entry(status) for status in await Service.of(request).engine.models()]
    return JsonReply({"object": "list", "data": models})


async def get_model(request: Request) -> Response:
    """GET /v1/models/{id}; ids may hold slashes."""
    wanted = request.path_params["id"]
    models = await Service.of(request).engine.models()
    for status in models:
        if status.id == wanted:
            return JsonReply(_model_entry(status))
    names = ", ".join(status.id for status in models) or "none yet"
    raise ModelNotFound(f"There is no model {wanted}.", hint=f"Models here: {names}.")


ROUTES = (
    Route("/v1/chat/completions", chat_completions, methods=["POST"]),
    Route("/v1/completions", completions, methods=["POST"]),
    Route("/v1/models", list_models, methods=["GET"]),
    Route("/v1/models/{id:path}", get_model, methods=["GET"]),
)


def chat_prompt(wanted: ChatRequest) -> ChatPrompt:
    """What the worker's chat template is given."""
    return ChatPrompt(
        messages=template_messages(wanted),
        tools=None if wanted.tool_choice == "none" else wanted.tools,
        template_args=wanted.chat_template_kwargs or {},
        continue_final=bool(wanted.continue_final_message),
    )


async def _reply(
    request: Request,
    wanted: ChatRequest | CompletionRequest,
    prompt: ChatPrompt | TextPrompt | TokenPrompt,
    kind: type[Shape],
) -> Response:
    service = Service.of(request)
    usual = await service.engine.sampling(wanted.model or None, service.sampling)
    sampling = sampling_params(wanted, usual)
    order = _order(wanted, prompt, sampling)
    options = wanted.stream_options
    shape = kind(
        seed=sampling.seed,
        num_choices=order.num_choices,
        with_logprobs=sampling.num_logprobs is not None,
        with_usage=bool(options and options.include_usage),
    )
    model = wanted.model or None
    if not wanted.stream:
        return WholeAnswer(service, model, order, shape)
    with_progress = request.headers.get(EVENTS_HEADER) == "1"
    return StreamedAnswer(service, model, order, shape, with_progress=with_progress)


def _order(
    wanted: ChatRequest | CompletionRequest,
    prompt: ChatPrompt | TextPrompt | TokenPrompt,
    sampling: SamplingParams,
) -> AnswerRequest:
    return AnswerRequest(
        prompt=prompt,
        sampling=sampling,
        max_tokens=token_limit(wanted),
        stop=stop_strings(wanted),
        num_choices=wanted.n or 1,
        ignore_end=bool(wanted.ignore_eos),
        schema=answer_schema(wanted),
        priority=priority_of(wanted),
        cache_key=wanted.prompt_cache_key or "",
    )


def _raw_prompt(wanted: CompletionRequest) -> TextPrompt | TokenPrompt:
    if isinstance(wanted.prompt, str):
        return TextPrompt(wanted.prompt)
    if isinstance(wanted.prompt[0], str):
        return TextPrompt(wanted.prompt[0])
    return TokenPrompt([token for token in wanted.prompt if isinstance(token, int)])


def _model_entry(status: ModelStatus) -> dict[str, Any]:
    return {
        "id": status.id,
        "object": "model",
        "created": status.created,
        "owned_by": "inglenook",
        "status": status.state,
        "size": status.size_bytes,
        "meta": {"n_ctx_train": status.n_ctx_train, "n_ctx": status.n_ctx},
    }
