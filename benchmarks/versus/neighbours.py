"""Requests that meet: `arrival` of a long prompt, `shared_prefix`, `overflow` of the context, `cancel`."""

import asyncio
import contextlib
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from benchmarks.versus.duel import Outcome, Setting, Side, both, duel, flags_of
from benchmarks.versus.exchange import Exchange, ask, checked, new_client
from benchmarks.versus.gate import DURATION, Gate, Kind, at_most, compare
from benchmarks.versus.texts import words

_NEWCOMERS = (3000, 4000)
"""Tokens of the prompts that arrive."""
_UNDER_WAY = 16
"""Chunks of the running stream before the newcomer comes."""
_PREFIX_TOKENS, _SHARERS = 1500, 8
_SMALL_CONTEXT, _STREAMS, _HALF = 4096, 6, 600
"""Four of the streams, which is what llama-server computes at once, take more than the context."""
_CANCELLED_AFTER_S = 0.5
_POLL_S = 0.005


def arrival(setting: Setting) -> Outcome:
    """A stream is running when a long prompt arrives: its longest gap, and the newcomer's first token."""
    gates: list[Gate] = []
    with both(setting) as sides:
        for tokens in _NEWCOMERS:
            found = duel(sides, _arrival_of(tokens), rounds=setting.rounds or 2)
            name = f"arrival.{{}}_{tokens}"
            gates += [
                compare(name.format("gap"), DURATION, found["gap_s"], gate=4.0, goal=8.0),
                compare(
                    name.format("newcomer"), DURATION, found["first_s"], gate=1 / 1.4, goal=1 / 1.2
                ),
            ]
        return Outcome(gates, {"flags": flags_of(sides)})


def shared_prefix(setting: Setting) -> Outcome:
    """Eight requests at once, the same 1,500 tokens in front of different questions."""

    def measure(side: Side, number: int) -> dict[str, float]:
        prefix = words(_PREFIX_TOKENS, number)
        bodies = [
            {"prompt": f"{prefix}\nQuestion {i}: which?", "max_tokens": 32, "ignore_eos": True}
            for i in range(_SHARERS)
        ]
        seconds, exchanges = asyncio.run(_together(side, bodies))
        return {
            "computed": sum(checked(e).timings["prompt_n"] for e in exchanges),
            "seconds": seconds,
        }

    with both(setting) as sides:
        found = duel(sides, measure, rounds=setting.rounds or 3)
        flags = flags_of(sides)
    return Outcome(
        [
            compare(
                "shared_prefix.computed",
                Kind("tokens", "less"),
                found["computed"],
                gate=3.0,
                goal=6.0,
            ),
            compare("shared_prefix.total", DURATION, found["seconds"], gate=1 / 0.6, goal=1 / 0.4),
        ],
        {"flags": flags},
    )


def overflow(setting: Setting) -> Outcome:
    """Six streams that together do not fit a context of 4,096."""

    def measure(side: Side, number: int) -> dict[str, float]:
        bodies = [
            {
                "prompt": words(_HALF, number * _STREAMS + i),
                "max_tokens": _HALF,
                "ignore_eos": True,
            }
            for i in range(_STREAMS)
        ]
        seconds, exchanges = asyncio.run(_together(side, bodies))
        whole = [e for e in exchanges if e.timings.get("predicted_n") == _HALF and not e.error]
        return {"failed": _STREAMS - len(whole), "seconds": seconds}

    context = str(_SMALL_CONTEXT)
    with both(setting, ours=("--context", context), peer=("-c", context)) as sides:
        found = duel(sides, measure, rounds=setting.rounds or 2)
        flags = flags_of(sides)
    gate = at_most("overflow.failed", f"of {_STREAMS}", found["failed"], gate=0, goal=0)
    return Outcome([gate], {"flags": flags, "seconds": found["seconds"]})


def cancel(setting: Setting) -> Outcome:
    """A client leaves half a second into a prompt of 4,000 tokens; another one's first token right after."""

    def measure(side: Side, number: int) -> dict[str, float]:
        return {"first_s": asyncio.run(_after_a_cancel(side, number))}

    with both(setting) as sides:
        found = duel(sides, measure, rounds=setting.rounds or 5)
        flags = flags_of(sides)
    gates = [compare("cancel.first_token", DURATION, found["first_s"], gate=5.0, goal=20.0)]
    return Outcome(gates, {"flags": flags})


def _arrival_of(tokens: int) -> Any:
    def measure(side: Side, number: int) -> dict[str, float]:
        return asyncio.run(_arrive(side, number, tokens))

    return measure


async def _arrive(side: Side, number: int, tokens: int) -> dict[str, float]:
    victim = Exchange()
    running = {"prompt": words(32, tokens + 500 + number), "max_tokens": 3000, "ignore_eos": True}
    async with new_client() as client, new_client() as other:
        task = asyncio.create_task(ask(client, side.base_url, running, into=victim))
        try:
            while len(victim.times) < _UNDER_WAY and not task.done():  # noqa: ASYNC110 - two servers compute
                await asyncio.sleep(_POLL_S)
            body = {"prompt": words(tokens, tokens + number), "max_tokens": 2, "ignore_eos": True}
            newcomer = checked(await ask(other, side.base_url, body))
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
    checked(victim)
    return {"gap_s": max(_gaps(victim, newcomer)), "first_s": newcomer.first_s}


def _gaps(victim: Exchange, newcomer: Exchange) -> Iterator[float]:
    """Between tokens of the victim while the newcomer was waiting, the gap that was open at its end too."""
    until = newcomer.times[0]
    before = [t for t in victim.times if t <= newcomer.started]
    inside = [t for t in victim.times if newcomer.started < t <= until]
    yield from (later - earlier for earlier, later in pairwise([before[-1], *inside, until]))


async def _together(side: Side, bodies: list[dict[str, Any]]) -> tuple[float, list[Exchange]]:
    async with new_client() as client:
        started = time.perf_counter()
        exchanges = await asyncio.gather(*(ask(client, side.base_url, body) for body in bodies))
    return max(e.ended for e in exchanges) - started, list(exchanges)


async def _after_a_cancel(side: Side, number: int) -> float:
    async with new_client() as client, new_client() as other:
        long = {"prompt": words(4000, number), "max_tokens": 8}
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(ask(client, side.base_url, long), _CANCELLED_AFTER_S)
        short = {"prompt": words(20, number + 500), "max_tokens": 4, "ignore_eos": True}
        return checked(await ask(other, side.base_url, short)).first_s
