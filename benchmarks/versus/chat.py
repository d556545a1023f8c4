"""Conversations: `chat` by a plain client, `hints` by one that says what is being typed, `reopen` after a restart."""

import asyncio
import time
from typing import Any

import httpx2

from benchmarks.versus.duel import Outcome, Setting, Side, both, duel, flags_of
from benchmarks.versus.exchange import ask, checked, new_client
from benchmarks.versus.gate import DURATION, compare, failed
from benchmarks.versus.texts import USER_MESSAGES, system_message, words

_ANSWER = {"max_tokens": 60}
_HINT_S = 0.5
"""The composer says so often what is typed, while it is typed."""
_CHARACTERS = 6
"""A fast writer types so many in that time."""
_HINTS = 6
"""The last ones of each message, that is the last three seconds of its typing; both sides take as long."""
_HINTS_GATE, _HINTS_GOAL = 1 / 0.3, 10.0
_REOPENED_TOKENS = 4000
_IDLE_S = 2.0
"""Before the stop, for whoever keeps something for later."""


def chat(setting: Setting) -> Outcome:
    """Ten turns, the whole history sent each time, with each server's own answers; first tokens summed."""
    with both(setting) as sides:

        def measure(side: Side, number: int) -> dict[str, float]:
            return asyncio.run(_turns(side, number))

        found = duel(sides, measure, rounds=setting.rounds or 4)
        flags = flags_of(sides)
    return Outcome(
        [compare("chat.first_tokens", DURATION, found["first_s"], gate=1.0, goal=1 / 0.93)],
        {"flags": flags, "answer_tokens": found["tokens"], "computed_tokens": found["computed"]},
    )


def hints(setting: Setting) -> Outcome:
    """The same conversation; our client says while the user types what is typed so far; the peer waits as long."""
    with both(setting) as sides:
        if (status := asyncio.run(_hint_status(sides["ours"]))) >= 400:
            note = f"POST /api/prefill answers {status}"
            gate = failed("hints.first_tokens", DURATION, note, gate=_HINTS_GATE, goal=_HINTS_GOAL)
            return Outcome([gate])

        def measure(side: Side, number: int) -> dict[str, float]:
            return asyncio.run(_turns(side, number, typing=True, hint=side is sides["ours"]))

        found = duel(sides, measure, rounds=setting.rounds or 3)
        flags = flags_of(sides)
    gates = [
        compare(
            "hints.first_tokens",
            DURATION,
            found["first_s"],
            gate=_HINTS_GATE,
            goal=_HINTS_GOAL,
            note=f"the last {_HINTS * _HINT_S:g} s of typing, a hint every {_HINT_S} s; the peer waits alike",
        )
    ]
    return Outcome(gates, {"flags": flags, "computed_tokens": found["computed"]})


def reopen(setting: Setting) -> Outcome:
    """A chat of 4,000 tokens, both servers stopped and started again, then its next turn."""
    with both(setting) as sides:

        def measure(side: Side, number: int) -> dict[str, float]:
            return asyncio.run(_before_and_after(side, number))

        found = duel(sides, measure, rounds=setting.rounds or 2)
        flags = flags_of(sides)
    return Outcome(
        [compare("reopen.first_token", DURATION, found["first_s"], gate=10.0, goal=40.0)],
        {"flags": flags, "computed_tokens": found["computed"]},
    )


async def _turns(
    side: Side, number: int, *, typing: bool = False, hint: bool = False
) -> dict[str, float]:
    messages = [system_message(number)]
    total = {"first_s": 0.0, "tokens": 0.0, "computed": 0.0}
    async with new_client() as client:
        for content in USER_MESSAGES:
            for missing in range(_HINTS if typing else 0, 0, -1):
                if hint:
                    typed = content[: -missing * _CHARACTERS]
                    await _send_hint(client, side, [*messages, _user(typed)])
                await asyncio.sleep(_HINT_S)
            messages.append(_user(content))
            answer = checked(await ask(client, side.base_url, {"messages": messages, **_ANSWER}))
            messages.append({"role": "assistant", "content": answer.text})
            total["first_s"] += answer.first_s
            total["tokens"] += answer.timings["predicted_n"]
            total["computed"] += answer.timings["prompt_n"]
    return total


async def _send_hint(client: httpx2.AsyncClient, side: Side, messages: list[dict[str, str]]) -> int:
    body: dict[str, Any] = {"messages": messages, "temperature": 0, **_ANSWER}
    reply = await client.post(f"{side.base_url}/api/prefill", json=body)
    return reply.status_code


async def _hint_status(side: Side) -> int:
    async with new_client() as client:
        checked(await ask(client, side.base_url, {"prompt": "Hello", "max_tokens": 2}))
        return await _send_hint(client, side, [_user("Hello")])


async def _before_and_after(side: Side, number: int) -> dict[str, float]:
    messages = [system_message(number), _user(words(_REOPENED_TOKENS, number))]
    async with new_client() as client:
        answer = checked(await ask(client, side.base_url, {"messages": messages, **_ANSWER}))
    messages += [{"role": "assistant", "content": answer.text}, _user("Which words came twice?")]
    time.sleep(_IDLE_S)  # noqa: ASYNC251 - nothing else runs here
    side.restart()
    async with new_client() as client:  # loads the model
        checked(await ask(client, side.base_url, {"prompt": "Hello", "max_tokens": 2}))
        answer = checked(await ask(client, side.base_url, {"messages": messages, **_ANSWER}))
    return {"first_s": answer.first_s, "computed": answer.timings["prompt_n"]}


def _user(content: str) -> dict[str, str]:
    return {"role": "user", "content": content}
