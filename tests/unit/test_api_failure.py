import json

import pytest

from engine.api.failure import from_body, status_of, to_body
from engine.api.wire import to_json
from engine.errors import (
    AccessDenied,
    ContextOverflow,
    EngineError,
    InvalidRequest,
    ModelFormatError,
    ModelNotFound,
    OutOfMemory,
    ServiceUnavailable,
    SetupError,
    UnsupportedByBackend,
    WorkerCrashed,
)

ALL = [
    EngineError,
    InvalidRequest,
    ContextOverflow,
    AccessDenied,
    ModelNotFound,
    ModelFormatError,
    OutOfMemory,
    WorkerCrashed,
    UnsupportedByBackend,
    ServiceUnavailable,
    SetupError,
]


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("hint", ["", "Do that."])
def test_the_same_error_comes_out(kind: type[EngineError], hint: str) -> None:
    error = kind("It broke.", hint=hint, param="x", needed_bytes=5)
    back = from_body(json.loads(to_json(to_body(error))))
    assert type(back) is kind
    assert (back.message, back.hint, back.details) == (error.message, hint, error.details)


def test_openai_clients_see_sentence_type_param_and_code() -> None:
    body = to_body(ContextOverflow("Too long.", hint="Shorten it.", param="messages"))["error"]
    assert body["message"] == "Too long. Shorten it."
    assert body["type"] == "invalid_request_error"
    assert body["code"] == "context_length_exceeded"
    assert body["param"] == "messages"


def test_denials_know_two_statuses() -> None:
    key = AccessDenied("No.")
    origin = AccessDenied("No.", status=403)
    assert (status_of(key), to_body(key)["error"]["type"]) == (401, "authentication_error")
    assert (status_of(origin), to_body(origin)["error"]["type"]) == (403, "permission_error")


@pytest.mark.parametrize(
    "body", [None, [], "x", {}, {"error": None}, {"error": "no"}, {"error": {}}]
)
def test_foreign_bodies_become_a_sentence(body: object) -> None:
    error = from_body(body, 418)
    assert type(error) is EngineError
    assert error.message


def test_a_foreign_503_is_unavailable() -> None:
    assert type(from_body("busy", 503)) is ServiceUnavailable


def test_foreign_fields_do_not_break_the_rebuild() -> None:
    error = from_body({"error": {"message": "m", "code": 404, "details": {"a": 1}, "hint": None}})
    assert (error.message, error.details) == ("m", {"a": 1})
