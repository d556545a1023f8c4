"""`--serve` as a process, for benchmarks and end-to-end checks."""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx2


class Service:
    """Runs the service on a free port with a library of one model."""

    def __init__(self, model: Path, *, threads: int) -> None:
        self._model = model
        self._threads = threads
        self._folder = tempfile.TemporaryDirectory()
        self.base_url = ""
        self.process: subprocess.Popen[str] | None = None
        self.seconds_to_health = 0.0

    def __enter__(self) -> Self:
        """Start; ready when /health answers."""
        models = Path(self._folder.name) / "models"
        models.mkdir()
        (models / self._model.name).symlink_to(self._model)
        started = time.perf_counter()
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "app",
                "--data-dir",
                self._folder.name,
                "--serve",
                "--port",
                "0",
                "--host",
                "127.0.0.1",
                "--threads",
                str(self._threads),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if not os.environ.get("BENCH_LOG") else None,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.base_url = line.split()[-1]
        for _ in range(200):
            try:
                with urllib.request.urlopen(f"{self.base_url}/health", timeout=5) as reply:
                    assert reply.status == 200
                    break
            except urllib.error.URLError:
                time.sleep(0.01)
        self.seconds_to_health = time.perf_counter() - started
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        assert self.process is not None
        self.process.terminate()
        self.process.wait(timeout=20)
        self._folder.cleanup()

    async def stream(self, body: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Chunks of a streamed `/v1/completions`."""
        async with (
            httpx2.AsyncClient(trust_env=False, timeout=300) as client,
            client.stream(
                "POST", f"{self.base_url}/v1/completions", json={**body, "stream": True}
            ) as reply,
        ):
            assert reply.status_code == 200, await reply.aread()
            async for line in reply.aiter_lines():
                if line.startswith("data: {"):
                    chunk = json.loads(line[6:])
                    if chunk["choices"]:
                        yield chunk
