"""Values to JSON bytes and request bodies to values. Pure; strict in, forgiving out.

Zone: service and desktop. Every reply and event of the HTTP front passes through `to_json`.
"""

import json
import re
from typing import Any, TypeVar

import msgspec

from engine.errors import InvalidRequest

T = TypeVar("T")
CORRECT_IT = "Correct it and send the request again."
_LOCATION = re.compile(r" - at (?:`key` in )?`\$\.?(?P<path>[^`]*)`$")
_MISSING = re.compile(r"^Object missing required field `(?P<field>[^`]+)`")


def to_json(value: Any) -> bytes:
    """Encode as UTF-8. Infinity and NaN become null.

    Lone surrogates (they stand for the odd bytes of a file's name) become "?", since strict readers
    refuse them.
    """
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        plain = json.dumps(msgspec.to_builtins(value), ensure_ascii=False)
        return plain.encode("utf-8", "replace")


def from_json(body: bytes, kind: type[T]) -> T:
    """Decode and check a request body.

    Raises:
        InvalidRequest: with the path of the offending field as `param`, where there is one.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise _refusal(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        message = f"The body of the request is not valid JSON: {error}."
        raise InvalidRequest(message, hint="Send a JSON object in UTF-8.") from None
    except RecursionError:
        message = "The body of the request is nested too deeply."
        raise InvalidRequest(message, hint="Send a flatter JSON object.") from None


def _refusal(complaint: str) -> InvalidRequest:
    """Turn msgspec's sentence into ours, with the field's path as clients write it."""
    location = _LOCATION.search(complaint)
    reason = complaint[: location.start()] if location else complaint
    path = location["path"].replace("[...]", "") if location else ""
    if missing := _MISSING.match(reason):
        param = f"{path}.{missing['field']}".lstrip(".")
        message = f"The field {param} is missing."
    else:
        param = path
        subject = f"The field {param}" if param else "The body of the request"
        message = f"{subject} is not valid: {reason[:1].lower()}{reason[1:]}."
    return InvalidRequest(message, hint=CORRECT_IT, param=param or None)
