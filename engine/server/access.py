"""Who may ask: key, Host and Origin, checked before any route is looked for. Pure.

A loopback port can be reached by every web page the user opens: the Host check stops names that were
re-bound to this machine, the Origin check stops foreign pages, the key stops everybody else.
"""

import hmac
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from engine.api.loopback import address_is_loopback, is_loopback
from engine.errors import AccessDenied

FORBIDDEN = 403


class Access:
    """The rules of one app.

    Args:
        api_keys: any of them opens the door; none: no key is needed.
        allowed_hosts: names under which the service may be reached besides loopback ones.
        allowed_origins: web pages that may ask, such as `https://chat.example.org`.
    """

    def __init__(
        self,
        api_keys: Iterable[str] = (),
        allowed_hosts: Iterable[str] = (),
        allowed_origins: Iterable[str] = (),
    ) -> None:
        self._keys = [key.encode() for key in api_keys]
        if any(not key or key != key.strip() for key in self._keys):
            raise ValueError("an API key must not be empty or have blanks around it")
        self._hosts = {host.lower() for host in allowed_hosts}
        self._origins = {origin.lower().rstrip("/") for origin in allowed_origins}

    @property
    def guarded(self) -> bool:
        """Is a key needed?"""
        return bool(self._keys)

    def allows_origin(self, origin: str) -> bool:
        """May a page of this origin read our replies?"""
        return origin.lower() in self._origins

    def check_origin(self, headers: Headers) -> None:
        """Refuse requests of web pages that are neither local nor allowed.

        Raises:
            AccessDenied: with status 403.
        """
        origin = headers.get("origin")
        if origin is None or self.allows_origin(origin) or is_loopback(_host_of(origin)):
            return
        message = "Web pages of this origin may not use Inglenook."
        hint = "Start the service with --allow-origin and the page's address."
        raise AccessDenied(message, hint=hint, status=FORBIDDEN)

    def check_host(self, headers: Headers, local_address: str | None) -> None:
        """Refuse foreign names on loopback connections.

        Args:
            headers: of the request.
            local_address: our end of the connection. Others than loopback ones come only from a wide
                bind, which needs a key.

        Raises:
            AccessDenied: with status 403.
        """
        if local_address is not None and address_is_loopback(local_address) is False:
            return
        host = _host_of(f"//{headers.get('host', '')}")
        if is_loopback(host) or host in self._hosts:
            return
        message = "Inglenook is not served under this host name."
        hint = "Use localhost in the address, or start the service with --allow-host and the name."
        raise AccessDenied(message, hint=hint, status=FORBIDDEN)

    def check_key(self, headers: Headers) -> None:
        """Refuse requests without a right key.

        Raises:
            AccessDenied: with status 401.
        """
        if not self._keys:
            return
        scheme, _, token = headers.get("authorization", "").partition(" ")
        given = token.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")
        offered = given.encode("latin-1", "replace")
        matches = [
            hmac.compare_digest(offered, key) for key in self._keys
        ]  # all, without a short cut
        if not any(matches):
            message = "The API key is missing or wrong."
            hint = "Send the header Authorization: Bearer KEY."
            raise AccessDenied(message, hint=hint)


def _host_of(url: str) -> str:
    """The host of an origin or of `//host:port`; "" if there is none."""
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""
