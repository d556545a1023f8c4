"""`schemas`: answers that must be JSON of a given form. Are they, and how long did it take?"""

import asyncio
import json
from typing import Any, Final

import jsonschema

from benchmarks.versus.duel import Outcome, Setting, Side, both, duel, flags_of
from benchmarks.versus.exchange import ask, new_client
from benchmarks.versus.gate import DURATION, at_most, compare, failed
from benchmarks.versus.texts import system_message

_MAX_TOKENS = 400
_GATE, _GOAL = 1 / 0.8, 1 / 0.6
_SHORT: Final = {"type": "string", "maxLength": 24}
"""A model of 135M does not always find the end of a string by itself."""


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_INTEGER: Final = {"type": "integer", "minimum": 0, "maximum": 9999}
SCHEMAS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "nested": (
        "Describe a house with its address and its owner.",
        _object(
            name=_SHORT,
            address=_object(street=_SHORT, number=_INTEGER, city=_object(name=_SHORT, code=_SHORT)),
            owner=_object(name=_SHORT, age=_INTEGER),
        ),
    ),
    "enum_array": (
        "List the tasks of a gardener in spring, each with its urgency.",
        _object(
            season={"enum": ["spring", "summer", "autumn", "winter"]},
            tasks={
                "type": "array",
                "minItems": 2,
                "maxItems": 4,
                "items": _object(task=_SHORT, urgency={"enum": ["low", "middle", "high"]}),
            },
        ),
    ),
    "refs": (
        "Describe the way of a letter from its sender to its receiver.",
        _object(sender={"$ref": "#/$defs/person"}, receiver={"$ref": "#/$defs/person"})
        | {"$defs": {"person": _object(name=_SHORT, town=_SHORT)}},
    ),
    "nullable": (
        "Describe a ship. What you do not know is null.",
        _object(
            name=_SHORT,
            captain={"anyOf": [_SHORT, {"type": "null"}]},
            length={"anyOf": [_INTEGER, {"type": "null"}]},
            harbour={"anyOf": [_object(town=_SHORT), {"type": "null"}]},
        ),
    ),
    "flat": (
        "Fill in the card of a book in a library.",
        _object(
            title=_SHORT,
            author=_SHORT,
            publisher=_SHORT,
            year=_INTEGER,
            pages=_INTEGER,
            language=_SHORT,
            subject=_SHORT,
            shelf=_SHORT,
            row=_INTEGER,
            lent={"type": "boolean"},
            damaged={"type": "boolean"},
            remark=_SHORT,
        ),
    ),
}


def schemas(setting: Setting) -> Outcome:
    """Five schemas one after another, greedy, at most 400 tokens each."""
    errors: dict[str, set[str]] = {}

    def measure(side: Side, number: int) -> dict[str, float]:
        outcome = asyncio.run(_all(side, number))
        errors.setdefault(side.base_url, set()).update(outcome.pop("errors"))
        return outcome

    with both(setting) as sides:
        found = duel(sides, measure, rounds=setting.rounds or 3)
        flags = flags_of(sides)
        said = {name: sorted(errors[side.base_url]) for name, side in sides.items()}
    if said["ours"]:
        time = failed("schemas.total", DURATION, said["ours"][0], gate=_GATE, goal=_GOAL)
    else:
        time = compare("schemas.total", DURATION, found["seconds"], gate=_GATE, goal=_GOAL)
    invalid = at_most("schemas.invalid", f"of {len(SCHEMAS)}", found["invalid"], gate=0, goal=0)
    return Outcome(
        [invalid, time], {"flags": flags, "errors": said, "answer_tokens": found["tokens"]}
    )


async def _all(side: Side, number: int) -> dict[str, Any]:
    total: dict[str, Any] = {"seconds": 0.0, "invalid": 0, "tokens": 0, "errors": set()}
    async with new_client() as client:
        for name, (prompt, schema) in SCHEMAS.items():
            wanted = {"name": name, "schema": schema, "strict": True}
            body = {
                "messages": [system_message(number), {"role": "user", "content": prompt}],
                "max_tokens": _MAX_TOKENS,
                "response_format": {"type": "json_schema", "json_schema": wanted},
            }
            exchange = await ask(client, side.base_url, body)
            total["seconds"] += exchange.ended - exchange.started
            total["invalid"] += not is_valid(exchange.text, schema)
            total["tokens"] += exchange.timings.get("predicted_n", 0)
            if exchange.error:
                total["errors"].add(exchange.error)
    return total


def is_valid(text: str, schema: dict[str, Any]) -> bool:
    """Is the text one JSON value of this schema?"""
    try:
        jsonschema.validate(json.loads(text), schema)
    except (ValueError, jsonschema.ValidationError):
        return False
    return True
