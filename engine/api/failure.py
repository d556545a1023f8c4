"""Errors on the HTTP wire: OpenAI's error object with our own fields beside it. Pure.

Zone: service (`to_body`) and desktop (`from_body`, which rebuilds the same class).
"""

from collections.abc import Mapping
from typing import Any

from engine.errors import AccessDenied, EngineError, ServiceUnavailable

FORBIDDEN = 403


def status_of(error: EngineError) -> int:
    """The HTTP status; an error may carry one that is narrower than its class's."""
    status = error.details.get("status")
    return status if isinstance(status, int) else error.status


def to_body(error: EngineError) -> dict[str, Any]:
    """`{"error": {…}}`. `message` holds the next step too: most clients show nothing else."""
    kind = error.kind
    if isinstance(error, AccessDenied) and status_of(error) == FORBIDDEN:
        kind = "permission_error"
    return {
        "error": {
            "message": str(error),
            "type": kind,
            "param": error.details.get("param"),
            "code": error.code,
            "hint": error.hint,
            "details": error.details,
        }
    }


def from_body(body: Any, status: int = 0) -> EngineError:
    """Rebuild the error; a body that is not ours becomes a sentence with the status in it."""
    error = body.get("error") if isinstance(body, Mapping) else None
    if not isinstance(error, Mapping):
        error = {"message": f"The server answered with status {status}."}
        if status == ServiceUnavailable.status:
            error["code"] = ServiceUnavailable.code
    hint = str(error.get("hint") or "")
    message = str(error.get("message") or "The server did not say what went wrong.")
    wire = {**error, "message": message.removesuffix(hint).rstrip() or message, "hint": hint}
    return EngineError.from_wire(wire)
