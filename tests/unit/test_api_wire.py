import json

import msgspec
import pytest

from engine.api.models import ModelInfo
from engine.api.requests import ChatRequest
from engine.api.wire import from_json, to_json
from engine.errors import InvalidRequest


def test_lone_surrogates_of_file_names_do_not_break_a_reply() -> None:
    info = ModelInfo(id="a", state="ready", path="/models/\udcff.gguf", size_bytes=1, created=1)
    assert msgspec.json.decode(to_json(info), type=ModelInfo).path == "/models/?.gguf"


def test_infinity_becomes_null() -> None:
    assert to_json({"x": float("-inf"), "y": float("nan")}) == b'{"x":null,"y":null}'


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (b'{"messages":"x"}', "messages"),
        (b'{"messages":[{}]}', "messages[0].role"),
        (b'{"messages":[{"role":"user","content":"a"},{"role":"root"}]}', "messages[1].role"),
        (b'{"messages":[{"role":"user"}],"logit_bias":{"x":1}}', "logit_bias"),
        (b'{"messages":[{"role":"user","content":"a"}],"logit_bias":{"1":1000}}', "logit_bias"),
        (b"{}", "messages"),
        (b"[]", None),
        (b"{:", None),
    ],
)
def test_the_field_is_named(body: bytes, param: str | None) -> None:
    with pytest.raises(InvalidRequest) as caught:
        from_json(body, ChatRequest)
    assert caught.value.details.get("param") == param
    assert (param or "body") in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
@pytest.mark.parametrize("field", ["unknown", "tool_choice"])
def test_deep_nesting_is_refused(opening: bytes, field: str) -> None:
    body = b'{"messages":[],"%s":' % field.encode() + opening * 100_000
    with pytest.raises(InvalidRequest):
        from_json(body, ChatRequest)


@pytest.mark.parametrize(
    "text", ['"\\ud83d"', '"\\ud83d rest"', '"\\ude00"', "NaN", "Infinity", "1e400", "9" * 5000]
)
def test_what_is_not_strict_json_is_refused(text: str) -> None:
    body = f'{{"messages":[{{"role":"user","content":"a"}}],"temperature":{text}}}'
    with pytest.raises(InvalidRequest):
        from_json(body.encode(), ChatRequest)


def test_the_error_itself_is_json() -> None:
    body = b'{"messages":[{"role":"\\u0000\\"ro\\not"}]}'
    with pytest.raises(InvalidRequest) as caught:
        from_json(body, ChatRequest)
    assert json.loads(to_json(caught.value.to_wire()))
