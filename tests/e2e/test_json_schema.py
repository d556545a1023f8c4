"""Answers that match a JSON schema, by the real model through the official SDK (C09), and hostile schemas (C10)."""

import json
from enum import Enum
from typing import Any

import httpx2
import jsonschema
import pytest
from openai import BadRequestError, OpenAI
from pydantic import BaseModel, Field

from tests.helpers.service_process import ServiceProcess

pytestmark = pytest.mark.model

MODEL = "SmolLM2-135M-Instruct.Q4_1"
TEXT = {"type": "string", "maxLength": 12}


def closed(properties: dict[str, Any], *optional: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


SCHEMAS: dict[str, dict[str, Any]] = {
    "two defs that name each other once": {
        "$defs": {
            "owner": closed({"name": TEXT, "pet": {"$ref": "#/$defs/pet"}}),
            "pet": closed({"name": TEXT, "kind": {"enum": ["cat", "dog"]}}),
        },
        **closed({"owner": {"$ref": "#/$defs/owner"}, "pets": {"type": "array", "maxItems": 2}}),
    },
    "definitions": {
        "definitions": {"size": {"type": "integer", "minimum": 1, "maximum": 99}},
        **closed({"w": {"$ref": "#/definitions/size"}, "h": {"$ref": "#/definitions/size"}}),
    },
    "a recursive tree": {
        "$defs": {
            "node": closed(
                {
                    side: {"anyOf": [{"type": "string", "maxLength": 5}, {"$ref": "#/$defs/node"}]}
                    for side in ("left", "right")
                }
            )
        },
        "$ref": "#/$defs/node",
    },
    "a reference to a property": closed(
        {
            "list": {
                "type": "array",
                "items": {"type": "integer", "minimum": 0, "maximum": 9},
                "maxItems": 5,
            },
            "best": {"$ref": "#/properties/list/items"},
        }
    ),
    "odd words and constants": closed(
        {
            "colour": {"enum": ["grün", "「赤」", 'the "blue" one', "a\\b\n🦙"]},
            "version": {"const": 3},
            "fixed": {"const": {"deep": ["é", None]}},
        }
    ),
    "nullable and optional": closed(
        {
            "nick": {"type": ["string", "null"], "maxLength": 8},
            "age": {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 150}, {"type": "null"}]},
            "ok": {"type": "boolean"},
        },
        "nick",
        "ok",
    ),
    "no object": {"type": "array", "items": {"enum": ["yes", "no"]}, "minItems": 1, "maxItems": 3},
    "a pattern and a date": closed(
        {"id": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3}$"}, "day": {"format": "date"}}
    ),
}
SCHEMAS["two defs that name each other once"]["properties"]["pets"]["items"] = {
    "$ref": "#/$defs/pet"
}


def ask(client: OpenAI, schema: dict[str, Any], **more: Any) -> Any:
    wanted = {"max_tokens": 300, "temperature": 0, **more}
    return client.chat.completions.create(
        model=MODEL,
        messages=[{"role": "user", "content": "Invent an example and describe it in JSON."}],
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "x", "schema": schema, "strict": True},
        },
        **wanted,
    )


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_every_reply_matches(client: OpenAI, schema: dict[str, Any]) -> None:
    greedy = ask(client, schema)
    sampled = ask(client, schema, temperature=0.8, n=2, seed=3)
    for choice in (*greedy.choices, *sampled.choices):
        assert choice.finish_reason == "stop"
        value = json.loads(choice.message.content)
        jsonschema.validate(value, schema, format_checker=jsonschema.FormatChecker())


def test_streamed_and_whole_are_the_same(client: OpenAI) -> None:
    schema = SCHEMAS["two defs that name each other once"]
    whole = ask(client, schema, temperature=0.8, seed=1)
    stream = ask(client, schema, temperature=0.8, seed=1, stream=True)
    chunks = [chunk.choices[0] for chunk in stream if chunk.choices]
    text = "".join(choice.delta.content or "" for choice in chunks)
    assert text == whole.choices[0].message.content
    assert chunks[-1].finish_reason == "stop"


def test_any_object(client: OpenAI) -> None:
    reply = client.chat.completions.create(
        model=MODEL,
        messages=[{"role": "user", "content": "Give me the JSON of a user named Ann, age 3."}],
        response_format={"type": "json_object"},
        max_tokens=300,
        temperature=0,
    )
    (choice,) = reply.choices
    content = choice.message.content or ""
    assert content.startswith("{")
    if choice.finish_reason == "stop":
        assert isinstance(json.loads(content), dict)


def test_a_limit_cuts_anywhere(client: OpenAI) -> None:
    """Also inside what is appended at once."""
    schema = SCHEMAS["odd words and constants"]
    whole = ask(client, schema)
    text, num_tokens = whole.choices[0].message.content, whole.usage.completion_tokens
    for limit in range(1, num_tokens - 1, 4):
        reply = ask(client, schema, max_tokens=limit)
        assert reply.choices[0].finish_reason == "length"
        assert reply.usage.completion_tokens == limit
        assert text.startswith(reply.choices[0].message.content.rstrip("\ufffd"))


def test_a_stop_string_ends_it_inside_what_is_appended_at_once(client: OpenAI) -> None:
    reply = ask(client, closed({"name": {"const": "Ann"}, "long_name": TEXT}), stop=["_name"])
    assert reply.choices[0].message.content == '{"name": "Ann", "long'
    assert reply.choices[0].finish_reason == "stop"


def test_log_probabilities_and_ignored_ends(client: OpenAI) -> None:
    schema = SCHEMAS["definitions"]
    plain = ask(client, schema).choices[0]
    logged = ask(client, schema, logprobs=True, top_logprobs=1).choices[0]
    endless = ask(client, schema, extra_body={"ignore_eos": True}).choices[0]
    jsonschema.validate(json.loads(logged.message.content), schema)
    spelled = b"".join(bytes(entry.bytes) for entry in logged.logprobs.content)
    assert spelled.decode() == logged.message.content
    assert endless.message.content == plain.message.content
    assert endless.finish_reason == "stop"


def test_raw_completions_take_a_schema_too(client: OpenAI) -> None:
    schema = SCHEMAS["definitions"]
    request: dict[str, Any] = {"model": MODEL, "prompt": "A box:", "max_tokens": 99}
    for field in (
        {"json_schema": schema},
        {"response_format": {"type": "json_schema", "json_schema": {"schema": schema}}},
    ):
        reply = client.completions.create(**request, extra_body=field)
        jsonschema.validate(json.loads(reply.choices[0].text), schema)


class Colour(Enum):
    red = "red"
    blue = "blue"


class Wheel(BaseModel):
    colour: Colour
    spokes: int = Field(ge=3, le=40)


class Car(BaseModel):
    maker: str = Field(max_length=10)
    wheels: list[Wheel] = Field(min_length=1, max_length=2)
    spare: Wheel | None


def test_the_sdk_parses_into_models(client: OpenAI) -> None:
    reply = client.chat.completions.parse(
        model=MODEL,
        messages=[{"role": "user", "content": "Describe a car."}],
        response_format=Car,
        temperature=0.8,
        seed=2,
        max_tokens=300,
    )
    parsed = reply.choices[0].message.parsed
    assert isinstance(parsed, Car)
    assert 1 <= len(parsed.wheels) <= 2


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = closed({"a": schema})
    return schema


JSON = {"content-type": "application/json"}
HOSTILE = [
    *({"type": "string", "pattern": "(" * n + "a" + ")" * n} for n in (100, 5000, 60_000)),
    *({"type": "string", "pattern": pattern} for pattern in ("*a", "{2}a", "(?<=a)*")),
    nested(150),  # deeper, and the client's own encoder gives up
    {"enum": [str(i) * 10 for i in range(60_000)]},
    {"allOf": [{"type": "integer", "multipleOf": 99_991}, {"multipleOf": 99_989}]},
    {"$defs": {"a": closed({"a": {"$ref": "#/$defs/a"}})}, "$ref": "#/$defs/a"},
    {"type": "array", "uniqueItems": True},
    {"$ref": "https://example.invalid/x.json"},
]


def test_hostile_schemas_are_refused_beside_a_running_answer(
    client: OpenAI, real_service: ServiceProcess
) -> None:
    stream = client.completions.create(
        model=MODEL,
        prompt="Count:",
        max_tokens=150,
        stream=True,
        extra_body={"ignore_eos": True},
    )
    next(stream)
    for schema in HOSTILE:
        with pytest.raises(BadRequestError) as caught:
            ask(client, schema, max_tokens=5)
        assert str(caught.value.param).startswith("response_format")
        assert caught.value.status_code == 400
    for levels in (500, 20_000):
        schema = '{"type":"object","properties":{"a":' * levels + "{}" + "}}" * levels
        body = f'{{"model":"{MODEL}","prompt":"x","json_schema":{schema}}}'
        with httpx2.Client(trust_env=False, timeout=60) as http:
            reply = http.post(f"{real_service.base_url}/v1/completions", content=body, headers=JSON)
        assert reply.status_code == 400
        assert "nested" in reply.json()["error"]["message"]
    num_chunks = sum(1 for _ in stream)
    assert num_chunks > 20  # the answer went on beside them, and to its end
    assert "restart" not in real_service.log()
