"""Reading ahead beside answers: scripted workers, no processes, no sleeps."""

import asyncio
from typing import Any

import pytest

from engine.ipc.messages import Abort, Accepted, ChatPrompt, Delta, Exit, Failed, Step, TextPrompt
from engine.supervisor.answer import AnswerRequest
from engine.supervisor.next_turn import next_turn_after, reading_of
from engine.supervisor.reading_ahead import goes_on
from engine.types import SamplingParams
from tests.unit.test_supervisor_host import TIMINGS, ScriptedWorker, Stage, drain, run, token

QUESTION = [{"role": "user", "content": "Why?"}]


def hint(text: str) -> AnswerRequest:
    return reading_of(ChatPrompt([{"role": "user", "content": text}]), "k")


HINT = hint("Why?")
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


def test_another_text_takes_the_place_of_the_running_one() -> None:
    async def scenario() -> None:
        stage = Stage()
        worker = await loaded(stage)
        stage.host.read_ahead(hint("First. " * 10))
        stage.host.read_ahead(hint("Second. " * 10))
        stage.host.read_ahead(hint("Third. " * 10))
        assert (
            len(worker.generates) == 1
        )  # one at a time in line before those that somebody waits for
        first = worker.generates[0].request
        worker.says(Accepted(first, [1]))
        await stage.until(lambda: len(worker.generates) == 2)
        assert aborted(worker) == [first]
        assert worker.generates[1].prompt == hint("Third. " * 10).prompt
        worker.says(read(first))  # its end was on its way
        stage.host.read_ahead(hint("Fourth. " * 10))
        second = worker.generates[1].request
        worker.says(Accepted(second, [1]))
        await stage.until(lambda: len(worker.generates) == 3)
        assert aborted(worker) == [first, second]

    run(scenario())


def test_the_same_text_with_more_behind_it_waits_for_the_running_one() -> None:
    async def scenario() -> None:
        stage = Stage()
        worker = await loaded(stage)
        stage.host.read_ahead(HINT)
        (first,) = (message.request for message in worker.generates)
        worker.says(Accepted(first, [1]))
        for longer in ("Why not", "Why not here"):
            stage.host.read_ahead(hint(longer))
        worker.says(read(first))
        await stage.until(lambda: len(worker.generates) == 2)
        assert not aborted(worker)
        assert worker.generates[1].prompt == hint("Why not here").prompt
        worker.says(read(worker.generates[1].request))
        await stage.until(lambda: stage.host._ahead.idle)

    run(scenario())


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("", "Why", True),
        ("Why should I wa", "Why should I wait", True),
        ("Why should I wati", "Why should I wait", True),  # the end was corrected
        ("x" * 100 + "end", "x" * 90 + "other", True),
        ("x" * 100, "x" * 50, False),
        ("x" * 100, "y" * 100, False),
    ],
)
def test_what_goes_on(before: str, after: str, expected: bool) -> None:
    assert goes_on(hint(before).prompt, hint(after).prompt) is expected
    turns = [*QUESTION, {"role": "assistant", "content": "So."}]
    elsewhere = ChatPrompt([*turns, {"role": "user", "content": after}])
    assert not goes_on(hint(before).prompt, elsewhere)


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
        await stage.until(lambda: stage.host._ahead.idle)
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
