"""Several models in one service: swaps, eviction, idle time-out, unloading, choices of a default."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from openai import BadRequestError, NotFoundError, OpenAI

from engine.hardware.probe import Hardware, probe
from tests.helpers.fake_service import FakeService, fake_service

MIB = 1 << 20


def ask(service: FakeService, model: str | None, *, num_tokens: int = 5) -> tuple[str, str]:
    with OpenAI(base_url=f"{service.url}/v1", api_key="x", max_retries=0) as client:
        reply = client.completions.create(
            model=model,  # type: ignore[arg-type]
            prompt="hello",
            max_tokens=num_tokens,
            seed=1,
        )
        return reply.model, reply.choices[0].text


def api(service: FakeService, method: str, path: str, **body: object) -> httpx2.Response:
    with httpx2.Client(trust_env=False, timeout=60) as http:
        return http.request(method, service.url + path, json=body or None)


def states(service: FakeService) -> dict[str, str]:
    models = api(service, "GET", "/api/models").json()["models"]
    return {model["id"]: model["state"] for model in models}


def room_for_one(service_box: list[FakeService]) -> Hardware:
    """A machine on which a second worker never fits."""
    hosts = service_box[0].supervisor._hosts.values() if service_box else []
    loaded = any(host.pid for host in hosts)
    hardware = probe()
    available = (100 if loaded else 260) * MIB  # a worker needs about 123
    return replace(hardware, memory=replace(hardware.memory, available=available, limit=None))


def test_two_clients_alternate_between_two_models_and_each_is_answered_by_its_own(
    tmp_path: Path,
) -> None:
    box: list[FakeService] = []
    with fake_service(tmp_path, models=("a", "b"), probe=lambda: room_for_one(box)) as service:
        box.append(service)
        with ThreadPoolExecutor(2) as pool:
            turns = [("a", "b")[i % 2] for i in range(8)]
            replies = list(pool.map(lambda model: ask(service, model), turns))
        assert [model for model, _ in replies] == turns
        assert all(len(text) == 5 for _, text in replies)
        assert sorted(states(service).values()) == ["ready", "unloaded"]


def test_a_model_with_work_is_waited_for_and_not_evicted(tmp_path: Path) -> None:
    box: list[FakeService] = []
    with fake_service(
        tmp_path, models=("a", "b"), probe=lambda: room_for_one(box), seconds_per_step=0.02
    ) as service:
        box.append(service)
        with ThreadPoolExecutor(2) as pool:
            slow = pool.submit(ask, service, "a", num_tokens=50)
            service.worker_pid("a")
            quick = pool.submit(ask, service, "b")
            assert slow.result(60)[0] == "a"
            assert len(slow.result()[1]) == 50
            assert quick.result(60)[0] == "b"


def test_a_model_that_always_has_work_lets_another_in(tmp_path: Path) -> None:
    """Overlapping requests keep the first model busy for ever; each of them is answered, and so is the second's."""
    box: list[FakeService] = []
    over = threading.Event()
    with fake_service(
        tmp_path,
        models=("a", "b"),
        probe=lambda: room_for_one(box),
        patience_s=0.3,
        seconds_per_step=0.02,
    ) as service:
        box.append(service)

        def keep_busy(num_tokens: int) -> list[int]:
            texts = []
            while not over.is_set() and len(texts) < 100:
                texts.append(ask(service, "a", num_tokens=num_tokens)[1])
            return [len(text) - num_tokens for text in texts]

        with ThreadPoolExecutor(5) as pool:
            busy = [pool.submit(keep_busy, num_tokens) for num_tokens in (21, 27, 33, 39)]
            service.worker_pid("a")
            try:
                quick = pool.submit(ask, service, "b")
                assert len(quick.result(20)[1]) == 5
            finally:
                over.set()
            missing = [tokens for task in busy for tokens in task.result(30)]
        assert not any(missing)


def test_a_busy_model_whose_worker_dies_ends_its_answer_although_another_waits_for_its_memory(
    tmp_path: Path,
) -> None:
    box: list[FakeService] = []
    planned = threading.Semaphore(0)

    def look() -> Hardware:
        planned.release()
        return room_for_one(box)

    with fake_service(tmp_path, models=("a", "b"), probe=look, seconds_per_step=0.02) as service:
        box.append(service)
        with ThreadPoolExecutor(2) as pool:
            slow = pool.submit(ask, service, "a", num_tokens=100)
            pid = service.worker_pid("a")
            quick = pool.submit(ask, service, "b")
            assert planned.acquire(timeout=10)
            assert planned.acquire(timeout=10)
            os.kill(pid, signal.SIGKILL)
            assert len(slow.result(30)[1]) == 100
            assert len(quick.result(30)[1]) == 5


def test_two_that_never_fit_do_not_wait_for_each_other(tmp_path: Path) -> None:
    def nothing_free() -> Hardware:
        hardware = probe()
        return replace(hardware, memory=replace(hardware.memory, available=10 * MIB))

    with (
        fake_service(tmp_path, models=("a", "b"), probe=nothing_free) as service,
        ThreadPoolExecutor(2) as pool,
    ):
        loads = [pool.submit(api, service, "POST", "/api/models/load", model=m) for m in "ab"]
        assert [load.result(30).status_code for load in loads] == [507, 507]


def test_a_model_that_never_fits_is_a_clear_error(tmp_path: Path) -> None:
    def nothing_free() -> Hardware:
        hardware = probe()
        return replace(hardware, memory=replace(hardware.memory, available=10 * MIB))

    with fake_service(tmp_path, probe=nothing_free) as service:
        reply = api(service, "POST", "/api/models/load", model="m")
        assert reply.status_code == 507
        assert reply.json()["error"]["code"] == "out_of_memory"
        assert states(service) == {"m": "failed"}


def test_load_unload_and_idle_time_out(tmp_path: Path) -> None:
    with fake_service(tmp_path, idle_timeout_s=0.3) as service:
        assert api(service, "POST", "/api/models/load", model="m").json()["state"] == "ready"
        assert api(service, "POST", "/api/models/unload", model="m").json()["state"] == "unloaded"
        assert api(service, "POST", "/api/models/unload", model="m").status_code == 200
        ask(service, "m")
        for _ in range(100):
            if states(service) == {"m": "unloaded"}:
                break
            threading.Event().wait(0.05)
        assert states(service) == {"m": "unloaded"}


def test_requests_without_a_model(tmp_path: Path) -> None:
    with fake_service(tmp_path, models=("a", "b")) as service:
        with pytest.raises(BadRequestError, match="several"):
            ask(service, "")
        ask(service, "b")
        assert ask(service, "")[0] == "b"  # the loaded one
        with pytest.raises(NotFoundError, match="a, b"):
            ask(service, "no-such-99b")
        assert ask(service, "b.gguf")[0] == "b"


def test_leaving_during_the_load_frees_the_request(tmp_path: Path) -> None:
    with fake_service(tmp_path, load_seconds=1.0) as service:
        with pytest.raises(httpx2.TimeoutException), httpx2.Client(trust_env=False) as http:
            http.post(
                f"{service.url}/v1/completions", json={"model": "m", "prompt": "x"}, timeout=0.3
            )
        for _ in range(100):
            if not service.supervisor._hosts["m"]._answers:
                break
            threading.Event().wait(0.02)
        assert not service.supervisor._hosts["m"]._answers
        assert ask(service, "m")[0] == "m"
