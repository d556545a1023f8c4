"""What the engine costs on top of llama.cpp: inside the worker, end to end, and to the first token.

Yardstick: `raw_loop.py`, a bare C-API loop with equal threads, in the same interleaved run. Each round
runs the same greedy request raw, in a worker spoken to directly, and through `--serve` by our own
client. `python -m benchmarks.overhead [--threads N] [--pairs N] [--tokens N] [--q4_0]`.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.harness import paired, q4_0_model, report, rounded, starter_model
from benchmarks.service import Service
from engine.ipc.codec import FrameDecoder, encode
from engine.ipc.messages import (
    Accepted,
    ChatPrompt,
    Exit,
    Failed,
    Generate,
    Load,
    Loaded,
    Step,
    TokenPrompt,
    ToSupervisor,
)
from engine.types import SamplingParams

MESSAGES = [{"role": "user", "content": "Explain in detail how a fireplace draws air."}]
_READ_BYTES = 1 << 16


class RawLoop:
    """The yardstick process."""

    def __init__(self, model: Path, threads: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.raw_loop", str(model), str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def run(self, prompt: list[int], tokens: int) -> dict[str, float]:
        """One answer; clocks read inside the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"prompt": prompt, "tokens": tokens}) + "\n")
        self._process.stdin.flush()
        figures: dict[str, float] = json.loads(self._process.stdout.readline())
        return {"first_s": figures["first_s"], "rate": (tokens - 1) / figures["decode_s"]}

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


class BareWorker:
    """A worker process without the service; blocking frames."""

    def __init__(self, model: Path, threads: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "engine.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        self._decoder: FrameDecoder[ToSupervisor] = FrameDecoder(ToSupervisor)
        self._pending: list[ToSupervisor] = []
        # the bare loop does not guess either
        self._send(Load(bytes(model), "llama.cpp", 8192, 8, threads, threads, speculation="off"))
        while not isinstance(message := self._receive(), Loaded):
            assert not isinstance(message, Failed), message
        self._number = 0

    def _send(self, message: Load | Generate | Exit) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(encode(message))

    def _receive(self) -> ToSupervisor:
        assert self._process.stdout is not None
        while not self._pending:
            self._pending = self._decoder.feed(self._process.stdout.read(_READ_BYTES))
        return self._pending.pop(0)

    def prompt_tokens(self) -> list[int]:
        """The chat prompt as ids, so that all three read the same."""
        return self.run(ChatPrompt(MESSAGES), 1)[0]

    def run(
        self, prompt: ChatPrompt | TokenPrompt, tokens: int
    ) -> tuple[list[int], dict[str, float]]:
        """One answer; the worker's own clock."""
        self._number += 1
        sampling = SamplingParams(temperature=0)
        request = f"r{self._number}"
        self._send(Generate(request, prompt, sampling, max_tokens=tokens, ignore_end=True))
        ids: list[int] = []
        while True:
            message = self._receive()
            assert not isinstance(message, Failed), message
            if isinstance(message, Accepted):
                ids = message.prompt
            elif isinstance(message, Step) and (timings := message.deltas[-1].timings):
                rate = (tokens - 1) / timings.decode_s if tokens > 1 else 0.0
                return ids, {"first_s": timings.prefill_s, "rate": rate}

    def close(self) -> None:
        """End it."""
        self._send(Exit())
        self._process.wait()


def main() -> None:
    """Run and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--q4_0", action="store_true", help="requantize the model first")
    args = parser.parse_args()
    model = q4_0_model() if args.q4_0 else starter_model()

    raw = RawLoop(model, args.threads)
    worker = BareWorker(model, args.threads)
    prompt = worker.prompt_tokens()
    with Service(model, threads=args.threads, flags=("--speculation", "off")) as service:
        service.load()
        number = 0

        def fresh(run: Callable[[list[int]], dict[str, float]]) -> Callable[[], dict[str, float]]:
            def once() -> dict[str, float]:
                # another first token each time: the prefix cache must not help against a bare loop
                nonlocal number
                number += 1
                return run([1000 + number, *prompt])

            return once

        results = paired(
            {
                "raw": fresh(lambda ids: raw.run(ids, args.tokens)),
                "worker": fresh(lambda ids: worker.run(TokenPrompt(ids), args.tokens)[1]),
                "service": fresh(lambda ids: asyncio.run(_through(service, ids, args.tokens))),
            },
            pairs=args.pairs,
        )
    raw.close()
    worker.close()
    rows = list(zip(results["raw"], results["worker"], results["service"], strict=True))
    report(
        "overhead",
        model=model.name,
        threads=args.threads,
        pairs=args.pairs,
        raw_tokens_per_s=rounded([r["rate"] for r, _, _ in rows], 1),
        worker_ratio=rounded([w["rate"] / r["rate"] for r, w, _ in rows]),
        end_to_end_ratio=rounded([s["rate"] / r["rate"] for r, _, s in rows]),
        raw_first_ms=rounded([r["first_s"] * 1e3 for r, _, _ in rows], 1),
        first_token_extra_ms=rounded([(s["first_s"] - r["first_s"]) * 1e3 for r, _, s in rows], 1),
    )


async def _through(service: Service, prompt: list[int], tokens: int) -> dict[str, float]:
    body = {"prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": True}
    first = last = 0.0
    async with service.client() as client:
        started = time.perf_counter()
        async for chunk in service.stream(client, body):
            if chunk["choices"][0]["text"]:
                last = time.perf_counter()
                first = first or last
    return {"first_s": first - started, "rate": (tokens - 1) / (last - first)}


if __name__ == "__main__":
    main()
