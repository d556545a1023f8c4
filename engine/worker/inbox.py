"""The worker's two side threads: one reads frames, one prepares requests. The loop takes from here.

Zone: worker process. The reader ends the process when the service closes the pipe, even while the
loop is inside native code, and stops a running prefill of a request that is aborted.
"""

import logging
import os
import queue
import threading
from collections.abc import Callable, Sequence

from engine.errors import EngineError
from engine.ipc.channel import Channel
from engine.ipc.messages import Abort, ChatPrompt, Exit, Failed, Forget, Generate, Load
from engine.scheduler.sequence import HINT
from engine.worker.intake import Admitted, Intake

logger = logging.getLogger(__name__)

_UNPREPARED = EngineError("The request could not be prepared.", hint="The log has the details.")

_INTAKE_STACK_BYTES = 64 << 20
_HINTS = 16

ForLoop = Admitted | Abort | Forget | Exit


class Inbox:
    """Messages for the loop, in order of arrival."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._for_loop: queue.SimpleQueue[ForLoop] = queue.SimpleQueue()
        self._for_intake: queue.SimpleQueue[Generate] = queue.SimpleQueue()
        self._load: queue.SimpleQueue[Load] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._preparing: set[str] = set()
        """Requests between their arrival and the loop; an Abort removes them."""
        self._request_abort: Callable[[], None] = lambda: None
        self._read_ahead: Callable[[Sequence[int]], None] | None = None
        self.reading: frozenset[str] = frozenset()
        """Requests whose prompt is in the running decode. Set by the loop."""
        self.spare: str | None = None
        """The running decode is for nobody yet: the hint that it reads (empty: none). Set by the loop."""
        self._hints: dict[str, Generate] = {}
        """The latest, by request."""

    def start_reader(self) -> None:
        """Start reading frames."""
        threading.Thread(target=self._read, name="reader", daemon=True).start()

    def start_intake(
        self,
        intake: Intake,
        request_abort: Callable[[], None],
        read_ahead: Callable[[Sequence[int]], None] | None = None,
    ) -> None:
        """Start preparing requests; those that came during the load are waiting.

        Args:
            intake: prepares them.
            request_abort: stops the running decode.
            read_ahead: told each prompt's tokens before the loop has them.
        """
        self._request_abort = request_abort
        self._read_ahead = read_ahead
        # llama.cpp splits text by recursion: 320 bytes of stack per character of a long equal run
        threading.stack_size(_INTAKE_STACK_BYTES)
        threading.Thread(target=self._prepare, args=(intake,), name="intake", daemon=True).start()

    def first_load(self) -> Load:
        """The first frame."""
        return self._load.get()

    def take(self, *, wait: bool) -> list[ForLoop]:
        """All messages that are there; waits for the first one if asked to."""
        messages = [self._for_loop.get()] if wait else []
        while True:
            try:
                messages.append(self._for_loop.get_nowait())
            except queue.Empty:
                return messages

    def _read(self) -> None:
        leaving = False
        try:
            for message in self._channel.messages():
                match message:
                    case Generate():
                        with self._lock:
                            self._preparing.add(message.request)
                        self._note_hint(message)
                        self._for_intake.put(message)
                        if self._must_give_way(message):
                            self._request_abort()
                    case Abort():
                        with self._lock:
                            self._preparing.discard(message.request)
                        self._for_loop.put(message)
                        if message.request in self.reading:
                            self._request_abort()
                    case Load():
                        self._load.put(message)
                    case Forget():
                        self._for_loop.put(message)
                    case Exit():
                        leaving = True
                        self._for_loop.put(message)
        finally:
            if (
                not leaving
            ):  # else the loop ends the process, when it has kept what there is to keep
                # The service is gone, and nobody can be told anything any more.
                os._exit(0)

    def _must_give_way(self, message: Generate) -> bool:
        """The running decode is of no use to this request. A hint of the same conversation is."""
        spare = self.spare
        if spare is None or message.priority >= HINT:
            return False
        hint = self._hints.get(spare)
        return hint is None or not goes_on(hint, message)

    def _note_hint(self, message: Generate) -> None:
        if message.reads_only:
            self._hints[message.request] = message
            if len(self._hints) > _HINTS:
                del self._hints[next(iter(self._hints))]

    def _prepare(self, intake: Intake) -> None:
        while True:
            message = self._for_intake.get()
            with self._lock:
                if message.request not in self._preparing:
                    continue  # aborted before it was looked at
            try:
                admitted = intake.take(message)
                if self._read_ahead is not None:
                    self._read_ahead(admitted.accepted.prompt)
            except EngineError as error:
                self._channel.send(Failed(message.request, error.to_wire()))
                continue
            except Exception:
                # one of the outer walls: a request must not take the others with it
                logger.exception("intake failed, req=%s", message.request)
                self._channel.send(Failed(message.request, _UNPREPARED.to_wire()))
                continue
            with self._lock:
                if message.request in self._preparing:
                    self._preparing.discard(message.request)
                    self._for_loop.put(admitted)


def goes_on(hint: Generate, request: Generate) -> bool:
    """Is a request of the conversation that was read ahead? Where neither says whose it is, its messages tell."""
    if hint.cache_key or request.cache_key:
        return hint.cache_key == request.cache_key
    if not isinstance(hint.prompt, ChatPrompt) or not isinstance(request.prompt, ChatPrompt):
        return False
    *before, last = hint.prompt.messages
    there = request.prompt.messages
    if len(there) <= len(before) or there[: len(before)] != before:
        return False
    typed, sent = last.get("content"), there[len(before)].get("content")
    return bool(before) or (
        isinstance(typed, str) and isinstance(sent, str) and sent.startswith(typed)
    )
