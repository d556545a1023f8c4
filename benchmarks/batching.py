"""How much more 8 streams yield together than one, at equal threads, through the service.

Yardstick: one stream of the same service in the same interleaved run (target: 1.7x on Q4_0).
`python -m benchmarks.batching [--streams N] [--threads N] [--rounds N]`.
"""

import argparse
import asyncio
import time

from benchmarks.harness import paired, q4_0_model, report, rounded
from benchmarks.service import Service

TOKENS = 96


def main() -> None:
    """Run and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=8)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    with Service(q4_0_model(), threads=args.threads) as service:
        results = paired(
            {
                "one": lambda: asyncio.run(_together(service, 1)),
                "many": lambda: asyncio.run(_together(service, args.streams)),
            },
            pairs=args.rounds,
        )
    ratios = [m["rate"] / o["rate"] for o, m in zip(results["one"], results["many"], strict=True)]
    report(
        "batching",
        threads=args.threads,
        streams=args.streams,
        one_tokens_per_s=rounded([o["rate"] for o in results["one"]], 1),
        many_tokens_per_s=rounded([m["rate"] for m in results["many"]], 1),
        ratio=rounded(ratios),
    )


async def _together(service: Service, streams: int) -> dict[str, float]:
    """Total tokens per second from the first token of any to the last of all."""
    times: list[float] = []

    async def one(number: int) -> None:
        body = {
            "prompt": f"Story number {number}: once upon a time",
            "max_tokens": TOKENS,
            "temperature": 0,
            "ignore_eos": True,
        }
        times.extend([time.perf_counter() async for _ in service.stream(client, body)])

    async with service.client() as client:
        await asyncio.gather(*(one(i) for i in range(streams)))
    return {"rate": (streams * TOKENS - streams) / (max(times) - min(times))}


if __name__ == "__main__":
    main()
