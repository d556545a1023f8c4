"""POST /api/prefill: somebody is typing; read what is sure of it, so that the answer begins sooner.

Neighbours: `engine.supervisor.next_turn` (what a hint asks of the engine), `engine.server.openai`.
"""

import logging

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from engine.api.requests import ChatRequest
from engine.api.validate import parse_chat
from engine.api.wire import CORRECT_IT
from engine.errors import InvalidRequest
from engine.server.body import read_json_body
from engine.server.errors import JsonReply
from engine.server.openai import chat_prompt
from engine.server.service import Service
from engine.supervisor.next_turn import reading_of

logger = logging.getLogger(__name__)
_ACCEPTED = 202


async def prefill(request: Request) -> Response:
    """POST /api/prefill: a chat request whose last message, the user's, is still being written.

    Replies at once, and what is wrong with the prompt shows nowhere. A later hint takes the place of the
    last one for its model, an answer goes first, and a model that is not loaded is left alone.
    """
    wanted = parse_chat(await read_json_body(request))
    _check_last(wanted)
    reading = reading_of(chat_prompt(wanted), wanted.prompt_cache_key or "")
    accepted = await Service.of(request).engine.read_ahead(wanted.model or None, reading)
    logger.debug("hint, model=%s accepted=%s", wanted.model or "", accepted)
    return JsonReply({} if accepted else {"accepted": False}, _ACCEPTED)


ROUTES = (Route("/api/prefill", prefill, methods=["POST"]),)


def _check_last(wanted: ChatRequest) -> None:
    if wanted.messages[-1].role != "user":
        message = "The last message is not the user's."
        raise InvalidRequest(message, hint=CORRECT_IT, param="messages")
