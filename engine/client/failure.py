"""Turning what HTTP tells into the engine's errors: the same class that the service raised."""

import json

import httpx2

from engine.api.failure import from_body
from engine.errors import ServiceUnavailable


async def checked(response: httpx2.Response) -> None:
    """Raise what a reply with an error status holds; closes the response then.

    Raises:
        EngineError: the class that the service raised.
    """
    if response.is_success:
        return
    try:
        body = await response.aread()
    except httpx2.TransportError as error:
        raise lost(response.request, error) from error
    finally:
        await response.aclose()
    try:
        content = json.loads(body)
    except ValueError:  # also what is not UTF-8
        content = None
    raise from_body(content, response.status_code)


def lost(request: httpx2.Request, error: httpx2.TransportError) -> ServiceUnavailable:
    """The sentence for a service that cannot be reached, or not any more."""
    url = request.url
    where = f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}"
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
        message = f"The service at {where} cannot be reached."
        return ServiceUnavailable(message, hint="Is it running, and is the address right?")
    if isinstance(error, httpx2.TimeoutException):
        message = f"The service at {where} does not answer any more."
    else:
        message = f"The connection to the service at {where} was lost."
    return ServiceUnavailable(message, hint="What came so far is kept; try again.")
