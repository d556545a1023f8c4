"""Listening sockets for what a user calls a host: names, addresses, `localhost` meaning both loopbacks.

Zone: service, before requests are served. Neighbour: `engine.server.run`.
"""

import errno
import ipaddress
import os
import re
import socket
from contextlib import ExitStack

from engine.errors import SetupError

BACKLOG = 512
MAX_PORT = 65535
_PORT_TRIES = 16
"""For port 0, until the number that one family gave is free in the other."""
_ANY_V6 = "::"
_ABSENT = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT})
_ADDRESS = re.compile(r"(?P<host>\[[^\]]*\]|[^:]*)(?::(?P<port>[0-9]{1,5}))?")


def parse_address(text: str, default_port: int) -> tuple[str, int]:
    """Split `host`, `host:port`, `[v6]:port`, `:port` or a bare IPv6 address; no host is `localhost`.

    Raises:
        SetupError: none of these.
    """
    text = text.strip()
    if _is_v6(text):
        return text, default_port
    match = _ADDRESS.fullmatch(text)
    port = int(match["port"] or default_port) if match else MAX_PORT + 1
    if match is None or port > MAX_PORT:
        message = f"{text} is not an address to listen on."
        raise SetupError(message, hint="Write it like localhost:8080 or [::1]:8080.")
    return match["host"].strip("[]") or "localhost", port


def bind(host: str, port: int) -> list[socket.socket]:
    """Sockets that listen on `host`, all on the same port; the caller closes them.

    Args:
        host: a name or address, IPv6 with or without brackets. `localhost` is 127.0.0.1 and ::1,
            whichever exist; `::` takes IPv4 in too; `0.0.0.0` is IPv4 alone.
        port: 0 takes a free one.

    Raises:
        SetupError: in use, not allowed, or no such address here.
    """
    host = host.strip("[]") or "localhost"
    if not 0 <= port <= MAX_PORT:
        raise SetupError(f"{port} is not a port.", hint=f"Choose one from 1 to {MAX_PORT}.")
    for _ in range(_PORT_TRIES):
        try:
            return _bind_all(host, port)
        except (OSError, UnicodeError) as error:
            failure = error
            if port != 0 or getattr(error, "errno", None) != errno.EADDRINUSE:
                break
    raise _explain(failure, host, port) from failure


def local_url(sockets: list[socket.socket]) -> str:
    """An address that reaches the sockets from this machine."""
    host, port = sockets[0].getsockname()[:2]
    if host == _ANY_V6:
        host = "::1" if _exists(socket.AF_INET6, "::1") else "127.0.0.1"
    elif ipaddress.ip_address(host).is_unspecified:
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_wide(sockets: list[socket.socket]) -> bool:
    """Can other machines reach them?"""
    return any(not ipaddress.ip_address(s.getsockname()[0]).is_loopback for s in sockets)


def _bind_all(host: str, port: int) -> list[socket.socket]:
    local = host.lower() == "localhost"
    bound: list[socket.socket] = []
    absent = OSError(errno.EADDRNOTAVAIL, "no address")
    with ExitStack() as opened:
        for family, address in _targets(host):
            try:
                bound.append(opened.enter_context(_bind_one(family, address, port)))
            except OSError as error:
                if not local or error.errno not in _ABSENT:
                    raise
                absent = error
                continue
            port = bound[0].getsockname()[1]
        if not bound:
            raise absent
        opened.pop_all()
    return bound


def _targets(host: str) -> list[tuple[socket.AddressFamily, str]]:
    if host.lower() == "localhost":
        return [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]
    infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys((family, str(address[0])) for family, *_, address in infos))


def _bind_one(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    # With the protocol named: asyncio sets TCP_NODELAY on nothing else, and without it the second small
    # write of a stream waits 40 ms for the client's delayed acknowledgement.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere this would let two programs share the port
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, address != _ANY_V6)
        sock.bind((address, port))
        sock.listen(BACKLOG)  # now, since that is where a second listener is found out
        sock.setblocking(False)
    except BaseException:
        sock.close()
        raise
    return sock


def _exists(family: socket.AddressFamily, address: str) -> bool:
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True


def _explain(error: OSError | UnicodeError, host: str, port: int) -> SetupError:
    number = getattr(error, "errno", None)
    if number == errno.EADDRINUSE:
        other = port + 1 if port < MAX_PORT else port - 1
        message = f"Port {port} is already in use by another program."
        return SetupError(message, hint=f"Choose another one: --port {other}.", port=port)
    if number in (errno.EACCES, errno.EPERM):
        message = f"This user may not listen on port {port}."
        return SetupError(message, hint="Choose a port above 1023.", port=port)
    if isinstance(error, (socket.gaierror, UnicodeError)) or number in _ABSENT:
        message = f"This machine has no address {host}."
        return SetupError(message, hint="Use --host localhost.")
    message = f"Listening on {host} port {port} failed: {error}."
    return SetupError(message, hint="Use --host localhost.")


def _is_v6(text: str) -> bool:
    try:
        return ipaddress.ip_address(text.partition("%")[0]).version == 6
    except ValueError:
        return False
