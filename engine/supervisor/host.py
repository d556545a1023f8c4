"""The life of one model's worker: load, serve, restart after a crash, stop when idle.

Zone: service process, event loop (the single writer of all of this).

::

    unloaded ──submit / ensure──▶ loading ──Loaded──▶ ready ──stop / idle──▶ stopping ──▶ unloaded
                                   │    ▲               │
                            refused│    └── back-off ───┤ died with answers open
                                   ▼                    ▼
                                 failed ◀── died too often without progress

A worker that dies is restarted and every open answer goes on from its last token. An answer that was being
computed in two deaths in a row, with no token in between, is ended: it is the likely cause. Such
suspects run one at a time, so that they do not take innocent neighbours with them.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from engine import aio
from engine.errors import EngineError, ServiceUnavailable, WorkerCrashed
from engine.ipc.messages import (
    Accepted,
    Delta,
    Failed,
    Forget,
    Load,
    Loaded,
    LoadProgress,
    Measured,
    Reading,
    Step,
    ToSupervisor,
)
from engine.supervisor.answer import AnswerRequest
from engine.supervisor.process import Worker, describe_exit
from engine.supervisor.reading_ahead import ReadingAhead
from engine.supervisor.running import RunningAnswer
from engine.types import ModelState

logger = logging.getLogger(__name__)

MAX_STRIKES = 2
MAX_DEATHS_WITHOUT_PROGRESS = 5
MAX_DEATHS_IN_LOAD = 3


@dataclass(frozen=True, slots=True)
class Launch:
    """How a worker is started and what it is told to load."""

    prepare: Callable[[], Awaitable[Load]]
    """Plans and makes room; raises EngineError when it cannot be done."""
    start: Callable[[str], Awaitable[Worker]]
    load_turn: asyncio.Lock
    """Held while loading: memory is planned for one load at a time."""
    idle_timeout_s: float
    first_backoff_s: float = 0.05
    max_backoff_s: float = 5.0


class ModelHost:
    """One model of the library."""

    def __init__(self, model: str, launch: Launch, on_idle: Callable[[], None]) -> None:
        """`on_idle` is called when its memory can be had: it has nothing to do, or its worker is gone."""
        self.model = model
        self.state: ModelState = "unloaded"
        self.progress: float | None = None
        self.loaded: Loaded | None = None
        self.measured: Measured | None = None
        self.problem: EngineError | None = None
        self.idle_since = time.monotonic()
        self._launch = launch
        self._on_idle = on_idle
        self._answers: dict[str, RunningAnswer] = {}
        self._ahead = ReadingAhead()
        self._worker: Worker | None = None
        self._task: asyncio.Task[None] | None = None
        self._finishing: set[str] | None = None
        """While it is being stopped: the answers that this worker still has to give."""
        self._wanted = False
        """Somebody asked for the model itself, not for an answer."""
        self._changed = asyncio.Event()
        self._idle_timer: asyncio.TimerHandle | None = None
        self._deaths = 0
        self._deaths_in_load = 0

    @property
    def pid(self) -> int | None:
        """Of the worker."""
        return self._worker.pid if self._worker else None

    @property
    def has_died(self) -> bool:
        """Its worker died, and no token has come since."""
        return self._deaths > 0

    @property
    def busy(self) -> bool:
        """Answers are open, or it is on its way to one."""
        return bool(self._answers) or self.state in ("loading", "stopping")

    # --- what the supervisor asks ---------------------------------------------------------------

    def submit(self, answer: RunningAnswer) -> None:
        """Take an answer on; starts the worker if need be."""
        self._answers[answer.request_id] = answer
        self._cancel_idle_timer()
        self._ahead.stop(self._worker)
        self._ensure_running()
        self._send_unsent()

    def release(self, answer: RunningAnswer) -> None:
        """Its reader left: free the compute at once."""
        if answer.request_id in self._answers:
            self._drop(answer)
            self._after_answer()

    def read_ahead(self, request: AnswerRequest) -> bool:
        """Read a prompt that may come next, beside all else and in place of the last one so read.

        It is no answer: it keeps nothing loaded, restarts no worker, and nobody hears of its end.

        Returns:
            False: there is no worker for it, or one that has yet to prove itself after a death.
        """
        if self.state != "ready" or self._worker is None or self.has_died:
            return False
        self._ahead.want(request, self._worker)
        return True

    async def forget(self, key: str) -> None:
        """Drop what is held of one owner's conversations, of running ones too; empty: of everybody's."""
        while self.state == "stopping":  # a worker that leaves writes down what it holds
            await self._wait_for_change()
        for answer in self._answers.values():
            answer.is_forgotten |= bool(key) and answer.cache_key == key
        self._ahead.stop(self._worker)
        if self._worker is not None:
            self._worker.send(Forget(key))

    async def ensure_ready(self) -> None:
        """Load without an answer.

        Raises:
            EngineError: why it did not load.
        """
        self._wanted = True
        self._ensure_running()
        while self.state != "ready":
            if self.state == "failed":
                raise self.problem or EngineError("The model did not load.")
            if self.state == "unloaded" and self._task is None:
                raise ServiceUnavailable("The model was unloaded before it was ready.")
            await self._wait_for_change()

    async def stop(self, *, finish_answers: bool = True) -> None:
        """Unload. Open answers are finished first, or ended with an error."""
        self._wanted = False
        self._cancel_idle_timer()
        if not finish_answers:
            self._fail_all(
                ServiceUnavailable(
                    "The service is stopping.",
                    hint="What was received so far is complete up to here.",
                )
            )
        await self._finish_answers()
        worker, task = self._worker, self._task
        if worker is not None:
            self._ahead.stop(worker)
            self._set_state("stopping")
            await worker.stop()
            # Not the task's end: where an answer came meanwhile it goes on, and may then wait
            # for the load turn of the very model that room is made for here.
            while self._worker is worker:
                await self._wait_for_change()
        elif task is not None:
            task.cancel()  # waits for memory or for the end of a back-off
            await asyncio.wait([task])
        elif self.state == "failed":
            self.problem = None
            self._set_state("unloaded")

    async def _finish_answers(self) -> None:
        """Those that are open; later ones wait for the next worker, or this would never end."""
        finishing = self._finishing = set(self._answers)
        try:
            while finishing & self._answers.keys():
                await self._wait_for_change()
        finally:
            self._finishing = None

    # --- the life ------------------------------------------------------------------------------

    def _ensure_running(self) -> None:
        if self._task is None:
            self._set_state("loading")
            self.problem = None
            self._deaths = self._deaths_in_load = 0
            self._task = aio.spawn(self._run(), name=f"host of {self.model}")

    async def _run(self) -> None:
        try:
            again = True
            while again:
                again = await self._one_worker()
        except EngineError as error:
            self.problem = error
            self._fail_all(error)
            self._set_state("failed")
        except asyncio.CancelledError:
            self._set_state("unloaded")
            raise
        finally:
            self._task = None
            self._changed.set()

    async def _one_worker(self) -> bool:
        """From start to end of one worker; True when another one is needed."""
        self._set_state("loading")
        async with self._launch.load_turn:
            load = await self._launch.prepare()
            self._worker = worker = await self._launch.start(self.model)
            worker.send(load)
            messages = worker.messages()
            async for message in messages:
                self._on_message(message)
                if self.state != "loading":
                    break
        async for message in messages:
            self._on_message(message)
        was_loading = self.state == "loading"
        stopping = self.state == "stopping"
        code = await worker.wait()
        self._worker = None
        self._ahead.stop(None)
        self.loaded = None
        self._on_idle()
        if self.problem is not None:
            raise self.problem
        if stopping:
            self._set_state("unloaded")
            return bool(self._answers)
        return await self._after_death(code, was_loading=was_loading)

    async def _after_death(self, code: int, *, was_loading: bool) -> bool:
        reason = describe_exit(code)
        logger.warning("worker died, model=%s code=%d loading=%s", self.model, code, was_loading)
        self._deaths += 1
        self._deaths_in_load = self._deaths_in_load + 1 if was_loading else 0
        for answer in list(self._answers.values()):
            answer.worker_died()
            if answer.strikes >= MAX_STRIKES:
                self._end(
                    answer,
                    WorkerCrashed(
                        f"This request stopped the model twice: {reason}.",
                        hint="Change the request, or try a smaller context.",
                        exit_code=code,
                    ),
                )
        if (
            self._deaths_in_load >= MAX_DEATHS_IN_LOAD
            or self._deaths >= MAX_DEATHS_WITHOUT_PROGRESS
        ):
            doing = "loading" if was_loading else "answering"
            raise WorkerCrashed(
                f"The model stopped {self._deaths} times while {doing}: {reason}.",
                hint="Choose a smaller context or a smaller model; the log has the details.",
                exit_code=code,
            )
        if not self._answers and not (was_loading and self._wanted):
            self._set_state("unloaded")
            return False
        self._set_state("loading")
        delay = self._launch.first_backoff_s * 2 ** (self._deaths - 1)
        await asyncio.sleep(min(delay, self._launch.max_backoff_s))
        return True

    def _on_message(self, message: ToSupervisor) -> None:
        match message:
            case Step():
                for delta in message.deltas:
                    self._on_delta(delta)
            case Accepted() | Reading() | Failed():
                self._on_request_message(message)
            case Measured():
                self.measured = message
                self._changed.set()
            case LoadProgress():
                self.progress = message.fraction
                for answer in self._answers.values():
                    answer.loading(message.fraction)
            case Loaded():
                self.loaded = message
                self._deaths_in_load = 0
                if self.state == "loading":
                    self._set_state("ready")
                    self._send_unsent()
                    self._after_answer()

    def _on_request_message(self, message: Accepted | Reading | Failed) -> None:
        answer = self._answers.get(message.request)
        match message:
            case Failed(request=""):
                self.problem = EngineError.from_wire(message.error)
            case Accepted() | Failed() if self._worker and self._ahead.take(message, self._worker):
                pass
            case Failed() if answer:
                self._end(answer, EngineError.from_wire(message.error))
            case Accepted() if answer:
                answer.accepted(message)
            case Reading() if answer:
                answer.reading(message.done, message.total, message.reused)

    def _on_delta(self, delta: Delta) -> None:
        answer = self._answers.get(delta.request)
        if answer is None:  # its reader left while the frame was on its way, or there never was one
            if self._worker:
                self._ahead.take(delta, self._worker)
            return
        was_suspect = answer.strikes > 0
        answer.delta(delta)
        self._deaths = 0
        if answer.complete:
            self._drop(answer)
            self._after_answer()
            if not self.busy and self._ahead.idle and (following := answer.next_turn()):
                self.read_ahead(following)
        if was_suspect:
            self._send_unsent()

    def _send_unsent(self) -> None:
        if self.state != "ready" or self._worker is None:
            return
        for answer in self._answers.values():
            suspects_out = any(a.sent and a.strikes for a in self._answers.values())
            waits = self._finishing is not None and answer.request_id not in self._finishing
            if not answer.sent and not waits and not (answer.strikes and suspects_out):
                answer.sent = True
                self._worker.send(answer.to_message())

    # --- ends ----------------------------------------------------------------------------------

    def _end(self, answer: RunningAnswer, error: EngineError) -> None:
        answer.fail(error)
        self._drop(answer)
        self._after_answer()
        self._send_unsent()

    def _fail_all(self, error: EngineError) -> None:
        for answer in list(self._answers.values()):
            self._drop(answer)
            answer.fail(error)
        self._changed.set()

    def _drop(self, answer: RunningAnswer) -> None:
        del self._answers[answer.request_id]
        if self._worker is not None:
            for message in answer.parting():
                self._worker.send(message)

    def _after_answer(self) -> None:
        self._changed.set()
        if not self._answers and self.state == "ready":
            self.idle_since = time.monotonic()
            self._cancel_idle_timer()
            loop = asyncio.get_running_loop()
            self._idle_timer = loop.call_later(self._launch.idle_timeout_s, self._idle_too_long)
            self._on_idle()

    def _idle_too_long(self) -> None:
        if not self._answers and self.state == "ready":
            logger.info(
                "unloading after %.0f s idle, model=%s", self._launch.idle_timeout_s, self.model
            )
            aio.spawn(self.stop(), name=f"idle stop of {self.model}")

    def _cancel_idle_timer(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None

    def _set_state(self, state: ModelState) -> None:
        self.state = state
        if state != "loading":
            self.progress = None
        self._changed.set()

    async def _wait_for_change(self) -> None:
        self._changed.clear()
        await self._changed.wait()
