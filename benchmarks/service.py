"""The service as a process, with the one request that benchmarks make."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2

from tests.helpers.service_process import ServiceProcess


class Service(ServiceProcess):
    """Runs the service with one model."""

    def __init__(self, model: Path, *, threads: int) -> None:
        super().__init__(model, arguments=("--host", "127.0.0.1", "--threads", str(threads)))

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
