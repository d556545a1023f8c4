"""The service as a process, with the one request that benchmarks make."""

import contextlib
import json
import shutil
import signal
import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import psutil

from tests.helpers.service_process import ServiceProcess

_WORKER_ENDS_S = 30
_MEASURES_S = 240


class Service(ServiceProcess):
    """Runs the service with one model; `threads` 0 leaves them to the service."""

    def __init__(self, model: Path, *, threads: int = 0, flags: tuple[str, ...] = ()) -> None:
        self.flags = (*(("--threads", str(threads)) if threads else ()), *flags)
        super().__init__(model, arguments=("--host", "127.0.0.1", *self.flags))

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Signal, and wait for the service and its workers; kill what does not end. Idempotent.

        A worker that outlives the service would still write into the data folder.
        """
        workers: list[psutil.Process] = []
        with contextlib.suppress(psutil.NoSuchProcess):
            workers = psutil.Process(self.process.pid).children(recursive=True)
        try:
            code = super().stop(number)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        for worker in psutil.wait_procs(workers, timeout=_WORKER_ENDS_S)[1]:
            worker.kill()
        return code

    def load(self) -> None:
        """Load the model, let it measure itself, which it does once in spare time, and load it as the measurements advise."""
        with httpx2.Client(trust_env=False, timeout=300) as client:
            body = {"prompt": "Hello", "max_tokens": 1}
            client.post(f"{self.base_url}/v1/completions", json=body).raise_for_status()
            deadline = time.monotonic() + _MEASURES_S
            while time.monotonic() < deadline:
                (model,) = client.get(f"{self.base_url}/api/models").json()["models"]
                if any(reason.startswith("measured without flash") for reason in model["reasons"]):
                    break
                time.sleep(0.1)
            client.post(f"{self.base_url}/api/models/unload", json={"model": model["id"]})
            client.post(f"{self.base_url}/v1/completions", json=body).raise_for_status()

    def restart(self) -> None:
        """End it and start it again on the same data folder."""
        self.stop()
        shutil.rmtree(self.data_folder / "models")  # links, which starting makes
        self.__enter__()

    @staticmethod
    def client() -> httpx2.AsyncClient:
        """Make it before the clock starts: reading the certificates alone takes 30 ms."""
        return httpx2.AsyncClient(trust_env=False, timeout=300)

    async def stream(
        self, client: httpx2.AsyncClient, body: dict[str, Any]
    ) -> AsyncIterator[dict[str, Any]]:
        """Chunks of a streamed `/v1/completions`."""
        url = f"{self.base_url}/v1/completions"
        async with client.stream("POST", url, json={**body, "stream": True}) as reply:
            assert reply.status_code == 200, await reply.aread()
            async for line in reply.aiter_lines():
                if line.startswith("data: {"):
                    chunk = json.loads(line[6:])
                    if chunk["choices"]:
                        yield chunk
