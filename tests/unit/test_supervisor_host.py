"""The life of a worker, driven by scripted workers: no processes, no sleeps."""

import asyncio
from collections.abc import AsyncIterator, Callable

import msgspec
import pytest

from engine.errors import EngineError, OutOfMemory, ServiceUnavailable, WorkerCrashed
from engine.ipc.messages import (
    Abort,
    Accepted,
    Delta,
    Failed,
    Generate,
    Load,
    Loaded,
    LoadProgress,
    Step,
    TextPrompt,
    TokenPrompt,
    ToSupervisor,
)
from engine.supervisor.answer import AnswerRequest, Loading, PromptAccepted
from engine.supervisor.host import Launch, ModelHost
from engine.supervisor.running import RunningAnswer
from engine.types import SamplingParams, Timings

LOADED = Loaded(256, 260, "scripted", 0.0, 1000)
REQUEST = AnswerRequest(TextPrompt("hello"), SamplingParams(seed=1))
TIMINGS = Timings(0, 0, 0, 1, 0, 1)


class ScriptedWorker:
    """A worker whose every word the test says."""

    pid = 1

    def __init__(self) -> None:
        self.sent: list[msgspec.Struct] = []
        self._frames: asyncio.Queue[ToSupervisor | int] = asyncio.Queue()
        self.exit_code: int | None = None

    def says(self, *messages: ToSupervisor) -> None:
        for message in messages:
            self._frames.put_nowait(message)

    def dies(self, code: int = -9) -> None:
        self._frames.put_nowait(code)

    def send(self, message: msgspec.Struct) -> None:
        self.sent.append(message)

    async def messages(self) -> AsyncIterator[ToSupervisor]:
        while not isinstance(frame := await self._frames.get(), int):
            yield frame
        self.exit_code = frame

    async def wait(self) -> int:
        assert self.exit_code is not None
        return self.exit_code

    async def stop(self) -> int:
        self.dies(0)
        return 0

    @property
    def generates(self) -> list[Generate]:
        return [m for m in self.sent if isinstance(m, Generate)]


class Stage:
    """A host with the workers it started."""

    def __init__(self, *, refuse: EngineError | None = None, idle_timeout_s: float = 60) -> None:
        self.workers: list[ScriptedWorker] = []
        self._refuse = refuse

        async def prepare() -> Load:
            if self._refuse:
                raise self._refuse
            return Load(b"x", "fake", 256, 4, 1, 1)

        async def start(model: str) -> ScriptedWorker:
            self.workers.append(ScriptedWorker())
            return self.workers[-1]

        self.load_turn = asyncio.Lock()
        self.num_told_idle = 0
        launch = Launch(prepare, start, self.load_turn, idle_timeout_s, first_backoff_s=0.0)
        self.host = ModelHost("m", launch, self._on_idle)

    def _on_idle(self) -> None:
        self.num_told_idle += 1

    def submit(self, name: str, request: AnswerRequest = REQUEST) -> RunningAnswer:
        answer = RunningAnswer(name, "m", request)
        self.host.submit(answer)
        return answer

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(5):
            while not condition():
                await asyncio.sleep(0)

    async def worker(self, number: int) -> ScriptedWorker:
        await self.until(lambda: len(self.workers) > number)
        return self.workers[number]

    async def ready(self, number: int = 0) -> ScriptedWorker:
        worker = await self.worker(number)
        worker.says(LOADED)
        await self.until(lambda: self.host.state == "ready")
        return worker


def token(request: str, text: str, *, finish=None) -> Step:
    return Step(
        [Delta(request, 0, [ord(text)], text, finish=finish, timings=TIMINGS if finish else None)]
    )


async def drain(answer: RunningAnswer) -> str:
    text = ""
    async with asyncio.timeout(5):
        async for event in answer:
            if isinstance(event, Delta):
                text += event.content
    return text


def run(coroutine) -> None:
    asyncio.run(coroutine)


def test_an_answer_starts_the_worker_and_sees_the_load() -> None:
    async def scenario() -> None:
        stage = Stage()
        answer = stage.submit("a")
        assert stage.host.state == "loading"
        worker = await stage.worker(0)
        worker.says(LoadProgress(0.5))
        assert await anext(answer) == Loading(0.5)
        assert not worker.generates
        await stage.ready()
        assert [g.request for g in worker.generates] == ["a"]
        worker.says(Accepted("a", [1, 2]), token("a", "x"), token("a", "y", finish="stop"))
        assert await anext(answer) == PromptAccepted(2)
        assert await drain(answer) == "xy"
        assert not stage.host.busy

    run(scenario())


def test_a_death_in_mid_answer_goes_on_from_the_last_token() -> None:
    async def scenario() -> None:
        stage = Stage()
        answer = stage.submit("a")
        first = await stage.ready()
        first.says(Accepted("a", [7, 8]), token("a", "x"), token("a", "y"))
        first.dies()
        second = await stage.ready(1)
        (message,) = second.generates
        assert message.prompt == TokenPrompt([7, 8])
        assert message.resume == [[ord("x"), ord("y")]]
        second.says(token("a", "z", finish="stop"))
        assert await drain(answer) == "xyz"

    run(scenario())


def test_a_request_that_stops_two_workers_is_ended_and_its_neighbours_are_not() -> None:
    async def scenario() -> None:
        stage = Stage()
        poison, good = stage.submit("poison"), stage.submit("good")
        first = await stage.ready()
        assert len(first.generates) == 2
        first.dies(-6)
        second = await stage.ready(1)
        # suspects run one at a time
        assert [g.request for g in second.generates] == ["poison"]
        second.dies(-6)
        third = await stage.ready(2)
        assert [g.request for g in third.generates] == ["good"]
        with pytest.raises(WorkerCrashed, match="twice"):
            await drain(poison)
        third.says(token("good", "!", finish="stop"))
        assert await drain(good) == "!"

    run(scenario())


def test_a_suspect_that_makes_progress_lets_the_next_one_in() -> None:
    async def scenario() -> None:
        stage = Stage()
        stage.submit("a"), stage.submit("b")
        (await stage.ready()).dies()
        second = await stage.ready(1)
        assert [g.request for g in second.generates] == ["a"]
        second.says(token("a", "x"))
        await stage.until(lambda: len(second.generates) == 2)
        await stage.host.stop(finish_answers=False)

    run(scenario())


def test_deaths_with_progress_between_them_never_end_an_answer() -> None:
    async def scenario() -> None:
        stage = Stage()
        answer = stage.submit("a")
        for i in range(12):
            worker = await stage.ready(i)
            worker.says(token("a", chr(97 + i)))
            await stage.until(lambda i=i: len(answer._tokens[0]) == i + 1)
            worker.dies()
        (await stage.ready(12)).says(token("a", "!", finish="stop"))
        assert await drain(answer) == "abcdefghijkl!"

    run(scenario())


def test_a_worker_that_always_dies_in_its_load_fails_what_waits() -> None:
    async def scenario() -> None:
        stage = Stage()
        answer = stage.submit("a")
        for i in range(3):
            (await stage.worker(i)).dies(-4)
        with pytest.raises(WorkerCrashed, match="SIGILL"):
            await drain(answer)
        assert stage.host.state == "failed"
        # the next request tries again
        again = stage.submit("b")
        worker = await stage.ready(3)
        worker.says(token("b", "k", finish="stop"))
        assert await drain(again) == "k"

    run(scenario())


def test_a_refused_load_is_the_answer_s_error() -> None:
    async def scenario() -> None:
        stage = Stage()
        answer = stage.submit("a")
        worker = await stage.worker(0)
        worker.says(Failed("", OutOfMemory("no room", hint="close something").to_wire()))
        worker.dies(0)
        with pytest.raises(OutOfMemory, match="no room close something"):
            await drain(answer)
        assert isinstance(stage.host.problem, OutOfMemory)

    run(scenario())


def test_a_plan_that_cannot_be_made_is_the_answer_s_error() -> None:
    async def scenario() -> None:
        stage = Stage(refuse=OutOfMemory("does not fit"))
        with pytest.raises(OutOfMemory):
            await drain(stage.submit("a"))
        with pytest.raises(OutOfMemory):
            await stage.host.ensure_ready()

    run(scenario())


def test_one_request_s_failure_is_its_own() -> None:
    async def scenario() -> None:
        stage = Stage()
        bad, good = stage.submit("bad"), stage.submit("good")
        worker = await stage.ready()
        worker.says(
            Failed("bad", EngineError("refused").to_wire()), token("good", "x", finish="stop")
        )
        with pytest.raises(EngineError, match="refused"):
            await drain(bad)
        assert await drain(good) == "x"

    run(scenario())


def test_a_reader_that_leaves_aborts() -> None:
    async def scenario() -> None:
        stage = Stage()
        answer = stage.submit("a")
        worker = await stage.ready()
        stage.host.release(answer)
        assert worker.sent[-1] == Abort("a")
        worker.says(token("a", "late"[0]))
        stage.host.release(answer)
        assert not stage.host.busy

    run(scenario())


def test_stop_waits_for_answers_and_the_next_request_loads_again() -> None:
    async def scenario() -> None:
        stage = Stage()
        answer = stage.submit("a")
        worker = await stage.ready()
        stopping = asyncio.ensure_future(stage.host.stop())
        await asyncio.sleep(0)
        assert stage.host.state == "ready"
        worker.says(token("a", "x", finish="stop"))
        assert await drain(answer) == "x"
        await stopping
        assert stage.host.state == "unloaded"
        again = stage.submit("b")
        (await stage.ready(1)).says(token("b", "y", finish="stop"))
        assert await drain(again) == "y"

    run(scenario())


def test_an_answer_that_comes_while_the_model_leaves_does_not_hold_the_stop_up() -> None:
    """Who makes room holds the load turn while it stops a model: that model's next worker waits for it."""

    async def scenario() -> None:
        stage = Stage()
        stage.submit("a")
        worker = await stage.ready()
        worker.says(token("a", "x", finish="stop"))
        await stage.until(lambda: not stage.host.busy)
        async with asyncio.timeout(5), stage.load_turn:
            stopping = asyncio.create_task(stage.host.stop())
            await stage.until(lambda: stage.host.state == "stopping")
            late = stage.submit("b")
            await stopping
            assert len(stage.workers) == 1
        second = await stage.ready(1)
        second.says(token("b", "y", finish="stop"))
        assert await drain(late) == "y"

    run(scenario())


def test_a_death_is_news_of_free_memory() -> None:
    async def scenario() -> None:
        stage = Stage()
        stage.submit("a")
        worker = await stage.ready()
        assert stage.num_told_idle == 0
        worker.dies()
        await stage.worker(1)
        assert stage.num_told_idle == 1

    run(scenario())


def test_stop_during_the_load() -> None:
    async def scenario() -> None:
        stage = Stage()
        waiting = asyncio.ensure_future(stage.host.ensure_ready())
        await stage.worker(0)
        await stage.host.stop()
        assert stage.host.state == "unloaded"
        with pytest.raises(ServiceUnavailable):
            await waiting

    run(scenario())


def test_stop_at_once_ends_answers_with_a_clear_error() -> None:
    async def scenario() -> None:
        stage = Stage()
        answer = stage.submit("a")
        (await stage.ready()).says(token("a", "x"))
        await stage.until(lambda: bool(answer._tokens[0]))
        await stage.host.stop(finish_answers=False)
        assert isinstance(await anext(answer), Delta)
        with pytest.raises(ServiceUnavailable):
            await anext(answer)

    run(scenario())


def test_an_unload_under_steady_traffic_ends_and_newcomers_get_the_next_worker() -> None:
    async def scenario() -> None:
        stage = Stage()
        first = stage.submit("a")
        worker = await stage.ready()
        stopping = asyncio.ensure_future(stage.host.stop())
        await asyncio.sleep(0)
        second = stage.submit("b")
        assert [g.request for g in worker.generates] == ["a"]
        worker.says(token("a", "x", finish="stop"))
        assert await drain(first) == "x"
        await stopping
        assert worker.exit_code == 0
        (await stage.ready(1)).says(token("b", "y", finish="stop"))
        assert await drain(second) == "y"

    run(scenario())


def test_an_idle_model_leaves() -> None:
    async def scenario() -> None:
        stage = Stage(idle_timeout_s=0.01)
        answer = stage.submit("a")
        (await stage.ready()).says(token("a", "x", finish="stop"))
        assert await drain(answer) == "x"
        async with asyncio.timeout(5):
            while stage.host.state != "unloaded":
                await asyncio.sleep(0.005)

    run(scenario())


def test_a_slow_reader_gets_one_merged_delta_and_loses_nothing() -> None:
    async def scenario() -> None:
        stage = Stage()
        request = AnswerRequest(TextPrompt("x"), SamplingParams(seed=1), num_choices=2)
        answer = stage.submit("a", request)
        worker = await stage.ready()
        for text in "abc":
            worker.says(Step([Delta("a", 0, [1], text), Delta("a", 1, [2], text.upper())]))
        worker.says(
            token("a", "d", finish="length"),
            Step([Delta("a", 1, [], finish="stop", timings=TIMINGS)]),
        )
        await stage.until(lambda: answer.complete)
        events = [event async for event in answer]
        assert [(e.choice, e.content, e.finish) for e in events if isinstance(e, Delta)] == [
            (0, "abcd", "length"),
            (1, "ABC", "stop"),
        ]

    run(scenario())
