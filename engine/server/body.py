"""Reading a request's body: JSON only, and not without end."""

from starlette.requests import Request

from engine.errors import InvalidRequest

MAX_BODY_BYTES = 32 * 1024 * 1024
TOO_LARGE = 413
WRONG_TYPE = 415


async def read_json_body(request: Request) -> bytes:
    """The whole body.

    Other content types are refused, since browsers send some of them across origins without asking.

    Raises:
        InvalidRequest: with status 413 or 415.
        ClientDisconnect: the client left half-way.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        message = f"The content type of the request is {kind or 'missing'}."
        hint = "Send JSON with the header Content-Type: application/json."
        raise InvalidRequest(message, hint=hint, status=WRONG_TYPE)
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length) > MAX_BODY_BYTES:
        raise _too_large()
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise _too_large()
    return bytes(body)


def _too_large() -> InvalidRequest:
    message = f"The request is larger than {MAX_BODY_BYTES // 2**20} MB."
    return InvalidRequest(message, hint="Send less text.", status=TOO_LARGE)
