r"""The error tree: one class per way a caller reacts differently.

::

    EngineError(message, hint, retryable)          HTTP
    ├── InvalidRequest       (param)               400  the request's own fault
    │   └── ContextOverflow  (prompt_tokens, limit)    400
    ├── AccessDenied         (status)              401/403  key, Host or Origin
    ├── ModelNotFound                              404
    ├── ModelFormatError     (file)                422  cut-off, foreign or unknown file
    ├── OutOfMemory          (needed, free)        507
    ├── WorkerCrashed        (exit_code)           502  gave up after the restarts
    ├── UnsupportedByBackend                       501
    ├── ServiceUnavailable                         503  stopping, or could not be reached
    ├── Offline                                    503  the offline switch stopped a connection
    ├── HubError             (host)                502  the model hub failed, or the way to it; may work later
    │   ├── HubDenied        (reason, url)             403  token, login or licence
    │   └── HubNotFound                                404
    ├── DiskFull             (needed, free)        507
    └── SetupError                                 -    this machine or installation lacks something

`message` says what happened, `hint` what to do next; both are shown to the user as they are. The only class-to-status
table is here (`status`), and `from_wire` rebuilds the class on the client's side, so that the window
catches what the worker raised. Programming mistakes stay ValueError and TypeError.
"""

from typing import Any, ClassVar


class EngineError(Exception):
    """Base: catch it where any failure of the engine becomes a sentence for the user."""

    code: ClassVar[str] = "engine_error"
    kind: ClassVar[str] = "server_error"
    status: ClassVar[int] = 500
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str = "", **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details: dict[str, Any] = details

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()

    def to_wire(self) -> dict[str, Any]:
        """The form that crosses pipes and HTTP: builtin types only."""
        return {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "details": self.details,
        }

    @staticmethod
    def from_wire(wire: dict[str, Any]) -> "EngineError":
        """Rebuild the class that `to_wire` described; unknown codes become the base class."""
        cls = _BY_CODE.get(str(wire.get("code")), EngineError)
        details = wire.get("details")
        return cls(
            str(wire.get("message", "")),
            hint=str(wire.get("hint", "")),
            **(details if isinstance(details, dict) else {}),
        )


class InvalidRequest(EngineError):
    """The request cannot be served as written. `details["param"]` names the field."""

    code = "invalid_request"
    kind = "invalid_request_error"
    status = 400


class ContextOverflow(InvalidRequest):
    """Prompt longer than the context. Details: prompt_tokens, limit."""

    code = "context_length_exceeded"

    @property
    def prompt_tokens(self) -> int:
        """What was sent."""
        return int(self.details.get("prompt_tokens", 0))

    @property
    def limit(self) -> int:
        """What the context holds."""
        return int(self.details.get("limit", 0))


class AccessDenied(EngineError):
    """Missing or wrong key, or a Host or Origin that is not ours. Details: status."""

    code = "access_denied"
    kind = "authentication_error"
    status = 401


class ModelNotFound(EngineError):
    """No model of that name in the library."""

    code = "model_not_found"
    kind = "not_found_error"
    status = 404


class ModelFormatError(EngineError):
    """The file is not a model we can read. Details: file."""

    code = "model_format_error"
    kind = "invalid_request_error"
    status = 422


class OutOfMemory(EngineError):
    """Does not fit. Details: needed_bytes, free_bytes."""

    code = "out_of_memory"
    status = 507


class WorkerCrashed(EngineError):
    """The worker died and restarting did not help. Details: exit_code."""

    code = "worker_crashed"
    status = 502


class UnsupportedByBackend(EngineError):
    """A legal wish that the chosen backend cannot fulfil."""

    code = "unsupported_by_backend"
    kind = "not_supported_error"
    status = 501


class ServiceUnavailable(EngineError):
    """The service is stopping or cannot be reached; the same request may work later."""

    code = "service_unavailable"
    kind = "unavailable_error"
    status = 503
    retryable = True


class Offline(EngineError):
    """The offline switch is on, and this would have needed a connection."""

    code = "offline"
    kind = "unavailable_error"
    status = 503


class HubError(EngineError):
    """The model hub, or the way to it, failed; the same may work later. Details: host."""

    code = "hub_error"
    status = 502
    retryable = True


class HubDenied(HubError):
    """The hub wants something first. Details: reason (`token`, `login`, `licence`, `forbidden`), url of the page that helps."""

    code = "hub_denied"
    kind = "permission_error"
    status = 403
    retryable = False


class HubNotFound(HubError):
    """No such repository, revision or file, or none that this token may see."""

    code = "hub_not_found"
    kind = "not_found_error"
    status = 404
    retryable = False


class DiskFull(EngineError):
    """There is not enough space. Details: needed_bytes, free_bytes."""

    code = "disk_full"
    status = 507


class SetupError(EngineError):
    """This machine or installation lacks something, or a port is taken."""

    code = "setup_error"


def _leaves(cls: type[EngineError]) -> list[type[EngineError]]:
    return [cls, *(leaf for sub in cls.__subclasses__() for leaf in _leaves(sub))]


_BY_CODE: dict[str, type[EngineError]] = {cls.code: cls for cls in _leaves(EngineError)}
