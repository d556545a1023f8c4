"""Text that repeats itself and text that does not: `copy` (verbatim, and with a name replaced) and `prose`."""

from collections.abc import Callable
from difflib import SequenceMatcher
from typing import Any

from benchmarks.service import Service
from benchmarks.versus.duel import Outcome, Setting, Side, both, duel, flags_of
from benchmarks.versus.exchange import answer
from benchmarks.versus.gate import SPEED, Gate, compare
from benchmarks.versus.texts import copy_prompt, edit_prompt, story_prompt

_COPIED_TOKENS = 200
_PROSE: dict[str, Any] = {
    "max_tokens": 128,
    "ignore_eos": True,
    "temperature": 0.8,
    "top_k": 40,
    "top_p": 0.95,
    "min_p": 0.05,
}
"""Sampled, by the same explicit chain on both: a greedy 135M soon repeats itself, which is not prose."""


def copy(setting: Setting) -> Outcome:
    """The model writes down again what stands in its prompt; defaults of both."""
    gates: list[Gate] = []
    likeness: dict[str, Any] = {}
    with both(setting) as sides:
        for name, make in (("verbatim", copy_prompt), ("renamed", edit_prompt)):
            found = duel(sides, _copying(make), rounds=setting.rounds or 4)
            gates.append(compare(f"copy.{name}", SPEED, found["rate"], gate=1.2, goal=2.0))
            likeness[name] = found["likeness"] | {"drafted": found["drafted"]["ours"]}
        return Outcome(gates, {"flags": flags_of(sides), "likeness": likeness})


def prose(setting: Setting) -> Outcome:
    """Free prose must not be slower for any guessing, against the peer and against ourselves without it."""
    with (
        both(setting) as sides,
        Service(setting.model, threads=setting.threads, flags=("--speculation", "off")) as plain,
    ):
        plain.load()  # else it measures itself while the others are measured

        def measure(side: Side, number: int) -> dict[str, float]:
            body = _PROSE | {"prompt": story_prompt(number), "seed": number}
            exchange = answer(side.base_url, body)
            return {
                "rate": exchange.rate,
                "drafted": exchange.timings.get("draft_n") or 0,
                "tokens": exchange.timings["predicted_n"],
            }

        three: dict[str, Side] = {**sides, "ours_off": plain}
        found = duel(three, measure, rounds=setting.rounds or 12)
        flags = flags_of(three)
    itself = {"ours": found["rate"]["ours"], "peer": found["rate"]["ours_off"]}
    return Outcome(
        [
            compare("prose.against_peer", SPEED, found["rate"], gate=0.97, goal=1.0),
            compare(
                "prose.against_off",
                SPEED,
                itself,
                gate=0.97,
                goal=1.0,
                note="peer: our own service with --speculation off",
            ),
        ],
        {"flags": flags, "drafted": found["drafted"]["ours"]},
    )


def _copying(
    make: Callable[[int], tuple[str, str]],
) -> Callable[[Side, int], dict[str, float]]:
    def measure(side: Side, number: int) -> dict[str, float]:
        prompt, expected = make(number)
        body = {"prompt": prompt, "max_tokens": _COPIED_TOKENS, "ignore_eos": True}
        exchange = answer(side.base_url, body)
        beginning = expected[: len(exchange.text)]
        likeness = SequenceMatcher(None, exchange.text, beginning, autojunk=False).ratio()
        return {
            "rate": exchange.rate,
            "likeness": round(likeness, 3),
            "drafted": exchange.timings.get("draft_n") or 0,
        }

    return measure
