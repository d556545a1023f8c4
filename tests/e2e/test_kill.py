"""`kill -9` of the worker at random moments of load, prefill and answer: what was written stands once."""

import contextlib
import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from openai import APIError, APIStatusError, OpenAI

from tests.helpers.fake_service import FakeService, fake_service

PROMPT = "word " * 60
NUM_KILLS = 20


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeService]:
    options = {"load_seconds": 0.05, "seconds_per_step": 0.004, "seconds_per_row": 0.0003}
    with fake_service(tmp_path_factory.mktemp("models"), **options) as running:
        yield running


def ask(service: FakeService, *, seed: int, num_tokens: int = 100) -> tuple[str, str]:
    """The streamed text, and the finish reason or the error's code."""
    text, finish = "", ""
    with OpenAI(base_url=f"{service.url}/v1", api_key="x", max_retries=0) as client:
        try:
            stream = client.chat.completions.create(
                model="m",
                messages=[{"role": "user", "content": PROMPT}],
                max_tokens=num_tokens,
                seed=seed,
                temperature=0.9,
                stream=True,
            )
            for chunk in stream:
                for choice in chunk.choices:
                    text += choice.delta.content or ""
                    finish = choice.finish_reason or finish
        except APIError as error:
            return text, str(error.code)
    return text, finish


def kill_worker(service: FakeService) -> bool:
    """Kill the worker that is there now; False if there is none."""
    host = service.supervisor._hosts.get("m")
    pid = host.pid if host else None
    if pid is None:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    return True


@pytest.mark.timeout(180)
def test_answers_are_token_identical_whenever_the_worker_is_killed(service: FakeService) -> None:
    random_moments = random.Random(11)
    pause = threading.Event()
    phases = Counter[str]()
    num_ended = 0
    for seed in range(60):
        truth, finish = ask(service, seed=seed)
        assert finish == "length"
        assert len(truth) == 100
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(ask, service, seed=seed)
            # one kill while it reads or writes (an answer takes 0.5 s), one in the load that follows
            for latest in (0.4, 0.2):
                pause.wait(random_moments.uniform(0.0, latest))
                state = service.state()
                if not answer.done() and kill_worker(service):
                    phases[state] += 1
            text, end = answer.result(60)
        if end == "worker_crashed":
            # both moments fell into its prefill: no token in between, so it was ended as a suspect
            assert phases["ready"] >= 2
            num_ended += 1
            assert truth.startswith(text)
        else:
            assert (text, end) == (truth, "length")
        if phases.total() >= NUM_KILLS:
            break
    assert phases.total() >= NUM_KILLS
    assert phases["ready"] > 0
    assert phases["loading"] > 0
    assert num_ended < NUM_KILLS / 4


def test_several_answers_at_once_survive_the_same_kill(service: FakeService) -> None:
    truths = [ask(service, seed=seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        answers = [pool.submit(ask, service, seed=seed) for seed in range(4)]
        threading.Event().wait(0.2)
        assert kill_worker(service)
        assert [answer.result(60) for answer in answers] == truths


def test_a_request_that_kills_workers_ends_with_a_clear_error(tmp_path: Path) -> None:
    with fake_service(tmp_path, kill_on_token=ord("~"), seconds_per_step=0.01) as service:
        client = OpenAI(base_url=f"{service.url}/v1", api_key="x", max_retries=0)
        with ThreadPoolExecutor(1) as pool:
            good = pool.submit(ask, service, seed=1, num_tokens=60)
            with pytest.raises(APIStatusError) as caught:
                client.completions.create(model="m", prompt="a ~ b", max_tokens=5)
            assert caught.value.status_code == 502
            assert "twice" in caught.value.message
            assert good.result(60) == ask(service, seed=1, num_tokens=60)
        client.close()


def test_workers_end_with_the_service(tmp_path: Path) -> None:
    with fake_service(tmp_path) as service:
        ask(service, seed=1, num_tokens=3)
        worker = psutil.Process(service.worker_pid())
    worker.wait(timeout=10)
