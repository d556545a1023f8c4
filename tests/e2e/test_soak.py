"""Twenty minutes of everything at once: answers, cancel storms, hints, schemas, overload, reloads. Memory stays flat.

`INGLENOOK_SOAK_S` sets the seconds. The tiny model: what is looked for is in our code, not in the kernels.
"""

import asyncio
import os
import random
import statistics
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import httpx2
import psutil
import pytest

from tests.helpers.service_process import ServiceProcess
from tests.helpers.tiny_llama import write_tiny_llama

SECONDS = float(os.environ.get("INGLENOOK_SOAK_S", "1200"))
CLIENTS = 6
CYCLES = 10
"""Loads of the model; memory is compared between cycles."""
MOST_GROWTH = 1.03
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(SECONDS + 300)]


class Soak:
    """Clients that do what users do, all at once, at random with a fixed seed."""

    def __init__(self, service: ServiceProcess, http: httpx2.AsyncClient) -> None:
        self.base = service.base_url
        self.http = http
        self.process = psutil.Process(service.process.pid)
        self.outcomes: Counter[str] = Counter()
        self.service_bytes: list[int] = []
        self.worker_bytes: list[list[int]] = []
        """Samples of each cycle."""

    async def client(self, number: int, end: float) -> None:
        chance = random.Random(number)
        turns = [{"role": "user", "content": f"client {number} "}]
        while time.monotonic() < end:
            act = chance.choices(
                (self.answer, self.cancel, self.hint, self.schema, self.overflow),
                (6, 6, 3, 2, 1),
            )[0]
            try:
                await act(chance, turns)
            except httpx2.HTTPError as error:
                self.outcomes[f"{act.__name__}: {type(error).__name__}"] += 1
            if len(turns) > 12:
                turns[:] = turns[:1]

    async def answer(self, chance: random.Random, turns: list[dict[str, str]]) -> None:
        body = {
            "messages": turns,
            "max_tokens": chance.randrange(1, 60),
            "n": chance.choice((1, 2)),
        }
        reply = await self._post("/v1/chat/completions", body)
        if reply.status_code == 200:
            text = reply.json()["choices"][0]["message"]["content"]
            turns += [{"role": "assistant", "content": text}, {"role": "user", "content": "and? "}]

    async def cancel(self, chance: random.Random, turns: list[dict[str, str]]) -> None:
        long = {"role": "user", "content": "x y " * chance.randrange(1, 300)}
        body = {"messages": [*turns, long], "stream": True, "ignore_eos": True}
        with suppress(TimeoutError):
            async with asyncio.timeout(chance.random() * 0.5):
                async with self.http.stream(
                    "POST", f"{self.base}/v1/chat/completions", json=body
                ) as reply:
                    async for _ in reply.aiter_lines():
                        pass
        self.outcomes["cancelled"] += 1

    async def hint(self, chance: random.Random, turns: list[dict[str, str]]) -> None:
        typed = {"role": "user", "content": "typing " * chance.randrange(1, 40)}
        await self._post("/api/prefill", {"messages": [*turns[:-1], typed]})

    async def schema(self, chance: random.Random, turns: list[dict[str, str]]) -> None:
        form = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}
        await self._post(
            "/v1/chat/completions",
            {"messages": turns, "response_format": form, "max_tokens": 40},
        )

    async def overflow(self, chance: random.Random, turns: list[dict[str, str]]) -> None:
        body = {"prompt": "z" * chance.randrange(300, 900), "max_tokens": 200, "ignore_eos": True}
        replies = [self._post("/v1/completions", body) for _ in range(4)]
        await asyncio.gather(*replies)

    async def _post(self, path: str, body: dict[str, object]) -> httpx2.Response:
        reply = await self.http.post(f"{self.base}{path}", json=body)
        self.outcomes[f"{path} {reply.status_code}"] += 1
        return reply

    async def reload(self, end: float) -> None:
        """New workers, in the middle of everything."""
        while True:
            self.worker_bytes.append([])
            await self._sample(min(end, time.monotonic() + SECONDS / CYCLES))
            if time.monotonic() >= end:
                return
            await self._post("/api/models/unload", {"model": "tiny"})

    async def _sample(self, until: float) -> None:
        while time.monotonic() < until:
            await asyncio.sleep(min(2.0, SECONDS / 200))
            self.service_bytes.append(self.process.memory_info().rss)
            for worker in self.process.children():
                with suppress(psutil.Error):
                    self.worker_bytes[-1].append(worker.memory_info().rss)


def test_everything_at_once_for_twenty_minutes(tmp_path: Path) -> None:
    model = write_tiny_llama(tmp_path / "tiny.gguf", n_ctx=1024)
    service = ServiceProcess(model, arguments=("--host", "127.0.0.1", "--context", "1024"))
    config = service.data_folder / "config"
    config.mkdir()
    (config / "settings.toml").write_text("[models]\nkeep_memory_mib = 4\nkeep_disk_mib = 16\n")
    with service:
        soak = asyncio.run(_run(service))
        assert service.process.poll() is None
    broken = {name: n for name, n in soak.outcomes.items() if name.split()[-1].startswith("5")}
    assert not broken, soak.outcomes
    assert soak.outcomes["/v1/chat/completions 200"] > SECONDS / 4
    assert soak.outcomes["cancelled"] > SECONDS / 4
    twentieth = len(soak.service_bytes) // 20
    parts = [soak.service_bytes[i : i + twentieth] for i in range(0, 20 * twentieth, twentieth)]
    print("service, MB:", [round(statistics.median(part) / 1e6, 1) for part in parts])
    print("workers, MB:", [round(statistics.median(c) / 1e6, 1) for c in soak.worker_bytes if c])
    fifth = len(soak.service_bytes) // 5
    early = statistics.median(soak.service_bytes[fifth : 2 * fifth])
    late = statistics.median(soak.service_bytes[-fifth:])
    assert late <= MOST_GROWTH * early, (early, late)
    # each worker at the end of its cycle, when all that is kept has been kept
    ends = [statistics.median(cycle[-5:]) for cycle in soak.worker_bytes if len(cycle) > 5]
    assert len(ends) >= CYCLES // 2
    assert ends[-1] <= MOST_GROWTH * max(ends[:2]), ends
    used = sum(f.stat().st_size for f in (service.data_folder / "cache").rglob("*.kv"))
    assert used <= 17 << 20


async def _run(service: ServiceProcess) -> Soak:
    end = time.monotonic() + SECONDS
    async with httpx2.AsyncClient(trust_env=False, timeout=120) as http:
        soak = Soak(service, http)
        await asyncio.gather(soak.reload(end), *(soak.client(i, end) for i in range(CLIENTS)))
    return soak
