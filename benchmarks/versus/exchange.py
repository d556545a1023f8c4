"""One streamed request to an OpenAI-compatible server, with the client's own clock. The same client for both sides."""

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx2

_GREEDY = {"stream": True, "temperature": 0}
_SECONDS = 600


@dataclass(slots=True)
class Exchange:
    """A request and what has come back so far. Times are `time.perf_counter()` seconds."""

    started: float = 0.0
    times: list[float] = field(default_factory=list)
    """When each chunk with text arrived."""
    text: str = ""
    timings: dict[str, Any] = field(default_factory=dict)
    """The server's own, from the last chunk; both use the same names."""
    error: str = ""
    """HTTP status, event in the stream or broken connection, in short; empty if none."""
    ended: float = 0.0

    @property
    def first_s(self) -> float:
        """Seconds to the first text."""
        assert self.times, f"no text came: {self.error or 'an empty answer'}"
        return self.times[0] - self.started

    @property
    def rate(self) -> float:
        """Tokens a second after the first one, as the client saw them.

        Counted by the server, or as chunks where the stream was cut off. At least one token is counted, so
        that a stream that stalled has a rate which is an upper bound, not zero.
        """
        tokens = int(self.timings.get("predicted_n") or len(self.times))
        end = self.times[-1] if self.timings else self.ended
        return max(tokens - 1, 1) / (end - self.times[0])

    @property
    def worker_rate(self) -> float:
        """The same by the server's own clock, without its HTTP and without the client."""
        return float((self.timings["predicted_n"] - 1) / self.timings["predicted_ms"] * 1e3)


def new_client() -> httpx2.AsyncClient:
    """Make it before the clock starts: reading the certificates alone takes 30 ms.

    Each request gets a connection of its own: llama-server closes idle ones after 5 s, sometimes just when
    the next request is on its way.
    """
    alone = httpx2.Limits(max_keepalive_connections=0)
    return httpx2.AsyncClient(trust_env=False, timeout=_SECONDS, limits=alone)


async def ask(
    client: httpx2.AsyncClient,
    base_url: str,
    body: dict[str, Any],
    *,
    limit_s: float = _SECONDS,
    into: Exchange | None = None,
) -> Exchange:
    """Send a greedy request, a chat if it has messages, and read the stream to its end.

    Args:
        client: from `new_client`.
        base_url: of the server.
        body: what differs from a greedy stream.
        limit_s: seconds after the first text at which the client leaves.
        into: an exchange that somebody watches meanwhile.
    """
    exchange = into or Exchange()
    path = "chat/completions" if "messages" in body else "completions"
    exchange.started = time.perf_counter()
    request = client.stream("POST", f"{base_url}/v1/{path}", json=_GREEDY | body)
    try:
        async with request as reply:
            await _read(exchange, reply, limit_s)
    except httpx2.TransportError as error:
        exchange.error = f"{type(error).__name__}: {error}"
    exchange.ended = time.perf_counter()
    return exchange


async def _read(exchange: Exchange, reply: httpx2.Response, limit_s: float) -> None:
    if reply.status_code != 200:
        exchange.error = f"HTTP {reply.status_code}: {(await reply.aread())[:300]!r}"
        return
    async for line in reply.aiter_lines():
        _take(exchange, line)
        if exchange.times and time.perf_counter() - exchange.times[0] > limit_s:
            return


def checked(exchange: Exchange) -> Exchange:
    """The exchange, if it is a whole answer.

    Raises:
        RuntimeError: the server answered with an error.
    """
    if exchange.error:
        raise RuntimeError(exchange.error)
    return exchange


def answer(base_url: str, body: dict[str, Any], *, limit_s: float = _SECONDS) -> Exchange:
    """The answer to one request by itself; blocks.

    Raises:
        RuntimeError: the server answered with an error.
    """

    async def whole() -> Exchange:
        async with new_client() as client:
            return await ask(client, base_url, body, limit_s=limit_s)

    return checked(asyncio.run(whole()))


def _take(exchange: Exchange, line: str) -> None:
    if line.startswith("error:"):
        exchange.error = line[:300]
    if not line.startswith("data: {"):
        return
    chunk = json.loads(line[6:])
    if "error" in chunk:
        exchange.error = json.dumps(chunk["error"])[:300]
    exchange.timings = chunk.get("timings") or exchange.timings
    if text := "".join(_texts(chunk)):
        exchange.times.append(time.perf_counter())
        exchange.text += text


def _texts(chunk: dict[str, Any]) -> Iterator[str]:
    for choice in chunk.get("choices") or ():
        delta = choice.get("delta") or {}
        yield choice.get("text") or delta.get("content") or delta.get("reasoning_content") or ""
