import json
from typing import Any

import pytest

from engine.api.requests import ChatRequest
from engine.api.validate import (
    answer_schema,
    parse_chat,
    parse_completion,
    priority_of,
    sampling_params,
    stop_strings,
    template_messages,
    token_limit,
)
from engine.errors import InvalidRequest, UnsupportedByBackend
from engine.types import SamplingParams

HI = [{"role": "user", "content": "hi"}]


def chat(**fields: Any) -> ChatRequest:
    return parse_chat(json.dumps({"messages": HI, **fields}).encode())


def refused(error: type[Exception] = InvalidRequest, **fields: Any) -> str | None:
    with pytest.raises(error) as caught:
        chat(**fields)
    return caught.value.details.get("param")  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize(("value", "limit"), [(None, None), (-1, None), (1, 1), (10**9, 10**9)])
def test_token_limits(name: str, value: int | None, limit: int | None) -> None:
    assert token_limit(chat(**{name: value})) == limit


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize("value", [0, -2, "5", 1.5, 1.0, True, [], 2**60])
def test_token_limits_that_make_no_sense(name: str, value: object) -> None:
    assert refused(**{name: value}) == name


def test_two_token_limits_must_agree() -> None:
    assert token_limit(chat(max_tokens=5, max_completion_tokens=5)) == 5
    assert refused(max_tokens=5, max_completion_tokens=6) == "max_completion_tokens"
    assert refused(max_tokens=5, max_completion_tokens=-1) == "max_completion_tokens"


@pytest.mark.parametrize(
    ("stop", "strings"), [(None, ()), ([], ()), ("x", ("x",)), (["a", "b"], ("a", "b"))]
)
def test_stop(stop: object, strings: tuple[str, ...]) -> None:
    assert stop_strings(chat(stop=stop)) == strings


@pytest.mark.parametrize("stop", ["", [""], ["a", ""], ["x"] * 17, ["x" * 1025], 5, [5], {}])
def test_stop_that_makes_no_sense(stop: object) -> None:
    assert (refused(stop=stop) or "").startswith("stop")


@pytest.mark.parametrize(
    ("messages", "param"),
    [
        ({}, "messages"),
        (None, "messages"),
        ("x", "messages"),
        ([], "messages"),
        ([None], "messages[0]"),
        ([{}], "messages[0].role"),
        ([{"role": "root", "content": "x"}], "messages[0].role"),
        ([{"role": "user"}], "messages[0].content"),
        ([{"role": "user", "content": None}], "messages[0].content"),
        ([{"role": "user", "content": 5}], "messages[0].content"),
        ([{"role": "user", "content": []}], "messages[0].content"),
        ([{"role": "user", "content": ["x"]}], "messages[0].content[0]"),
        ([{"role": "user", "content": [{"type": "text"}]}], "messages[0].content[0].text"),
        (
            [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}],
            "messages[0].content[0].type",
        ),
        ([*HI, {"role": "assistant", "content": None}], "messages[1].content"),
        ([*HI, {"role": "assistant", "content": None, "tool_calls": []}], "messages[1].content"),
    ],
)
def test_messages_that_make_no_sense(messages: object, param: str) -> None:
    assert refused(messages=messages) == param


def test_messages_for_the_template() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    request = chat(
        messages=[
            {"role": "developer", "content": "be brief"},
            {"role": "user", "content": parts},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "3", "unknown": 1},
            {"role": "user", "content": "nul \x00", "name": "Ann"},
        ]
    )
    assert template_messages(request) == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": parts},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "3"},
        {"role": "user", "content": "nul \x00", "name": "Ann"},
    ]


def test_silence_means_the_defaults_and_a_fresh_seed() -> None:
    defaults = SamplingParams(temperature=0.3, top_k=7)
    seeds = set()
    for fields in ({}, {"seed": None}, {"seed": -1}, {"top_p": None}):
        params = sampling_params(chat(**fields), defaults)
        seeds.add(params.seed)
        assert (params.temperature, params.top_k, params.top_p) == (0.3, 7, 0.95)
        assert params.num_logprobs is None
    assert len(seeds) == 4


def test_what_is_said_counts() -> None:
    fields: dict[str, Any] = {
        "temperature": 0,
        "top_k": -1,
        "top_p": 0.5,
        "min_p": 0,
        "typical_p": 0.9,
        "repeat_penalty": 1.2,
        "repeat_last_n": -1,
        "presence_penalty": -2,
        "frequency_penalty": 2,
        "logit_bias": {"7": -100, "3": 1.5},
        "seed": 0,
        "logprobs": True,
        "top_logprobs": 20,
    }
    assert sampling_params(chat(**fields), SamplingParams()) == SamplingParams(
        temperature=0.0,
        top_k=0,
        top_p=0.5,
        min_p=0.0,
        typical_p=0.9,
        repetition_penalty=1.2,
        repeat_last_n=2**31 - 1,
        presence_penalty=-2.0,
        frequency_penalty=2.0,
        logit_bias=((3, 1.5), (7, -100.0)),
        seed=0,
        num_logprobs=20,
    )


@pytest.mark.parametrize(
    "field",
    [
        {"temperature": -0.1},
        {"temperature": 10.1},
        {"temperature": "hot"},
        {"top_k": -2},
        {"top_k": 1.5},
        {"top_p": 0},
        {"top_p": 1.01},
        {"min_p": -1},
        {"min_p": 2},
        {"typical_p": 0},
        {"repetition_penalty": 0},
        {"repeat_penalty": 100},
        {"repeat_last_n": -2},
        {"presence_penalty": 2.1},
        {"frequency_penalty": -2.1},
        {"logit_bias": {"-1": 1}},
        {"logit_bias": {"1": 101}},
        {"logit_bias": {"4294967296": 1}},
        {"logit_bias": [1]},
        {"seed": -2},
        {"seed": 2**63},
        {"seed": "x"},
        {"n": 0},
        {"n": 9},
        {"top_logprobs": 3},
        {"top_logprobs": 21},
        {"logprobs": 1},
        {"stream": "yes"},
        {"stream_options": True},
        {"ignore_eos": 1},
        {"tools": {}},
        {"tools": [{}]},
        {"tools": [{"type": "function", "function": {}}]},
        {"chat_template_kwargs": []},
        {"model": 5},
    ],
)
def test_ranges_and_types(field: dict[str, object]) -> None:
    param = refused(**field)
    assert param is not None
    assert param.startswith(next(iter(field)))


def test_contradicting_names() -> None:
    assert refused(repetition_penalty=1.1, repeat_penalty=1.2) == "repeat_penalty"


@pytest.mark.parametrize(
    "field",
    [
        {"tool_choice": "required"},
        {"tool_choice": {"type": "function", "function": {"name": "x"}}},
        {"functions": [{"name": "x"}]},
        {"function_call": {"name": "x"}},
        {"grammar": "root ::= x"},
        {"audio": {"voice": "x"}},
    ],
)
def test_wishes_we_cannot_fulfil(field: dict[str, object]) -> None:
    assert refused(UnsupportedByBackend, **field) == next(iter(field))


def test_wishes_that_change_nothing_pass() -> None:
    chat(
        response_format={"type": "text"},
        tool_choice="auto",
        tools=[{"type": "function", "function": {"name": "x"}}],
        functions=[],
        function_call="none",
        user="me",
        store=True,
        logit_bias={},
        top_logprobs=0,
        logprobs=False,
    )


def completion(**fields: Any) -> Any:
    return parse_completion(json.dumps(fields).encode())


@pytest.mark.parametrize("prompt", ["", "x", ["x"], [1, 2, 3], [0]])
def test_prompts(prompt: object) -> None:
    assert completion(prompt=prompt, best_of=1, echo=False, suffix="").prompt == prompt


@pytest.mark.parametrize(
    "prompt", [None, 5, {}, [], ["a", "b"], [1, "a"], [-1], [2**31], [1.5], [[1]], [None]]
)
def test_prompts_that_make_no_sense(prompt: object) -> None:
    with pytest.raises(InvalidRequest) as caught:
        completion(prompt=prompt)
    assert caught.value.details["param"].startswith("prompt")


@pytest.mark.parametrize("field", [{"echo": True}, {"best_of": 3}, {"suffix": "x"}])
def test_completion_wishes_we_cannot_fulfil(field: dict[str, object]) -> None:
    with pytest.raises(UnsupportedByBackend):
        completion(prompt="x", **field)


def test_best_of_n_is_n() -> None:
    assert completion(prompt="x", n=3, best_of=3).n == 3


def test_completion_logprobs() -> None:
    params = sampling_params(completion(prompt="x", logprobs=0), SamplingParams())
    assert params.num_logprobs == 0


# --- JSON schemas ---------------------------------------------------------------------------------------

SCHEMA = {"type": "object", "properties": {"b": {"type": "string"}, "a": {"const": "é"}}}


def schema_of(**fields: Any) -> Any:
    text = answer_schema(chat(**fields))
    assert answer_schema(completion(prompt="x", **fields)) == text
    return json.loads(text) if text else None


def wrapped(schema: object, **more: object) -> dict[str, object]:
    return {"type": "json_schema", "json_schema": {"name": "x", "schema": schema, **more}}


def test_a_schema_may_come_in_all_the_usual_places() -> None:
    assert schema_of() is None
    assert schema_of(response_format={"type": "text"}) is None
    assert schema_of(response_format={"type": "json_object"}) == {"type": "object"}
    for fields in (
        {"response_format": wrapped(SCHEMA)},
        {"response_format": wrapped(SCHEMA, strict=True, description="x")},
        {"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}},
        {"response_format": {"type": "json_schema", "schema": SCHEMA}},
        {"response_format": {"type": "json_object", "schema": SCHEMA}},
        {"json_schema": SCHEMA},
        {"json_schema": SCHEMA, "response_format": wrapped(SCHEMA)},
        {"json_schema": SCHEMA, "response_format": {"type": "json_object"}},
    ):
        found = schema_of(**fields)
        assert found == SCHEMA
        assert list(found["properties"]) == ["b", "a"]  # answers have this order
    assert schema_of(json_schema={}) == {}


@pytest.mark.parametrize(
    ("field", "param"),
    [
        ({"response_format": "json"}, "response_format"),
        ({"response_format": {}}, "response_format.type"),
        ({"response_format": {"type": "xml"}}, "response_format.type"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}},
            "response_format.json_schema.schema",
        ),
        ({"response_format": wrapped([])}, "response_format.json_schema.schema"),
        ({"json_schema": True}, "json_schema"),
        (
            {"json_schema": {"type": "string"}, "response_format": wrapped(SCHEMA)},
            "response_format.json_schema.schema",
        ),
    ],
)
def test_response_formats_that_make_no_sense(field: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        answer_schema(chat(**field))
    assert caught.value.details["param"] == param


def test_an_answer_that_has_begun_cannot_be_held_to_a_schema() -> None:
    messages = [*HI, {"role": "assistant", "content": "{"}]
    for kind in (wrapped(SCHEMA), {"type": "json_object"}):
        request = {"messages": messages, "continue_final_message": True, "response_format": kind}
        with pytest.raises(InvalidRequest) as caught:
            answer_schema(parse_chat(json.dumps(request).encode()))
        assert caught.value.details["param"] == "continue_final_message"


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"items": schema}
    return schema


def chained(links: int, depth: int) -> dict[str, Any]:
    defs = {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(links)}
    return {"$defs": {**defs, f"d{links}": nested(depth)}, "$ref": "#/$defs/d0"}


@pytest.mark.parametrize(
    ("schema", "spot"),
    [
        (nested(101), ".items.items"),
        (nested(400), ".items.items"),
        ({"x": [[[[]]]] * 60_000}, ""),
        ({"enum": ["x" * 200_000]}, ""),
        (chained(300, 20), ""),
        ({"items": [{"pattern": "(" * 60 + "a" + ")" * 60}]}, ".items[0].pattern"),
        ({"properties": {"a": {"pattern": "a" * 2001}}}, ".properties.a.pattern"),
        ({"patternProperties": {"(" * 5000 + ")" * 5000: {}}}, ".patternProperties"),
        ({"pattern": 5}, ".pattern"),
        ({"$ref": "https://example.invalid/schema.json"}, ".$ref"),
        ({"anyOf": [{"$ref": "other.json"}]}, ".anyOf[0].$ref"),
        ({"allOf": [{"multipleOf": 9973}, {"multipleOf": 9967}]}, ".allOf[1].multipleOf"),
        ({"allOf": [{"multipleOf": 0.01}, {"multipleOf": 1234}]}, ".allOf[1].multipleOf"),
        ({"multipleOf": 10**400}, ".multipleOf"),
        ({"multipleOf": True}, ".multipleOf"),
        ({"multipleOf": 0}, ".multipleOf"),
        ({"multipleOf": -2}, ".multipleOf"),
    ],
    ids=str,
)
def test_what_would_hurt_native_code_is_refused_with_its_spot(schema: object, spot: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        answer_schema(chat(json_schema=schema))
    assert caught.value.details["param"].startswith("json_schema" + spot)
    assert len(caught.value.message) < 400


def test_what_is_large_or_only_looks_dangerous_passes() -> None:
    many = {f"p{i}": {"$ref": "#/$defs/x"} for i in range(2000)}
    for schema in (
        {"properties": many, "$defs": {"x": {"type": "string"}}},
        nested(99),
        chained(100, 30),
        {"pattern": "[(]" * 45 + r"\(" * 100},
        {"properties": {"pattern": {"type": "string"}, "$ref": {"const": {"$ref": "x"}}}},
        {"enum": [{"pattern": 5, "multipleOf": 0}]},
        {"properties": {str(n): {"multipleOf": n} for n in (2, 5, 10, 100, 0.5)}},
    ):
        assert schema_of(json_schema=schema) == schema


@pytest.mark.parametrize(
    ("fields", "priority"),
    [
        ({}, 0),
        ({"priority": 1}, 1),
        ({"priority": None}, 0),
        ({"service_tier": "flex"}, 1),
        ({"service_tier": "priority"}, 0),
        ({"service_tier": ["flex"]}, 0),
        ({"priority": 0, "service_tier": "flex"}, 0),
    ],
)
def test_what_may_wait(fields: dict[str, Any], priority: int) -> None:
    assert priority_of(chat(**fields)) == priority
    raw = parse_completion(json.dumps({"prompt": "x", **fields}).encode())
    assert priority_of(raw) == priority


@pytest.mark.parametrize("wrong", [2, -1, 1 << 70, True, 0.5, "1"])
def test_no_other_priority(wrong: Any) -> None:
    assert refused(priority=wrong) == "priority"
