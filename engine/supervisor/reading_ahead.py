"""Reading ahead: prompts that nobody waits for yet, computed so that the next request finds them.

Zone: service process, event loop. Neighbours: `next_turn` (the requests), `host`, to which it belongs.
"""

import uuid

from engine.ipc.messages import Abort, Accepted, ChatPrompt, Delta, Failed
from engine.supervisor.answer import AnswerRequest
from engine.supervisor.process import Worker
from engine.supervisor.running import RunningAnswer

_LAST_WORDS = 32
"""Characters at the end of a draft that may be corrected without making its reading useless."""


class ReadingAhead:
    """What one worker reads ahead: one prompt at a time, and the newest wish behind it.

    A wish that goes on where the running one will end waits for it: a slow model would otherwise begin anew
    with every key. Any other takes its place, but not while its tokens are being made, so that the worker
    never has more than one in line before the requests that somebody waits for.
    """

    def __init__(self) -> None:
        self._id = ""
        """Of the running request, or empty."""
        self._prompt: ChatPrompt | None = None
        self._has_tokens = False
        self._next: AnswerRequest | None = None

    @property
    def idle(self) -> bool:
        """Nothing is being read."""
        return not self._id

    def want(self, request: AnswerRequest, worker: Worker) -> None:
        """Read this prompt next, in place of every earlier wish."""
        self._next = request
        self._advance(worker)

    def take(self, message: Accepted | Failed | Delta, worker: Worker) -> bool:
        """Note what the worker says; false where it is about something else."""
        if not self._id or message.request != self._id:
            return False
        if isinstance(message, Accepted):
            self._has_tokens = True
        elif isinstance(message, Failed) or message.finish is not None:
            self._id = ""
        self._advance(worker)
        return True

    def stop(self, worker: Worker | None) -> None:
        """Drop everything; None: the worker is gone."""
        if self._id and worker is not None:
            worker.send(Abort(self._id))
        self._id, self._next = "", None

    def _advance(self, worker: Worker) -> None:
        wish = self._next
        if wish is None:
            return
        if self._id:
            if not self._has_tokens or goes_on(self._prompt, wish.prompt):
                return
            worker.send(Abort(self._id))
        self._id, self._next, self._has_tokens = uuid.uuid4().hex, None, False
        self._prompt = wish.prompt if isinstance(wish.prompt, ChatPrompt) else None
        worker.send(RunningAnswer(self._id, "", wish).to_message())


def goes_on(before: object, after: object) -> bool:
    """Is nearly all that is read of one prompt the beginning of the other, too?"""
    if not isinstance(before, ChatPrompt) or not isinstance(after, ChatPrompt):
        return False
    if before.messages[:-1] != after.messages[:-1]:
        return False
    old, new = before.messages[-1].get("content"), after.messages[-1].get("content")
    return isinstance(old, str) and isinstance(new, str) and new.startswith(old[:-_LAST_WORDS])
