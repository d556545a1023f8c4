"""GET /metrics: a text that Prometheus reads, and figures that move with the requests."""

import asyncio
import re
from itertools import pairwise
from typing import Any

import httpx2

from engine.errors import ContextOverflow
from engine.supervisor.answer import AnswerRequest
from tests.helpers.in_process import with_app
from tests.helpers.scripted_engine import PROMPT_TOKENS, ScriptedEngine, say

Samples = dict[str, float]
_SAMPLE = re.compile(r'([a-zA-Z_:][\w:]*)(\{(?:\w+="(?:[^"\\\n]|\\[\\"n])*",?)*\})? (\S+)')
_LIMIT = re.compile(r'le="([^"]*)"')


def read(text: str) -> Samples:
    """Check the text format strictly; sample as written → value."""
    assert text.endswith("\n")
    samples: Samples = {}
    kinds: dict[str, str] = {}
    family = ""
    for line in text.splitlines():
        if line.startswith("# HELP "):
            family = line.split(" ", 3)[2]
            assert family not in kinds, "a family stands in two places"
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == family
            assert kind in ("counter", "gauge", "histogram")
            kinds[name] = kind
        else:
            match = _SAMPLE.fullmatch(line)
            assert match, line
            name, labels, value = match.groups()
            suffix = name.removeprefix(family)
            assert suffix in (
                ("_bucket", "_sum", "_count") if kinds[family] == "histogram" else ("",)
            )
            assert name + (labels or "") not in samples
            samples[name + (labels or "")] = float(value)
    for name, kind in kinds.items():
        assert (kind == "counter") is name.endswith("_total")
    _check_histograms(samples)
    return samples


def _check_histograms(samples: Samples) -> None:
    series: dict[str, list[tuple[float, float]]] = {}
    for name, value in samples.items():
        if limit := _LIMIT.search(name):
            series.setdefault(_LIMIT.sub("", name), []).append((float(limit[1]), value))
    for name, buckets in series.items():
        for (low, fewer), (high, more) in pairwise(buckets):
            assert low < high
            assert fewer <= more
        assert buckets[-1][0] == float("inf")
        count = name.replace("_bucket{", "_count{").replace(",}", "}")
        assert samples[count] == buckets[-1][1]


async def scrape(http: httpx2.AsyncClient, **headers: str) -> Samples:
    reply = await http.get("/metrics", headers=headers)
    assert reply.status_code == 200
    assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return read(reply.text)


def ask(**fields: Any) -> dict[str, Any]:
    return {"model": "tiny", "messages": [{"role": "user", "content": "Hi"}], **fields}


def test_a_service_that_has_done_nothing() -> None:
    async def test(http: httpx2.AsyncClient, _: ScriptedEngine) -> None:
        samples = await scrape(http)
        assert samples["inglenook_loaded_models"] == 0
        assert samples['inglenook_info{version="1.2"}'] == 1
        assert samples["process_start_time_seconds"] > 1e9
        assert samples["llamacpp:prompt_tokens_seconds"] == 0
        assert not any("model=" in name for name in samples)

    with_app(test, version="1.2")


def test_figures_move_with_the_requests() -> None:
    async def test(http: httpx2.AsyncClient, engine: ScriptedEngine) -> None:
        await engine.load("tiny")
        for stream in (False, True):
            reply = await http.post("/v1/chat/completions", json=ask(stream=stream))
            assert reply.status_code == 200
        engine.script = say("a", finish="length")
        await http.post("/v1/completions", json={"model": "tiny", "prompt": "x", "n": 2})
        samples = await scrape(http)
        assert samples['inglenook_requests_total{model="tiny",outcome="stop"}'] == 2
        assert samples['inglenook_requests_total{model="tiny",outcome="length"}'] == 1
        assert samples['inglenook_prompt_tokens_total{model="tiny",source="restored"}'] == 0
        computed = samples['inglenook_prompt_tokens_total{model="tiny",source="computed"}']
        reused = samples['inglenook_prompt_tokens_total{model="tiny",source="reused"}']
        assert (computed, reused) == (3 * (PROMPT_TOKENS - 3), 3 * 3)
        assert samples['inglenook_completion_tokens_total{model="tiny"}'] == 3 + 3 + 2
        assert samples['inglenook_prefill_seconds_count{model="tiny"}'] == 3
        assert samples['inglenook_first_token_seconds_count{model="tiny"}'] == 3
        assert samples['inglenook_prefill_seconds_bucket{model="tiny",le="0.01"}'] == 0
        assert samples['inglenook_prefill_seconds_bucket{model="tiny",le="0.025"}'] == 3
        assert samples["inglenook_loaded_models"] == 1
        assert samples['inglenook_resident_bytes{model="tiny"}'] == 0
        assert samples["llamacpp:prompt_tokens_total"] == computed
        assert samples["llamacpp:tokens_predicted_total"] == 8
        assert round(samples["llamacpp:tokens_predicted_seconds_total"], 6) == 0.3
        assert round(samples["llamacpp:predicted_tokens_seconds"], 3) == round(8 / 0.3, 3)
        assert samples["llamacpp:requests_processing"] == 0

    with_app(test)


def test_running_and_waiting_are_seen_while_they_are() -> None:
    seen: list[Samples] = []

    async def test(http: httpx2.AsyncClient, engine: ScriptedEngine) -> None:
        gate, reading = asyncio.Event(), asyncio.Event()

        def gated(request: AnswerRequest) -> Any:
            accepted, begun, *rest = say("x")(request)
            yield accepted
            yield gate
            yield begun
            yield reading
            yield from rest

        engine.script = gated
        answer = asyncio.ensure_future(http.post("/v1/chat/completions", json=ask()))
        await engine.until(lambda: bool(engine.running))
        seen.append(await scrape(http))
        gate.set()
        async with asyncio.timeout(5):
            while not (now := await scrape(http))["llamacpp:requests_processing"]:
                await asyncio.sleep(0)
        seen.append(now)
        reading.set()
        assert (await answer).status_code == 200
        seen.append(await scrape(http))

    with_app(test)
    deferred = [samples["llamacpp:requests_deferred"] for samples in seen]
    processing = [samples["llamacpp:requests_processing"] for samples in seen]
    assert (deferred, processing) == ([1, 0, 0], [0, 1, 0])
    assert seen[0]['inglenook_waiting_answers{model="tiny"}'] == 1
    assert seen[1]['inglenook_running_answers{model="tiny"}'] == 1


def test_what_goes_wrong_is_counted_apart() -> None:
    async def test(http: httpx2.AsyncClient, engine: ScriptedEngine) -> None:
        await http.post("/v1/chat/completions", json=ask(model="none-such"))
        engine.script = lambda _: [ContextOverflow("Too long.", prompt_tokens=9, limit=5)]
        assert (await http.post("/v1/chat/completions", json=ask())).status_code == 400
        engine.script = lambda _: ["a", "b", ContextOverflow("Full.", prompt_tokens=9, limit=5)]
        assert (await http.post("/v1/chat/completions", json=ask(stream=True))).status_code == 200
        samples = await scrape(http)
        assert samples['inglenook_requests_total{model="",outcome="error"}'] == 1
        assert samples['inglenook_requests_total{model="tiny",outcome="error"}'] == 2
        assert samples['inglenook_completion_tokens_total{model="tiny"}'] == 2
        assert not any("none-such" in name for name in samples)  # anybody could fill the page

    with_app(test)


def test_names_of_models_are_escaped() -> None:
    async def test(http: httpx2.AsyncClient, _: ScriptedEngine) -> None:
        await http.post("/v1/chat/completions", json=ask(model='a"b\\c\nd'))
        samples = await scrape(http)
        assert samples[r'inglenook_requests_total{model="a\"b\\c\nd",outcome="stop"}'] == 1

    with_app(test, ScriptedEngine(models=['a"b\\c\nd']))


def test_the_door_is_as_everywhere() -> None:
    async def test(http: httpx2.AsyncClient, _: ScriptedEngine) -> None:
        assert (await http.get("/metrics")).status_code == 401
        assert await scrape(http, authorization="Bearer k")
        assert (
            await http.post("/metrics", headers={"authorization": "Bearer k"})
        ).status_code == 405

    with_app(test, api_keys=("k",))
