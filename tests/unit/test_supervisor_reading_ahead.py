"""Reading ahead beside answers: scripted workers, no processes, no sleeps."""

import asyncio
from typing import Any

import pytest

from engine.ipc.messages import Abort, ChatPrompt, Delta, Exit, Failed, Step, TextPrompt
from engine.supervisor.answer import AnswerRequest
from engine.supervisor.reading_ahead import next_turn_after, reading_of
from engine.types import SamplingParams
from tests.unit.test_supervisor_host import TIMINGS, ScriptedWorker, Stage, drain, run, token

QUESTION = [{"role": "user", "content": "Why?"}]
HINT = reading_of(ChatPrompt(QUESTION), "k")
CHAT = AnswerRequest(ChatPrompt(QUESTION), SamplingParams(seed=1), cache_key="k")


def aborted(worker: ScriptedWorker) -> list[str]:
    return [m.request for m in worker.sent if isinstance(m, Abort)]


def read(request: str) -> Step:
    return Step([Delta(request, 0, [], finish="length", timings=TIMINGS)])


async def loaded(stage: Stage) -> ScriptedWorker:
    loading = asyncio.ensure_future(stage.host.ensure_ready())
    worker = await stage.ready()
    await loading
    return worker


def test_nothing_is_read_without_a_loaded_model() -> None:
    async def scenario() -> None:
        stage = Stage()
        assert not stage.host.read_ahead(HINT)
        assert stage.host.state == "unloaded"
        stage.submit("a")
        assert not stage.host.read_ahead(HINT)  # it is being loaded
        await stage.ready()
        assert stage.host.read_ahead(HINT)

    run(scenario())


def test_a_newer_hint_replaces_the_running_one() -> None:
    async def scenario() -> None:
        stage = Stage()
        worker = await loaded(stage)
        stage.host.read_ahead(HINT)
        stage.host.read_ahead(HINT)
        first, second = (message.request for message in worker.generates)
        assert aborted(worker) == [first]
        worker.says(read(first), read(second))  # the first one's end was on its way
        await stage.until(lambda: not stage.host._reading_ahead)
        stage.host.read_ahead(HINT)
        assert aborted(worker) == [first]

    run(scenario())


def test_it_is_no_answer_and_an_answer_ends_it() -> None:
    async def scenario() -> None:
        stage = Stage()
        worker = await loaded(stage)
        stage.host.read_ahead(HINT)
        assert not stage.host.busy
        (reading,) = (message.request for message in worker.generates)
        stage.submit("a")
        assert [type(m).__name__ for m in worker.sent] == ["Load", "Generate", "Abort", "Generate"]
        assert aborted(worker) == [reading]

    run(scenario())


def test_a_model_is_unloaded_as_idle_in_mid_reading() -> None:
    async def scenario() -> None:
        stage = Stage(idle_timeout_s=0)
        worker = await loaded(stage)
        stage.host.read_ahead(HINT)
        await stage.until(lambda: stage.host.state == "unloaded")
        assert aborted(worker) == [worker.generates[0].request]
        assert not stage.host.read_ahead(HINT)

    run(scenario())


def test_stopping_ends_it_first() -> None:
    async def scenario() -> None:
        stage = Stage()
        worker = await loaded(stage)
        stage.host.read_ahead(HINT)
        async with asyncio.timeout(5):
            await stage.host.stop(finish_answers=False)
        assert isinstance(worker.sent[-1], Abort | Exit)
        assert stage.host.state == "unloaded"

    run(scenario())


def test_a_worker_that_dies_of_it_is_not_started_again() -> None:
    async def scenario() -> None:
        stage = Stage()
        worker = await loaded(stage)
        stage.host.read_ahead(HINT)
        worker.dies()
        await stage.until(lambda: stage.host.state == "unloaded")
        assert len(stage.workers) == 1

    run(scenario())


def test_a_worker_after_a_death_reads_nothing_ahead_until_a_token_came() -> None:
    async def scenario() -> None:
        stage = Stage()
        answer = stage.submit("a")
        (await stage.ready()).dies()
        second = await stage.ready(1)
        assert not stage.host.read_ahead(HINT)
        second.says(token("a", "x"))
        await stage.until(lambda: not stage.host.has_died)
        assert stage.host.read_ahead(HINT)
        second.says(token("a", "y", finish="stop"))
        assert await drain(answer) == "xy"

    run(scenario())


def test_a_failed_hint_is_quiet() -> None:
    async def scenario() -> None:
        stage = Stage()
        worker = await loaded(stage)
        stage.host.read_ahead(HINT)
        error: dict[str, Any] = {"code": "context_overflow", "message": "Too long."}
        worker.says(Failed(worker.generates[0].request, error))
        await stage.until(lambda: not stage.host._reading_ahead)
        assert (stage.host.state, stage.host.problem) == ("ready", None)

    run(scenario())


def test_after_an_answer_the_next_turn_is_read() -> None:
    async def scenario() -> None:
        stage = Stage()
        answer = stage.submit("a", CHAT)
        worker = await stage.ready()
        worker.says(token("a", "N"), token("a", "o", finish="stop"))
        assert await drain(answer) == "No"
        assert not stage.host.busy
        assert stage.num_told_idle
        _, reading = worker.generates
        assert (reading.reads_only, reading.priority, reading.cache_key) == (True, 2, "k")
        assert isinstance(reading.prompt, ChatPrompt)
        assert reading.prompt.messages == [
            *QUESTION,
            {"role": "assistant", "content": "No"},
            {"role": "user", "content": ""},
        ]

    run(scenario())


@pytest.mark.parametrize("finish", ["length", "stop"])
def test_the_next_turn_waits_for_nobody_else_and_for_a_real_end(finish: Any) -> None:
    async def scenario() -> None:
        stage = Stage()
        answer, neighbour = stage.submit("a", CHAT), stage.submit("b", CHAT)
        worker = await stage.ready()
        worker.says(token("a", "N", finish=finish))
        await drain(answer)
        assert len(worker.generates) == 2  # the neighbour is still being written
        worker.says(token("b", "N", finish="length"))
        await drain(neighbour)
        assert len(worker.generates) == 2

    run(scenario())


def test_what_somebody_types_is_not_replaced_by_the_next_turn() -> None:
    async def scenario() -> None:
        stage = Stage()
        answer = stage.submit("a", CHAT)
        worker = await stage.ready()
        stage.host.read_ahead(HINT)
        worker.says(token("a", "N", finish="stop"))
        await drain(answer)
        assert [message.reads_only for message in worker.generates] == [False, True]
        assert not aborted(worker)

    run(scenario())


def test_no_next_turn_is_expected() -> None:
    sampling = SamplingParams()
    assert next_turn_after(AnswerRequest(TextPrompt("x"), sampling), "y") is None
    several = AnswerRequest(ChatPrompt(QUESTION), sampling, num_choices=2)
    assert next_turn_after(several, "y") is None
    assert next_turn_after(CHAT, " \n") is None  # all of it was thought


def test_an_answer_that_was_gone_on_with_is_one_message() -> None:
    messages = [
        *QUESTION,
        {"role": "assistant", "content": "Because ", "reasoning_content": "hm"},
    ]
    prompt = ChatPrompt(messages, template_args={"a": 1}, continue_final=True)
    following = next_turn_after(AnswerRequest(prompt, SamplingParams()), "of that.")
    assert following is not None
    assert following.prompt == ChatPrompt(
        [
            *QUESTION,
            {"role": "assistant", "content": "Because of that."},
            {"role": "user", "content": ""},
        ],
        template_args={"a": 1},
    )
