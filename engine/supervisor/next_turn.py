"""Requests that read a prompt before anybody asks for it. Pure.

Zone: service process. Made by `engine.server.hints` (somebody is typing) and when an answer has ended;
`engine.text.prompt.encode_beginning` says how much of such a prompt is sure.
"""

from engine.ipc.messages import ChatPrompt
from engine.supervisor.answer import AnswerRequest
from engine.types import SamplingParams

_PRIORITY = 2
"""See `engine.ipc.messages.Generate`."""


def reading_of(prompt: ChatPrompt, cache_key: str) -> AnswerRequest:
    """The request that reads `prompt` as far as it is sure, and says nothing."""
    return AnswerRequest(
        prompt,
        SamplingParams(),
        max_tokens=1,
        reads_only=True,
        priority=_PRIORITY,
        cache_key=cache_key,
    )


def next_turn_after(request: AnswerRequest, said: str) -> AnswerRequest | None:
    """Read what the conversation's next turn begins with: all up to where the user's words will be.

    Args:
        request: was answered in full, by itself.
        said: its answer as the client will send it back, without what was only thought.

    Returns:
        None where no next turn is to be expected.
    """
    prompt = request.prompt
    if not isinstance(prompt, ChatPrompt) or request.num_choices != 1 or not said.strip():
        return None
    before = prompt.messages
    if prompt.continue_final:
        said, before = str(before[-1].get("content") or "") + said, before[:-1]
    turn = [{"role": "assistant", "content": said}, {"role": "user", "content": ""}]
    following = ChatPrompt([*before, *turn], prompt.tools, prompt.template_args)
    return reading_of(following, request.cache_key)
